/** Checking data files: what is said of them, and that they are left alone. */

import assert from 'node:assert/strict';
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { verifyData } from '../../../src/stores/file/verify-data.ts';
import type { Disk, DiskFile } from '../../../src/stores/file/disk.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { journalLines, REX as NEW_REX, snapshotId } from '../../support/disk/journal-text.ts';
import { PetLedger } from '../../support/pets/pet-ledger.ts';
import { startLoad } from '../../support/pets/pet-load.ts';
import { end, portOf, startOn } from '../../support/process/process.ts';
import { createRandom } from '../../support/random.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { runScript, type ScriptResult } from '../../support/process/run-script.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const REX = '{"id":1,"name":"Rex","categoryId":7}';
const TOM = '{"id":9,"name":"Tom","categoryId":7,"status":"sold"}';

const SNAPSHOT = `[${REX}]`;

const NO_CHECKSUM = 'It has no checksum line: a changed letter in it would not be noticed\n';
const LEFT = 'It was left as it is\\. [^\n]*\n$';

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
    assert.deepEqual(result, { code: 0, stdout: `${path}: ${report}\n${NO_CHECKSUM}`, stderr: '' });
  });
}

const DAMAGED = [
  ['an empty file', '', 0, 1],
  ['a byte that is none of JSON', `[${REX},x${TOM}]`, 38, 1],
  ['an id that does not ascend', `[\n${TOM},\n${REX}]`, 56, 3],
  ['an array without end', `[${REX},\n\n${TOM}`, 92, 3],
  ['a pet without name', '[{"id":1,"categoryId":7}]', 1, 1],
] as const;

for (const [what, text, offset, line] of DAMAGED) {
  test(`It names the file, the byte and the line of ${what}, and exits with 1`, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    writeFileSync(path, text);
    const { code, stdout, stderr } = await checkUnchanged(path);
    assert.deepEqual([code, stdout], [1, '']);
    const place = `at byte ${offset}, line ${line}`;
    assert.match(stderr, new RegExp(`^${path} is damaged ${place}: [^\n]*\\. ${LEFT}`));
  });
}

test('It counts the pets that are in the journal only', async (t) => {
  const path = withJournal(t, 3);
  const report = `${path}: 4 pets, the greatest id is 4, 3 of them in the journal only\n${NO_CHECKSUM}`;
  assert.deepEqual(await checkUnchanged(path), { code: 0, stdout: report, stderr: '' });
});

test('It tells of a commit at the end of the journal that is not complete', async (t) => {
  const path = withJournal(t, 3);
  truncateSync(`${path}.journal`, sum(lines(3)) - 5);
  const stdout =
    `${path}: 3 pets, the greatest id is 3, 2 of them in the journal only\n${NO_CHECKSUM}` +
    `${lines(3)[3]!.length - 5} bytes at the journal's end are a commit that is not complete\n`;
  assert.deepEqual(await checkUnchanged(path), { code: 0, stdout, stderr: '' });
});

test('It names byte and line of a damaged line in the journal, and exits with 1', async (t) => {
  const path = withJournal(t, 3);
  const journal = readFileSync(`${path}.journal`);
  const start = sum(lines(1));
  journal[start + 30]! ^= 1;
  writeFileSync(`${path}.journal`, journal);
  const { code, stdout, stderr } = await checkUnchanged(path);
  assert.deepEqual([code, stdout], [1, '']);
  const place = `at byte ${start}, line 3`;
  assert.match(stderr, new RegExp(`^${path}\\.journal is damaged ${place}: [^\n]*\\. ${LEFT}`));
});

