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
  let mounted: string | undefined;
  // Before the hook that removes the folder. Lazily, since processes of the test may still end.
  t.after(() => mounted && execFileSync('umount', ['--lazy', mounted]));
  const path = join(tempDir(t), 'tmpfs');
  mkdirSync(path);
  try {
    mount('-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', path);
    mounted = path;
  } catch (error) {
    t.skip(`cannot mount a tmpfs: ${(error as Error).message.trim()}`);
  }
  return mounted;
}

export function makeReadOnly(path: string): void {
  mount('-o', 'remount,ro', path);
}

function mount(...args: readonly string[]): void {
  execFileSync('mount', args, { stdio: 'pipe' });
}
