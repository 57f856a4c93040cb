/** The check of data files: what it reports, what the command prints, and that no file changes. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { verifyData, type DataReport } from '../../../src/stores/file/verify-data.ts';
import type { Disk, DiskFile } from '../../../src/stores/file/disk.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { journalLines, REX as NEW_REX, snapshotId } from '../../support/disk/journal-text.ts';
import { PetLedger } from '../../support/pets/pet-ledger.ts';
import { startLoad } from '../../support/pets/pet-load.ts';
import { end, portOf, runScript, startOn, type Result } from '../../support/process/process.ts';
import { createRandom } from '../../support/random.ts';
import { rounds } from '../../support/extent.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const REX = '{"id":1,"name":"Rex","categoryId":7}';
const TOM = '{"id":9,"name":"Tom","categoryId":7,"status":"sold"}';
const SNAPSHOT = `[${REX}]`;
const NO_CHECKSUM =
  'The data file has no checksum line: a changed letter in it would not be noticed\n';
const LEFT = 'It was left as it is\\. [^\n]*$';

const REPORT = {
  ...{ pets: 0, lastId: 0n, journalPets: 0, tornBytes: 0, keys: 0, strayKeys: 0 },
  hasChecksum: false,
};

/**
 * The content of a data file and of its journal, and the values of the report that are not zero.
 */
const SOUND: readonly (readonly [string, string, Buffer | undefined, Partial<DataReport>])[] = [
  ['an empty array', '[]', undefined, {}],
  ['two pets in one line', `[${REX},${TOM}]`, undefined, { pets: 2, lastId: 9n }],
  ['a journal', SNAPSHOT, joined(3), { pets: 4, lastId: 4n, journalPets: 3 }],
  [
    'a torn journal',
    SNAPSHOT,
    joined(3).subarray(0, -5),
    { pets: 3, lastId: 3n, journalPets: 2, tornBytes: lines(3)[3]!.length - 5 },
  ],
];

for (const [what, text, journal, report] of SOUND) {
  test(`The report of ${what} counts its pets`, async (t) => {
    const path = filesIn(t, text, journal);
    assert.deepEqual(await verifyUnchanged(path), { ...REPORT, ...report });
  });
}

/** The content of a data file and of its journal, and where it is damaged. */
const DAMAGED: readonly (readonly [string, string, Buffer | undefined, string])[] = [
  ['an empty file', '', undefined, 'at byte 0, line 1'],
  ['an id that does not ascend', `[\n${TOM},\n${REX}]`, undefined, 'at byte 56, line 3'],
  ['a journal', SNAPSHOT, flipped(joined(3), joined(1).length + 30), 'line 3'],
];

for (const [what, text, journal, position] of DAMAGED) {
  test(`A damaged file with ${what} is named with byte and line`, async (t) => {
    const path = filesIn(t, text, journal);
    const file = journal === undefined ? path : `${path}\\.journal`;
    const at = journal === undefined ? position : `at byte ${joined(1).length}, ${position}`;
    const error = { message: new RegExp(`^${file} is damaged ${at}: [^\n]*\\. ${LEFT}`) };
    await assert.rejects(verifyUnchanged(path), error);
    // As a start says it.
    await assert.rejects(openFileStore({ path }), error);
  });
}

test('Idempotency keys are counted, also those of other pets, and a changed one is found', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const store = await openFileStore({ path });
  for (const number of [1, 2]) await store.createOnce(NEW_REX, requestKey(number));
  await store.close();
  const report = { ...REPORT, pets: 2, lastId: 2n, keys: 2, hasChecksum: true };
  assert.deepEqual(await verifyUnchanged(path), report);
  writeFileSync(path, SNAPSHOT);
  const { keys, strayKeys } = await verifyUnchanged(path);
  assert.deepEqual([keys, strayKeys], [2, 1]);
  writeFileSync(`${path}.keys`, flipped(readFileSync(`${path}.keys`), 40));
  await assert.rejects(verifyUnchanged(path), { message: /\.keys is damaged: Its content / });
});

test('Without a data file there is nothing to check', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  await assert.rejects(verifyUnchanged(path), { message: `There is no data file ${path}` });
});

test('The command prints one line for each part of a report, and exits with 0', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const store = await openFileStore({ path });
  for (const number of [1, 2]) await store.createOnce(NEW_REX, requestKey(number));
  await store.close();
  writeFileSync(path, SNAPSHOT);
  writeFileSync(`${path}.journal`, joined(3).subarray(0, -5));
  const stdout =
    `${path}: 3 pets, the greatest id is 3, 2 of them in the journal only\n` +
    `2 idempotency keys in their own file\n${NO_CHECKSUM}` +
    `${lines(3)[3]!.length - 5} bytes at the journal's end are a commit that is not complete\n`;
  assert.deepEqual(await checkDataFile(path), { code: 0, stdout, stderr: '' });
  rmSync(`${path}.journal`);
  const { stdout: stray } = await checkDataFile(path);
  assert.match(stray, /\n1 of them belongs to a pet that this data file does not have, and will/);
});

