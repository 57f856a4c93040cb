/** Carried as the folder dist/ alone: it serves in any folder and for any user. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertServes, ROOT } from '../support/process/carry.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

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

test('A read-only dist/ in a CommonJS project with a hard path serves through a link', async (t) => {
  const readOnly: string[] = [];
  t.after(() => readOnly.forEach((path) => chmodSync(path, 0o755)));
  const folder = tempDir(t);
  chmodSync(folder, 0o755);
  const project = join(folder, HARD_NAME);
  copyDist(project);
  writeFileSync(join(project, 'package.json'), '{ "type": "commonjs" }');
  readOnly.push(project, join(project, 'dist'));
  for (const path of readOnly) chmodSync(path, 0o555);
  const cwd = join(folder, `data of${HARD_NAME}`);
  mkdirSync(cwd);
  symlinkSync(project, join(cwd, 'current'));
  const program = { command: process.execPath, args: [join('current', 'dist', 'server.js')], cwd };
  const stranger = strangerOf(cwd);
  await assertServes(t, { ...program, ...stranger });
  if (stranger === undefined) t.skip('needs root, and a Node that another user can run');
});

/** Root ignores the mode of a file. So root runs it as a user without a name and without a home. */
function strangerOf(cwd: string): { readonly uid: number; readonly env: Env } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (spawnSync(process.execPath, ['--version'], { uid: STRANGER_UID }).status !== 0)
    return undefined;
  chownSync(cwd, STRANGER_UID, 0);
  return { uid: STRANGER_UID, env: { HOME: '/nonexistent' } };
}

type Env = Record<string, string>;

function copyDist(folder: string): void {
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
}
