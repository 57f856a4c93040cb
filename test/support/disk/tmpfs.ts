/** A small file system that a test fills or makes read-only; only root on Linux can mount it. */

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from './temp-dir.ts';

/** Mounts one for the test. Undefined, and the test is skipped, where that cannot be. */
export function mountTmpfs(t: TestContext, sizeBytes: number): string | undefined {
  if (process.getuid?.() !== 0) {
    t.skip('needs root to mount a tmpfs');
    return undefined;
  }
  // Hooks run in the order in which they were given, and the folder is to go after the unmount.
  const hooks: (() => void)[] = [];
  t.after(() => hooks.forEach((hook) => hook()));
  const path = join(tempDir({ after: (hook) => void hooks.push(hook as () => void) }), 'tmpfs');
  mkdirSync(path);
  try {
    mount('-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', path);
  } catch (error) {
    t.skip(`cannot mount a tmpfs: ${(error as Error).message.trim()}`);
    return undefined;
  }
  // Lazily, since the test's processes may still be ending.
  hooks.unshift(() => void execFileSync('umount', ['--lazy', path]));
  return path;
}

export function makeReadOnly(path: string): void {
  mount('-o', 'remount,ro', path);
}

function mount(...args: readonly string[]): void {
  execFileSync('mount', args, { stdio: 'pipe' });
}
