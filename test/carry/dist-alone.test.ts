/** Carried as the folder dist/ alone: it serves in any folder and for any user. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertServes, ROOT } from '../support/process/carry.ts';
import type { ProgramOptions } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

/** A user id without an entry in /etc/passwd. */
const STRANGER_UID = 54_321;

/** With a blank at both ends, other scripts, an emoji and the signs of URLs. */
const HARD_NAME = ' my Kätzchen и 猫 🐈 100%41 #1?a=b&c;d+e ';

const CHECKED = /data\/pets.json: 1 pet, the greatest id is 1\n/;

test("A read-only dist/ in a CommonJS project with a hard path serves through a link, and has the operator's tools", async (t) => {
  const readOnly: string[] = [];
  t.after(() => readOnly.forEach((path) => chmodSync(path, 0o755)));
  const folder = tempDir(t);
  chmodSync(folder, 0o755);
  const project = join(folder, HARD_NAME);
  cpSync(join(ROOT, 'dist'), join(project, 'dist'), { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "type": "commonjs" }');
  readOnly.push(project, join(project, 'dist'));
  for (const path of readOnly) chmodSync(path, 0o555);
  const cwd = join(folder, `data of${HARD_NAME}`);
  mkdirSync(cwd);
  symlinkSync(project, join(cwd, 'current'));
  const stranger = strangerOf(cwd);
  await assertServes(t, [process.execPath, 'current/dist/server.js'], { cwd, ...stranger });
  const run = (name: string, ...more: readonly string[]): string =>
    execFileSync(process.execPath, [`current/dist/${name}.js`, ...more], { cwd }).toString();
  // As commands, and at the paths that they had in release 1.0.0.
  assert.match(run('server', 'check-data'), CHECKED);
  assert.match(run('check-data'), CHECKED);
  assert.match(run('server', 'make-key'), /^sha256:[0-9a-f]{64}$/m);
  assert.match(run('make-key'), /^sha256:[0-9a-f]{64}$/m);
  if (stranger === undefined) t.skip('needs root, and a Node that another user can run');
});

/** Root ignores the mode of a file. So root runs it as a user without a name and without a home. */
function strangerOf(cwd: string): ProgramOptions | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (spawnSync(process.execPath, ['--version'], { uid: STRANGER_UID }).status !== 0)
    return undefined;
  chownSync(cwd, STRANGER_UID, 0);
  return { uid: STRANGER_UID, env: { HOME: '/nonexistent' } };
}
