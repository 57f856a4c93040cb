/** Carried as the folder dist/ alone: nothing around it, wherever it is put and whoever runs it. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { assertServes, ROOT } from '../support/process/carry.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { makeReadOnly, mountTmpfs } from '../support/disk/tmpfs.ts';

/** In no list of users. */
const STRANGER_UID = 54_321;

const PLACES: readonly (readonly [string, string])[] = [
  ['an empty folder', 'empty'],
  ['a folder with spaces in its name', ' my pets '],
  ['a folder with letters of other scripts in its name', 'Kätzchen и 猫 🐈'],
  ['a folder with the signs of URLs in its name', '100%41 #1?a=b&c;d+e'],
];

for (const [what, name] of PLACES) {
  test(`dist/ alone serves in ${what}`, async (t) => {
    const cwd = join(tempDir(t), name);
    copyDist(cwd);
    await assertServes(t, { command: process.execPath, args: ['dist/server.js'], cwd });
  });
}

test("dist/ alone has the operator's tools", async (t) => {
  const cwd = tempDir(t);
  copyDist(cwd);
  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, args, { cwd }).toString();
  await assertServes(t, { command: process.execPath, args: ['dist/server.js'], cwd });
  // As commands, and at the paths that they had in release 1.0.0.
  for (const [verifyData, makeKey] of [
    [
      ['dist/server.js', 'check-data'],
      ['dist/server.js', 'make-key'],
    ],
    [['dist/check-data.js'], ['dist/make-key.js']],
  ] as const) {
    assert.equal(run(...verifyData), 'data/pets.json: 1 pet, the greatest id is 1\n');
    assert.match(run(...makeKey), /^sha256:[0-9a-f]{64}$/m);
  }
});

test('dist/ serves in the folder of a CommonJS project', async (t) => {
  const cwd = tempDir(t);
  copyDist(cwd);
  writeFileSync(join(cwd, 'package.json'), '{ "type": "commonjs" }');
  await assertServes(t, { command: process.execPath, args: ['dist/server.js'], cwd });
});

test('dist/ serves through a symbolic link, from another working directory', async (t) => {
  const folder = tempDir(t);
  copyDist(join(folder, 'real'));
  symlinkSync('real', join(folder, 'current'));
  const cwd = join(folder, 'elsewhere');
  mkdirSync(cwd);
  const args = [join(folder, 'current', 'dist', 'server.js')];
  await assertServes(t, { command: process.execPath, args, cwd });
});

test('dist/ serves where nothing can be written beside it', async (t) => {
  const folder = readOnlyCopy(t);
  if (folder === undefined) return;
  const args = [join(folder, 'dist', 'server.js')];
  await assertServes(t, { command: process.execPath, args, cwd: tempDir(t) });
});

test('dist/ serves as a user without a name, whose home is not there', async (t) => {
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

/** Root may write whatever a file's mode says, and so needs a file system that is read-only. */
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
