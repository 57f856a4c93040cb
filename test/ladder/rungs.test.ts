/** The rungs of the ladder as stores, as services and as programs. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { testConformance } from '../../src/extras/kit/conformance.ts';
import { createListener, formatPet, type NewPet } from '../../src/ladder/1-plain.ts';
import { openJsonFileStore } from '../../src/ladder/2-json-file.ts';
import { openAppendStore } from '../../src/ladder/3-append.ts';
import { createMemoryDisk } from '../support/disk/memory-disk.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { listenFor } from '../support/http/service.ts';
import { petText } from '../support/pets/rex.ts';
import { PET, startProgram } from '../support/process/process.ts';
import { ROOT } from '../support/project.ts';

const PATH = '/data/pets.json';
const KEY = 'secret';
const HOUR_MS = 3_600_000;
const REX_1: string = petText(1);

/** With the file that the program of the rung keeps in its folder. */
const DURABLE = [
  ['2-json-file', openJsonFileStore, 'pets.json'],
  ['3-append', openAppendStore, 'pets-with-marks.json'],
] as const;

/** The store is served before the first test is declared: node:test does not wait for it. */
const served = await openAppendStore(PATH, createMemoryDisk());
const port = await listenFor({ after }, createServer(createListener(served, KEY)));
const baseUrl = `http://127.0.0.1:${port}/v1`;
testConformance({ baseUrl, key: KEY, level: 'interface', timeoutMs: HOUR_MS });

/** Pets whose values are easily lost. */
const AWKWARD: readonly NewPet[] = [
  { name: '"\\\0\ud800\u2028😀', categoryId: 2n ** 63n - 1n, status: 'sold' },
  { name: '', categoryId: -(2n ** 63n), status: 'pending' },
  { name: ']\n', categoryId: 0n },
];

for (const [name, open] of DURABLE) {
  test(`Rung ${name} has all pets, and their values, after it was opened again`, async () => {
    const disk = createMemoryDisk();
    const store = await open(PATH, disk);
    const created = await Promise.all(AWKWARD.map((pet) => store.create(pet)));
    const again = await open(PATH, disk);
    for (const [index, pet] of created.entries()) {
      assert.deepEqual(pet, formatPet(BigInt(index + 1), AWKWARD[index]!));
      assert.deepEqual(again.get(pet.id), pet);
    }
    assert.deepEqual(again.list({ limit: 3 }), { ...store.list({ limit: 9 }), next: undefined });
    assert.equal(again.list({ limit: 2 }).next, 2n);
    assert.equal((await again.create(AWKWARD[0]!)).id, 4n);
  });
}

/** The programs of a rung: built, and as a source on a Node that runs TypeScript. */
function programsOf(name: string): readonly string[] {
  const { typescript } = process.features as { readonly typescript?: unknown };
  const built = `dist/ladder/${name}.js`;
  return typescript ? [built, `src/ladder/${name}.ts`] : [built];
}

const FILES = [['1-plain', ''], ...DURABLE.map(([name, , file]) => [name, file] as const)] as const;

for (const [name, file] of FILES) {
  const kept = file === '' ? '' : `, and has its pet in ${file} after kill -9`;
  test(`Rung ${name} runs by itself, asks for its API key${kept}`, async (t) => {
    for (const program of programsOf(name)) {
      const folder = tempDir(t);
      const { url, kill } = await startRung(t, program, folder);
      const headers = { Authorization: `Bearer ${KEY}` };
      const created = await fetch(url, { method: 'POST', headers, body: PET });
      assert.equal(await created.text(), REX_1);
      assert.equal((await fetch(url, { headers: { Authorization: 'Bearer other' } })).status, 401);
      kill();
      if (file === '') continue;
      assert.deepEqual(JSON.parse(readFileSync(join(folder, file), 'utf8')), [JSON.parse(REX_1)]);
      const again = await startRung(t, program, folder);
      assert.equal(await (await fetch(`${again.url}/1`, { headers })).text(), REX_1);
    }
  });
}

test('Rung 3 refuses a file that is damaged before its last commit, or that another store wrote', async () => {
  const disk = createMemoryDisk();
  const store = await openAppendStore(PATH, disk);
  for (const name of ['Rex', 'Tom', 'Kit']) await store.create({ name, categoryId: 7n });
  const whole = disk.read(PATH);
  const damaged = Buffer.from(whole);
  damaged[whole.indexOf('Rex')]! ^= 1;
  for (const [content, message] of [
    [damaged, /damaged behind its mark 1$/],
    [Buffer.from('[\n{"id":1,"name":"Rex","categoryId":7}\n]\n'), /does not begin as a file/],
    [Buffer.alloc(0), /does not begin as a file/],
  ] as const) {
    disk.edit(PATH, content);
    await assert.rejects(openAppendStore(PATH, disk), { message });
    assert.deepEqual(disk.read(PATH), content);
  }
});

/** Starts a rung in a folder, for which it makes its file. */
async function startRung(t: TestContext, program: string, folder: string) {
  const env = { API_KEY: KEY, PORT: '0' };
  const run = startProgram(process.execPath, [join(ROOT, program)], { cwd: folder, env });
  t.after(() => run.child.kill('SIGKILL'));
  await run.wrote(() => /port: [0-9]+/.test(run.stdout()));
  const [, port] = /port: ([0-9]+)/.exec(run.stdout())!;
  return { url: `http://127.0.0.1:${port}/v1/pets`, kill: () => run.child.kill('SIGKILL') };
}
