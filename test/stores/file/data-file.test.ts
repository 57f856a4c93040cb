/** The check of data files: what it reports, what the command prints, and that no file changes. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { verifyData } from '../../../src/stores/file/data-file.ts';
import type { Disk, DiskFile } from '../../../src/stores/file/disk.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { journalLines, REX as NEW_REX, snapshotId } from '../../support/disk/journal-text.ts';
import { runScript, type Result } from '../../support/process/process.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const REX = '{"id":1,"name":"Rex","categoryId":7}';
const TOM = '{"id":9,"name":"Tom","categoryId":7,"status":"sold"}';
const SNAPSHOT = `[${REX}]`;
const NO_CHECKSUM =
  'The data file has no checksum line: a changed letter in it would not be noticed\n';
const LEFT = 'It was left as it is\\. [^\n]*$';

test('The check reports the damage that a start reports, with its byte', async (t) => {
  for (const [text, journal, position] of [
    [`[\n${TOM},\n${REX}]`, undefined, ' is damaged at byte 56'],
    [
      SNAPSHOT,
      flipped(joined(3), joined(1).length + 30),
      `\\.journal is damaged at byte ${joined(1).length}`,
    ],
  ] as const) {
    const path = filesIn(t, text, journal);
    const error = { message: new RegExp(`^${path}${position}: [^\n]*\\. ${LEFT}`) };
    const before = stateOf(dirname(path));
    await assert.rejects(verifyData(nodeDisk, path), error);
    assert.deepEqual(stateOf(dirname(path)), before);
    await assert.rejects(openFileStore({ path }), error);
  }
});

test('The command prints one line for each part of a report, and exits with 0', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const store = await openFileStore({ path });
  for (const number of [1, 2]) await store.createOnce(NEW_REX, requestKey(number));
  await store.close();
  const assertPrints = async (stdout: string): Promise<void> =>
    assert.deepEqual(await checkDataFile(path), { code: 0, stdout, stderr: '' });
  await assertPrints(`${path}: 2 pets, the greatest id is 2\n2 idempotency keys\n`);
  writeFileSync(path, readFileSync(path, 'latin1').replace('Rex', 'Tom').trimEnd());
  await assertPrints(
    `${path}: 2 pets, the greatest id is 2\n2 idempotency keys belong to pets that are missing ` +
      `or different, and will be forgotten\n${NO_CHECKSUM}`,
  );
  writeFileSync(path, SNAPSHOT);
  writeFileSync(`${path}.journal`, joined(3).subarray(0, -5));
  await assertPrints(
    `${path}: 3 pets, the greatest id is 3, 2 of them in the journal only\n${NO_CHECKSUM}` +
      `${lines(3)[3]!.length - 5} bytes at the journal's end are a commit that is not complete\n`,
  );
  rmSync(`${path}.journal`);
  writeFileSync(path, '[]');
  await assertPrints(`${path}: 0 pets, the greatest id is 0\n${NO_CHECKSUM}`);
});

test('A data file that ends before the last pet of a stop is reported, and exits with 1', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const store = await openFileStore({ path });
  for (const number of [1, 2]) await store.createOnce(NEW_REX, requestKey(number));
  await store.close();
  writeFileSync(path, SNAPSHOT);
  const { code, stderr } = await checkDataFile(path);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `petstore: ${path} ends with pet 1, but ${path}.journal follows pet 2: pets are missing. ` +
      'Restore both from one backup\n',
  );
});

test('The command prints a missing file or a folder in one line, and exits with 1', async (t) => {
  const folder = tempDir(t);
  const none = join(folder, 'none.json');
  const inNone = join(folder, 'none', 'pets.json');
  for (const [path, stderr] of [
    [none, `petstore: There is no data file ${none}\n`],
    [inNone, `petstore: There is no data file ${inNone}\n`],
    [folder, `petstore: ${folder} is a directory, not a regular file\n`],
  ] as const) {
    assert.deepEqual(await checkDataFile(path), { code: 1, stdout: '', stderr });
  }
  assert.deepEqual(readdirSync(folder), []);
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
  const { pets, snapshotPets } = await verifyData(disk, path);
  assert.deepEqual([pets.length, snapshotPets, reads > 2], [4, 1, true]);
});

test('A checkpoint between the reading of journal and data file hides no pet', async (t) => {
  const path = filesIn(t, SNAPSHOT, joined(3));
  const disk = openedWith(`${path}.journal`, async (file) => {
    await (await openFileStore({ path })).close();
    return file;
  });
  const { pets, snapshotPets, snapshot } = await verifyData(disk, path);
  assert.deepEqual([pets.length, snapshotPets, snapshot.hasChecksum], [4, 4, true]);
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
  return runScript('start.mjs', ['check-data', ...args]);
}
