/** scripts/check-data.mjs: what it says of data files, and that it leaves them alone. */

import assert from 'node:assert/strict';
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { checkData } from '../../../src/stores/file/check-data.ts';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { openConnection } from './support/connection.ts';
import { PetLedger } from './support/pet-ledger.ts';
import { startLoad } from './support/pet-load.ts';
import { end, KEY, portOf, startOn } from './support/process.ts';
import { createRandom } from './support/random.ts';
import { runScript, type ScriptResult } from './support/run-script.ts';
import { tempDir } from './support/temp-dir.ts';

const REX = '{"id":1,"name":"Rex","categoryId":7}';
const TOM = '{"id":9,"name":"Tom","categoryId":7,"status":"sold"}';

const WHOLE = [
  ['[]', '0 pets, the greatest id is 0'],
  [`[${REX},${TOM}]`, '2 pets, the greatest id is 9'],
  [`[\n  ${REX},\n\n  ${TOM}\n]\n`, '2 pets, the greatest id is 9'],
] as const;

for (const [text, report] of WHOLE) {
  test(`Of ${JSON.stringify(text)} it says: ${report}`, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    writeFileSync(path, text);
    const result = await checkUnchanged(path);
    assert.deepEqual(result, { code: 0, stdout: `${path}: ${report}\n`, stderr: '' });
  });
}

const DAMAGED = [
  ['an empty file', '', 0],
  ['a byte that is none of JSON', `[${REX},x${TOM}]`, 38],
  ['an id that does not ascend', `[${TOM},${REX}]`, 54],
  ['an array without end', `[${REX},${TOM}`, 90],
  ['a pet without name', '[{"id":1,"categoryId":7}]', 1],
] as const;

for (const [what, text, offset] of DAMAGED) {
  test(`It names the file and the byte of ${what}, and exits with 1`, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    writeFileSync(path, text);
    const { code, stdout, stderr } = await checkUnchanged(path);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, new RegExp(`^${path} is damaged at byte ${offset}: [^\n]*\n$`));
  });
}

test('It counts the pets that are in the journal only', async (t) => {
  const path = await killedWithPets(t, 3);
  const { code, stdout, stderr } = await checkUnchanged(path);
  const report = `${path}: 4 pets, the greatest id is 4, 3 of them in the journal only\n`;
  assert.deepEqual([code, stdout, stderr], [0, report, '']);
});

test('It tells of a commit at the end of the journal that is not complete', async (t) => {
  const path = await killedWithPets(t, 3);
  const journal = readFileSync(`${path}.journal`, 'utf8').replace(/\0+$/, '');
  const lastLine = journal.length - 1 - journal.lastIndexOf('\n', journal.length - 2);
  truncateSync(`${path}.journal`, journal.length - 5);
  const { code, stdout, stderr } = await checkUnchanged(path);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(
    stdout,
    `${path}: 3 pets, the greatest id is 3, 2 of them in the journal only\n` +
      `${lastLine - 5} bytes at the journal's end are a commit that is not complete\n`,
  );
});

test('It names the byte of a damaged line in the journal, and exits with 1', async (t) => {
  const path = await killedWithPets(t, 3);
  const journal = readFileSync(`${path}.journal`);
  const secondLine = journal.indexOf('\n') + 1;
  journal[secondLine + 30]! ^= 1;
  writeFileSync(`${path}.journal`, journal);
  const { code, stdout, stderr } = await checkUnchanged(path);
  assert.deepEqual([code, stdout], [1, '']);
  const line = `${path}\\.journal is damaged at byte ${secondLine}: [^\n]*\n`;
  assert.match(stderr, new RegExp(`^${line}$`));
});

test('It checks what a store wrote, seal and all, and notices a changed letter', async (t) => {
  const path = await killedWithPets(t, 3);
  await (await openFileStore({ path })).close();
  assert.equal((await checkUnchanged(path)).stdout, `${path}: 4 pets, the greatest id is 4\n`);

  writeFileSync(path, readFileSync(path, 'utf8').replace('Rex', 'Rax'));
  const { code, stderr } = await checkUnchanged(path);
  assert.equal(code, 1);
  assert.match(stderr, /does not match the seal/);
});

