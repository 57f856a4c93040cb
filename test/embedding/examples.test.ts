/** The programs that src/README.md shows and names: each does what the page says. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { blockOf, readText } from '../support/project.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { linkPackage } from '../support/process/carry.ts';
import { outputOf } from '../support/process/process.ts';

test('The programs in src/README.md do what the page says', async (t) => {
  const folder = linkPackage(tempDir(t));
  for (const [name, text] of readmePrograms()) writeFileSync(join(folder, name), text);
  const shop = spawn(process.execPath, ['shop.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 2] });
  t.after(() => shop.kill());
  let printed = '';
  for await (const chunk of shop.stdout!) {
    printed += String(chunk);
    if (/^port [0-9]+$/m.test(printed) && printed.includes('1n Rex\n')) break;
  }
  const origin = `http://127.0.0.1:${/^port ([0-9]+)$/m.exec(printed)![1]}`;
  const headers = { Authorization: 'Bearer a-key' };
  const answer = await fetch(`${origin}/shop/v1/pets`, { headers });
  assert.equal(await answer.text(), '[{"id":1,"name":"Rex","categoryId":7,"status":"sold"}]');
  assert.match(await (await fetch(origin)).text(), /^The pets are at/);
  shop.kill('SIGTERM');
  assert.deepEqual(await once(shop, 'exit'), [0, null]);
});

const skip = !isBuiltin('node:sqlite') && 'This Node has no node:sqlite: it comes with 22.13';

test('The store that src/README.md names passes its tests', { skip }, async (t) => {
  const folder = linkPackage(tempDir(t));
  for (const [name, text] of readmePrograms()) {
    // The contract commits thousands of times, and asks nothing of a power failure.
    writeFileSync(join(folder, name), text.replace('synchronous = FULL', 'synchronous = OFF'));
  }
  const args = ['--test-reporter=tap', 'sqlite-store.test.mjs'];
  assert.match(await outputOf(args, { cwd: folder }), /# pass [1-9][0-9]\n# fail 0/);
});

test('The test on the page for mocking passes with the sample file of the page', async (t) => {
  const folder = linkPackage(tempDir(t));
  const page = 'src/extras/client/mocking.md';
  writeFileSync(join(folder, 'sample.json'), blockOf(page, 'json'));
  writeFileSync(join(folder, 'mock.test.mjs'), blockOf(page, 'js', '// mock.test.mjs'));
  const printed = await outputOf(['--test-reporter=tap', 'mock.test.mjs'], { cwd: folder });
  assert.match(printed, /# pass 2\n# fail 0/);
});

/** The programs of src/README.md by the names of their files, on a port that they print. */
function readmePrograms(): ReadonlyMap<string, string> {
  const blocks = readText('src/README.md').matchAll(/^```js\n\/\/ (\S+\.mjs)\n([^]*?)^```$/gm);
  const programs = new Map([...blocks].map(([, name, text]) => [name!, text!]));
  assert.deepEqual([...programs.keys()], ['shop.mjs', 'sqlite-store.test.mjs']);
  programs.set('sqlite-store.mjs', readText('test/embedding/sqlite-store.mjs'));
  const anyPort = 'server.listen(0, () => console.log(`port ${server.address().port}`))';
  const shop = programs.get('shop.mjs')!;
  assert.ok(shop.includes('server.listen(8080)'));
  return programs.set('shop.mjs', shop.replace('server.listen(8080)', anyPort));
}
