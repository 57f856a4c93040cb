/** Carried as the folder dist/ alone: it serves in any folder and for any user. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { assertServes, ROOT } from '../support/process/carry.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { makeReadOnly, mountTmpfs } from '../support/disk/tmpfs.ts';

/** A user id without an entry in /etc/passwd. */
const STRANGER_UID = 54_321;

/** With a blank at both ends, other scripts, an emoji and the signs of URLs. */
const HARD_NAME = ' my Kätzchen и 猫 🐈 100%41 #1?a=b&c;d+e ';

test("dist/ alone serves, and has the operator's tools", async (t) => {
  const cwd = tempDir(t);
  copyDist(cwd);
  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, args, { cwd }).toString();
  await assertServes(t, { command: process.execPath, args: ['dist/server.js'], cwd });
  // As commands, and at the paths that they had in release 1.0.0.
  assert.equal(run('dist/server.js', 'check-data'), CHECKED);
  assert.equal(run('dist/check-data.js'), CHECKED);
  assert.match(run('dist/server.js', 'make-key'), /^sha256:[0-9a-f]{64}$/m);
  assert.match(run('dist/make-key.js'), /^sha256:[0-9a-f]{64}$/m);
});

const CHECKED = 'data/pets.json: 1 pet, the greatest id is 1\n';

test('dist/ serves in a CommonJS project whose path is hard to quote', async (t) => {
  const cwd = join(tempDir(t), HARD_NAME);
  copyDist(cwd);
  writeFileSync(join(cwd, 'package.json'), '{ "type": "commonjs" }');
  await assertServes(t, { command: process.execPath, args: ['dist/server.js'], cwd });
});

test('A read-only dist/ serves through a symbolic link, from another folder', async (t) => {
  const folder = readOnlyCopy(t);
  if (folder === undefined) return;
  const cwd = tempDir(t);
  symlinkSync(folder, join(cwd, 'current'));
  const args = [join(cwd, 'current', 'dist', 'server.js')];
  await assertServes(t, { command: process.execPath, args, cwd });
});

test('dist/ serves as a user without a name, whose home is missing', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('needs root to become another user');
  const probe = spawnSync(process.execPath, ['--version'], { uid: STRANGER_UID });
  if (probe.status !== 0) return t.skip(`another user cannot run ${process.execPath}`);
  const cwd = tempDir(t);
  copyDist(cwd);
  chownSync(cwd, STRANGER_UID, 0);
  const program = { command: process.execPath, args: ['dist/server.js'], cwd };
  await assertServes(t, { ...program, uid: STRANGER_UID, env: { HOME: '/nonexistent' } });
});

function copyDist(folder: string): void {
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
}

/** Root ignores the mode of a file, and so needs a file system that is read-only. */
function readOnlyCopy(t: TestContext): string | undefined {
  const isRoot = process.getuid?.() === 0;
  const folder = isRoot ? mountTmpfs(t, 16 << 20) : tempDir(t);
  if (folder === undefined) return undefined;
  copyDist(folder);
  if (isRoot) {
    makeReadOnly(folder);
  } else {
    for (const path of [join(folder, 'dist'), folder]) chmodSync(path, 0o555);
    t.after(() => chmodSync(folder, 0o755));
  }
  return folder;
}
