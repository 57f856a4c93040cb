/** The programs that src/README.md shows and names: each does what the page says. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { blockOf, readText } from '../support/project.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { createClient, type ClientOptions } from '../../src/extras/client/client.ts';
import { openService } from '../support/http/service.ts';
import { linkPackage } from '../support/process/carry.ts';
import { end, outputOf, startProgram } from '../support/process/process.ts';

test('The programs in src/README.md do what the page says', async (t) => {
  const folder = linkPackage(tempDir(t));
  for (const [name, text] of readmePrograms()) writeFileSync(join(folder, name), text);
  const shop = startProgram(process.execPath, ['shop.mjs'], { cwd: folder });
  t.after(() => end(shop, 'SIGKILL'));
  await shop.wrote(() => PORT.test(shop.stdout()) && shop.stdout().includes('1n Rex\n'));
  const port = PORT.exec(shop.stdout())![1];
  const origin = `http://127.0.0.1:${port}`;
  // A silent connection does not keep the program from ending.
  await once(connect(Number(port), '127.0.0.1'), 'connect');
  const headers = { Authorization: 'Bearer a-key' };
  const answer = await fetch(`${origin}/shop/v1/pets`, { headers });
  assert.equal(await answer.text(), '[{"id":1,"name":"Rex","categoryId":7,"status":"sold"}]');
  assert.match(await (await fetch(origin)).text(), /^The pets are at/);
  assert.equal(await end(shop, 'SIGTERM'), 0);
});

const PORT = /^port ([0-9]+)\n/m;

const skip = !isBuiltin('node:sqlite') && 'This Node has no node:sqlite: it comes with 22.13';

test('The store that src/README.md names passes its tests', { skip }, async (t) => {
  const folder = linkPackage(tempDir(t));
  for (const [name, text] of readmePrograms()) {
    // The contract commits thousands of times, and asks nothing of a power failure.
    writeFileSync(join(folder, name), text.replace('synchronous = FULL', 'synchronous = OFF'));
  }
  const args = ['--test-reporter=tap', 'sqlite-store.test.mjs'];
  assert.match(await outputOf(args, { cwd: folder }), /# pass [1-9][0-9]\n# fail 0/);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('pets-')),
    [],
  );
});

test('The test on the page for mocking passes with the sample file of the page', async (t) => {
  const folder = linkPackage(tempDir(t));
  const page = 'src/extras/client/mocking.md';
  writeFileSync(join(folder, 'sample.json'), blockOf(page, 'json'));
  writeFileSync(join(folder, 'mock.test.mjs'), blockOf(page, 'js', '// mock.test.mjs'));
  const printed = await outputOf(['--test-reporter=tap', 'mock.test.mjs'], { cwd: folder });
  assert.match(printed, /# pass 2\n# fail 0/);
});

test('The program on the page for mocking is late, refuses, loses a response, and begins anew', async (t) => {
  const folder = linkPackage(tempDir(t));
  const page = 'src/extras/client/mocking.md';
  writeFileSync(join(folder, 'sample.json'), blockOf(page, 'json'));
  const program = blockOf(page, 'js', '// mock.mjs');
  assert.ok(program.includes('server.listen(8080, ') && program.includes('2000'));
  const anyPort = program
    .replace(
      'server.listen(8080, ',
      'server.on("listening", () => console.log(server.address().port)).listen(0, ',
    )
    // So that it is later than a response on any machine: a test waits for the file.
    .replace('2000', '1');
  writeFileSync(join(folder, 'mock.mjs'), anyPort);
  const mock = startProgram(process.execPath, ['mock.mjs'], { cwd: folder });
  t.after(() => end(mock, 'SIGKILL'));
  await mock.wrote(() => mock.stdout().endsWith('\n'));
  const url = `http://127.0.0.1:${mock.stdout().trim()}/v1/pets`;
  const ask = async (mode: string, name?: string): Promise<string> => {
    const headers = { Authorization: 'Bearer dev', 'X-Mock': mode };
    const init =
      name === undefined
        ? {}
        : { method: 'POST', body: Buffer.from(`{"name":"${name}","categoryId":1}`) };
    const response = await fetch(url, { headers, ...init }).catch(() => undefined);
    return response === undefined ? 'lost' : `${response.status} ${await response.text()}`;
  };
  assert.match(await ask('', 'Ann'), /^201 \{"id":3,/);
  assert.match(await ask('delay', 'Bob'), /^201 \{"id":4,/);
  assert.match(await ask('unavailable', 'Cat'), /^503 \{"code":"unavailable",.*"status":503\}$/);
  for (const unknown of ['unavailble', 'constructor']) {
    assert.match(await ask(unknown), /^400 .*X-Mock must be one of delay,unavailable,lost,reset/);
  }
  assert.equal(await ask('lost', 'Dan'), 'lost');
  assert.match(await ask(''), /^200 [^]*"Ann"[^]*"Bob"[^]*"Dan"[^{]*$/);
  assert.equal(await ask('reset'), '204 ');
  assert.match(await ask(''), /^200 [^]*"Rex"[^]*"Mia"[^{]*$/);
  writeFileSync(join(folder, 'sample.json'), '[{"name":"Eve"}]');
  assert.match(await ask('reset'), /^500 .*pet 1: categoryId is required/);
  assert.match(await ask(''), /^200 [^]*"Rex"[^]*"Mia"[^{]*$/);
});

test('Behind a proxy the client takes the address and the key that the page for mocking shows', async (t) => {
  const service = await openService(t, { apiKeys: ['dev'] });
  const [, options = ''] =
    /`createClient\((\{.*\})\)`/.exec(readText('src/extras/client/mocking.md')) ?? [];
  // As a dev server does: it passes the request on, with the key of the service.
  const { headers } = { headers: { Authorization: 'Bearer dev' } };
  const proxied: typeof fetch = (url, init = {}) => {
    const { pathname, search } = new URL(url as string);
    const given = new Headers(init.headers);
    for (const [name, value] of Object.entries(headers)) given.set(name, value);
    return fetch(`${service.origin}${pathname}${search}`, { ...init, headers: given });
  };
  const location = { href: 'http://localhost:5173/shop/page?x' };
  const evaluated = new Function('location', `return ${options}`)(location) as ClientOptions;
  const client = createClient({ ...evaluated, apiKey: 'another', fetch: proxied });
  assert.equal((await client.createPet({ name: 'Rex', categoryId: 1 })).id, 1n);
});

test('The page of the package names each member of an app', () => {
  const [, members = ''] = /export interface Service \{\n([^]*?)^\}/m.exec(
    readText('src/core/app/service.ts'),
  )!;
  const page = readText('src/README.md');
  const names = Array.from(members.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm), ([, name]) => name!);
  assert.ok(names.length >= 8, names.join());
  for (const name of names) assert.match(page, new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``), name);
});

/** The blocks of src/README.md that begin with their file's name, on a port that they print. */
function readmePrograms(): ReadonlyMap<string, string> {
  const blocks = readText('src/README.md').matchAll(/^```js\n\/\/ (\S+\.mjs)\n([^]*?)^```$/gm);
  const programs = new Map([...blocks].map(([, name, text]) => [name!, text!]));
  assert.deepEqual([...programs.keys()], ['shop.mjs', 'sqlite-store.test.mjs']);
  programs.set('sqlite-store.mjs', readText('test/embedding/sqlite-store.mjs'));
  const anyPort = 'server.listen(0, () => console.log(`port ${server.address().port}`))';
  const shop = programs.get('shop.mjs')!;
  assert.ok(shop.includes('server.listen(8080)'));
  const tried = shop.replace('server.listen(8080)', anyPort).replace('5000', '500');
  return programs.set('shop.mjs', tried);
}