test('The command prints a missing file or a folder in one line, and exits with 1', async (t) => {
  const folder = tempDir(t);
  const none = join(folder, 'none.json');
  for (const [path, stderr] of [
    [none, `There is no data file ${none}\n`],
    [folder, `${folder} is not a file\n`],
  ] as const) {
    assert.deepEqual(await checkDataFile(path), { code: 1, stdout: '', stderr });
  }
  assert.deepEqual(readdirSync(folder), []);
});

test('A wrong call prints the usage, and exits with 2', async () => {
  const stderr =
    'Usage: petstore check-data [file]\n\n' +
    'Checks a data file, its journal and its idempotency keys, and changes nothing. Without a file ' +
    'it\nchecks PETSTORE_DATA_FILE, or data/pets.json.\n';
  const calls = [['a', 'b'], ['--what'], ['-']].map((args) => checkDataFile(...args));
  for (const call of calls) assert.deepEqual(await call, { code: 2, stdout: '', stderr });
});

test('The command prints no progress of a long file if standard error is not a terminal', async (t) => {
  const name = 'x'.repeat(1 << 20);
  const pets = Array.from({ length: 20 }, (_, i) => REX.replace('1', `${i + 1}`));
  const path = filesIn(t, `[${pets.map((pet) => pet.replace('Rex', name)).join()}]`);
  const stdout = `${path}: 20 pets, the greatest id is 20\n${NO_CHECKSUM}`;
  assert.deepEqual(await checkDataFile(path), { code: 0, stdout, stderr: '' });
});

test('While the service writes, the command finds all pets that were acknowledged before', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const ledger = new PetLedger();
  const service = startOn(t, path);
  const load = startLoad(await portOf(service), ledger, createRandom(1), 4);
  for (let run = 0; run < rounds(2, 4); run += 1) {
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

test('A line that was read while it was written is read again', async (t) => {
  const path = filesIn(t, SNAPSHOT, joined(3));
  let reads = 0;
  const disk = openedWith(`${path}.journal`, async (file) => ({
    ...file,
    async read(bytes, offset, length, position) {
      const count = await file.read(bytes, offset, length, position);
      // The end of the first commit is missing, and the commits after it are complete.
      if (reads++ === 0) bytes.fill(0, offset + joined(1).length - 9, offset + joined(1).length);
      return count;
    },
  }));
  const { pets, journalPets } = await verifyData(disk, path);
  assert.deepEqual([pets, journalPets, reads > 2], [4, 3, true]);
});

test('A checkpoint between the reading of journal and data file hides no pet', async (t) => {
  const path = filesIn(t, SNAPSHOT, joined(3));
  const disk = openedWith(`${path}.journal`, async (file) => {
    await (await openFileStore({ path })).close();
    return file;
  });
  const { pets, journalPets, hasChecksum } = await verifyData(disk, path);
  assert.deepEqual([pets, journalPets, hasChecksum], [4, 0, true]);
  assert.deepEqual(readdirSync(join(path, '..')).sort(), ['pets.json', 'pets.json.lock']);
});

/** The real disk, on which `change` replaces the file at the path when that is opened. */
function openedWith(path: string, change: (file: DiskFile) => Promise<DiskFile>): Disk {
  return {
    ...nodeDisk,
    async open(name, how, making) {
      const file = await nodeDisk.open(name, how, making);
      return name === path ? change(file) : file;
    },
  };
}

/** The report of the files, which changes none of them. */
async function verifyUnchanged(path: string): Promise<DataReport> {
  const before = stateOf(dirname(path));
  return verifyData(nodeDisk, path).finally(() => {
    assert.deepEqual(stateOf(dirname(path)), before);
  });
}

function stateOf(folder: string): readonly unknown[] {
  return readdirSync(folder).map((name) => {
    const { mtimeNs, ino, mode } = statSync(join(folder, name), { bigint: true });
    return [name, mtimeNs, ino, mode, readFileSync(join(folder, name), 'latin1')];
  });
}

/** The path of a new data file with this content, and with this journal if there is one. */
function filesIn(t: TestContext, text: string, journal?: Buffer): string {
  const path = join(tempDir(t), 'pets.json');
  writeFileSync(path, text);
  if (journal !== undefined) writeFileSync(`${path}.journal`, journal);
  return path;
}

function flipped(bytes: Buffer, offset: number): Buffer {
  bytes[offset]! ^= 1;
  return bytes;
}

/** The header and the lines of a journal after SNAPSHOT, with so many commits of one pet. */
function lines(commits: number): readonly Buffer[] {
  return journalLines(snapshotId(SNAPSHOT, 1), Array(commits).fill([NEW_REX]));
}

function joined(commits: number): Buffer {
  return Buffer.concat(lines(commits));
}

function checkDataFile(...args: readonly string[]): Promise<Result> {
  return runScript('check-data.mjs', args);
}