test('It tells in one line of a file that is not there or is a folder, and exits 1', async (t) => {
  const folder = tempDir(t);
  const none = join(folder, 'none.json');
  const cases = [
    [none, `There is no data file ${none}\n`],
    [folder, `${folder} is not a file\n`],
  ] as const;
  for (const [path, stderr] of cases) {
    assert.deepEqual(await checkDataFile(path), { code: 1, stdout: '', stderr });
  }
  assert.deepEqual(readdirSync(folder), []);
});

test('A wrong call shows how it is called, and exits with 2', async () => {
  const stderr =
    'Usage: petstore check-data [file]\n\n' +
    'Checks a data file (data/pets.json) and its journal, and changes nothing.\n';
  for (const args of [['a', 'b'], ['--what'], ['-']]) {
    assert.deepEqual(await checkDataFile(...args), { code: 2, stdout: '', stderr });
  }
});

test('A long file, too, leaves standard error empty where that is no terminal', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const name = 'x'.repeat(1 << 20);
  writeFileSync(path, '[');
  for (let id = 1; id <= 40; id += 1) {
    appendFileSync(path, `${id > 1 ? ',' : ''}{"id":${id},"name":"${name}","categoryId":1}`);
  }
  appendFileSync(path, ']');
  const report = `${path}: 40 pets, the greatest id is 40\n`;
  assert.deepEqual(await checkDataFile(path), { code: 0, stdout: report, stderr: '' });
});

test('While the service writes it finds all that was answered before', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const ledger = new PetLedger();
  const service = startOn(t, path);
  const load = startLoad(await portOf(service), ledger, createRandom(1), 4);
  for (let run = 0; run < 4; run += 1) {
    await load.answered(20);
    const answeredBefore = ledger.answered;
    const { code, stdout, stderr } = await checkDataFile(path);
    assert.deepEqual([code, stderr], [0, '']);
    const pets = Number(/: ([0-9]+) pets, /.exec(stdout)?.[1]);
    assert.ok(answeredBefore <= pets && pets <= ledger.sent, stdout);
  }
  assert.equal(await end(service, 'SIGTERM'), 0);
  await load.ended;
});

test('A line that was read while it was written is looked at again', async (t) => {
  const path = await killedWithPets(t, 3);
  let reads = 0;
  const disk: Disk = {
    ...nodeDisk,
    async open(name, how) {
      const file = await nodeDisk.open(name, how);
      if (!name.endsWith('.journal')) return file;
      return {
        ...file,
        async read(bytes, offset, length, position) {
          const count = await file.read(bytes, offset, length, position);
          // The first line's end has not come, those behind it have.
          if (reads++ === 0) bytes.fill(0, offset + 40, offset + 50);
          return count;
        },
      };
    },
  };
  const { pets, journalPets } = await checkData(disk, path);
  assert.deepEqual([pets, journalPets], [4, 3]);
});

/** Checks the file, and that all files beside it are as they were. */
async function checkUnchanged(path: string): Promise<ScriptResult> {
  const folder = join(path, '..');
  const before = stateOf(folder);
  const result = await checkDataFile(path);
  assert.deepEqual(stateOf(folder), before);
  return result;
}

function stateOf(folder: string): readonly unknown[] {
  return readdirSync(folder).map((name) => {
    const { mtimeNs, ino, mode } = statSync(join(folder, name), { bigint: true });
    return [name, mtimeNs, ino, mode, readFileSync(join(folder, name), 'latin1')];
  });
}

/** A data file of one pet, with a journal of so many commits of one pet. */
async function killedWithPets(t: TestContext, commits: number): Promise<string> {
  const path = join(tempDir(t), 'pets.json');
  writeFileSync(path, `[${REX}]`);
  const service = startOn(t, path);
  const connection = await openConnection(await portOf(service), KEY);
  for (let pet = 0; pet < commits; pet += 1) {
    const answer = await connection?.send('POST', '/v1/pets', '{"name":"Tom","categoryId":7}');
    assert.equal(answer?.status, 201);
  }
  assert.equal(await end(service, 'SIGKILL'), 'SIGKILL');
  return path;
}

function checkDataFile(...args: readonly string[]): Promise<ScriptResult> {
  return runScript('check-data.mjs', args);
}