test('It counts the idempotency keys, and those of other pets, and notices a changed one', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const store = await openFileStore({ path });
  for (const number of [1, 2]) await store.createOnce?.(NEW_REX, requestKey(number));
  await store.close();
  const pets = `${path}: 2 pets, the greatest id is 2\n`;
  assert.equal(
    (await checkUnchanged(path)).stdout,
    `${pets}2 idempotency keys in their own file\n`,
  );

  writeFileSync(path, SNAPSHOT);
  const stray = '1 of them is of other pets, and will be forgotten\n';
  const { stdout } = await checkUnchanged(path);
  assert.ok(
    stdout.endsWith(`2 idempotency keys in their own file\n${stray}${NO_CHECKSUM}`),
    stdout,
  );

  const keys = readFileSync(`${path}.keys`);
  keys[40]! ^= 1;
  writeFileSync(`${path}.keys`, keys);
  const { code, stderr } = await checkUnchanged(path);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`^${path}\\.keys is damaged: Its content [^\n]*`));
});

test('It misses the data file of a journal, but not that of an empty one', async (t) => {
  const path = withJournal(t, 1);
  rmSync(path);
  const missing = `^${path} is damaged: It is missing, but its journal [^\n]* exists\\. ${LEFT}`;
  assert.match((await checkUnchanged(path)).stderr, new RegExp(missing));
  truncateSync(`${path}.journal`);
  const stderr = `There is no data file ${path}\n`;
  assert.deepEqual(await checkUnchanged(path), { code: 1, stdout: '', stderr });
});

test('It checks what a store wrote, seal and all, and notices a changed letter', async (t) => {
  const path = withJournal(t, 3);
  await (await openFileStore({ path })).close();
  assert.equal((await checkUnchanged(path)).stdout, `${path}: 4 pets, the greatest id is 4\n`);

  writeFileSync(path, readFileSync(path, 'utf8').replace('Rex', 'Rax'));
  const { code, stderr } = await checkUnchanged(path);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`^${path} is damaged: Its content does not match the.* ${LEFT}`));
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
    'Checks a data file, its journal and its idempotency keys, and changes nothing. Without a file ' +
    'it\nchecks PETSTORE_DATA_FILE, or data/pets.json.\n';
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
  const report = `${path}: 40 pets, the greatest id is 40\n${NO_CHECKSUM}`;
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
  const path = withJournal(t, 3);
  let reads = 0;
  const disk = openedWith(`${path}.journal`, async (file) => ({
    ...file,
    async read(bytes, offset, length, position) {
      const count = await file.read(bytes, offset, length, position);
      // The end of the first commit has not come, those behind it have.
      if (reads++ === 0) bytes.fill(0, offset + sum(lines(1)) - 9, offset + sum(lines(1)));
      return count;
    },
  }));
  const { pets, journalPets } = await verifyData(disk, path);
  assert.deepEqual([pets, journalPets, reads > 2], [4, 3, true]);
});

test('A checkpoint between the reading of journal and data file hides no pet', async (t) => {
  const path = withJournal(t, 3);
  const disk = openedWith(`${path}.journal`, async (file) => {
    await (await openFileStore({ path })).close();
    return file;
  });
  const { pets, journalPets, hasChecksum } = await verifyData(disk, path);
  assert.deepEqual([pets, journalPets, hasChecksum], [4, 0, true]);
  assert.deepEqual(readdirSync(join(path, '..')).sort(), ['pets.json', 'pets.json.lock']);
});

/** The real disk, but that something is done to the file of this name when it is opened. */
function openedWith(path: string, change: (file: DiskFile) => Promise<DiskFile>): Disk {
  return {
    ...nodeDisk,
    async open(name, how, making) {
      const file = await nodeDisk.open(name, how, making);
      return name === path ? change(file) : file;
    },
  };
}

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
function withJournal(t: TestContext, commits: number): string {
  const path = join(tempDir(t), 'pets.json');
  writeFileSync(path, SNAPSHOT);
  writeFileSync(`${path}.journal`, Buffer.concat(lines(commits)));
  return path;
}

/** The lines of such a journal, its header the first of them. */
function lines(commits: number): readonly Buffer[] {
  return journalLines(snapshotId(SNAPSHOT, 1), Array(commits).fill([NEW_REX]));
}

function sum(buffers: readonly Buffer[]): number {
  return Buffer.concat(buffers).length;
}

function checkDataFile(...args: readonly string[]): Promise<ScriptResult> {
  return runScript('check-data.mjs', args);
}
