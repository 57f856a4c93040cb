/** The programs that src/README.md shows: each does what the page says. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from '../support/disk/temp-dir.ts';
import { HEADERS, ROOT } from './program.ts';

const run = promisify(execFile);

test('The programs in src/README.md do what the page says', async (t) => {
  const folder = tempDir(t);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'petstore'), 'dir');
  for (const [name, text] of readmePrograms()) writeFileSync(join(folder, name), text);
  const shop = spawn(process.execPath, ['shop.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 2] });
  let printed = '';
  for await (const chunk of shop.stdout!) {
    printed += String(chunk);
    if (/^port [0-9]+$/m.test(printed) && printed.includes('1n Rex\n')) break;
  }
  const origin = `http://127.0.0.1:${/^port ([0-9]+)$/m.exec(printed)![1]}`;
  const answer = await fetch(`${origin}/shop/v1/pets`, { headers: HEADERS });
  assert.equal(await answer.text(), '[{"id":1,"name":"Rex","categoryId":7,"status":"sold"}]');
  assert.match(await (await fetch(origin)).text(), /^The pets are at/);
  shop.kill('SIGTERM');
  assert.deepEqual(await once(shop, 'exit'), [0, null]);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-reporter=tap', 'map-store.test.mjs'];
  const options = { cwd: folder, env };
  // The error of a failed run has the output too, which names the test that failed.
  const failed = (error: { readonly stdout: string }): typeof error => error;
  const { stdout } = await run(process.execPath, args, options).catch(failed);
  assert.match(stdout, /# pass [2-9][0-9]\n# fail 0/);
});

/** The blocks of src/README.md that begin with their file's name, on a port that they print. */
function readmePrograms(): ReadonlyMap<string, string> {
  const readme = readFileSync(join(ROOT, 'src', 'README.md'), 'utf8');
  const blocks = readme.matchAll(/^```js\n\/\/ (\S+\.mjs)\n([^]*?)^```$/gm);
  const programs = new Map([...blocks].map(([, name, text]) => [name!, text!]));
  const names = ['shop.mjs', 'map-store.mjs', 'map-store.test.mjs', 'sqlite-store.mjs'];
  assert.deepEqual([...programs.keys()], names);
  const anyPort = 'server.listen(0, () => console.log(`port ${server.address().port}`))';
  const shop = programs.get('shop.mjs')!;
  assert.ok(shop.includes('server.listen(8080)'));
  return programs.set('shop.mjs', shop.replace('server.listen(8080)', anyPort));
}
