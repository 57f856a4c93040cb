/** The check of data files: what it reports, what the command prints, and that no file changes. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { verifyData } from '../../../src/stores/file/data-file.ts';
import type { Disk, DiskFile } from '../../../src/stores/file/disk.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { journalLines, petText, REX, snapshotId } from '../../support/disk/journal-text.ts';
import { runScript } from '../../support/process/process.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const SNAPSHOT = `[${petText(1)}]`;
/** The header and three commits of a journal after it. */
const LINES = journalLines(snapshotId(SNAPSHOT, 1), [[REX], [REX], [REX]]);
const JOURNAL = Buffer.concat(LINES);
/** Where the second commit begins. */
const SECOND = LINES[0]!.length + LINES[1]!.length;

test('The check reports the damage that a start reports, with its byte', async (t) => {
  const damaged = Buffer.from(JOURNAL);
  damaged[SECOND + 30]! ^= 1;
  for (const [text, journal, position] of [
    [`[\n${petText(9)},\n${petText(1)}]`, undefined, ' is damaged at byte 40'],
    [SNAPSHOT, damaged, `\\.journal is damaged at byte ${SECOND}`],
  ] as const) {
    const path = filesIn(t, text, journal);
    const left = 'It was left as it is\\. [^\n]*$';
    const error = { message: new RegExp(`^${path}${position}: [^\n]*\\. ${left}`) };
    const before = stateOf(dirname(path));
    await assert.rejects(verifyData(nodeDisk, path), error);
    assert.deepEqual(stateOf(dirname(path)), before);
    await assert.rejects(openFileStore({ path }), error);
  }
});

test('The command prints one line for each part of a report, or why it fails', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const assertPrints = async (text: string, of: string = path): Promise<void> => {
    const { code, stdout, stderr } = await runScript('start.mjs', ['check-data', of]);
    assert.equal(`${code} ${stdout}${stderr}`, text);
  };
  const store = await openFileStore({ path });
  for (const number of [1, 2]) await store.createOnce(REX, requestKey(number));
  await store.close();
  await assertPrints(`0 ${path}: 2 pets, the greatest id is 2\n2 idempotency keys\n`);
  const unchecked =
    'The data file has no checksum line: a changed letter in it would not be noticed\n';
  writeFileSync(path, readFileSync(path, 'latin1').replace('Rex', 'Tom').trimEnd());
  await assertPrints(
    `0 ${path}: 2 pets, the greatest id is 2\n2 idempotency keys belong to pets that are missing ` +
      `or different, and will be forgotten\n${unchecked}`,
  );
  writeFileSync(path, SNAPSHOT);
  await assertPrints(
    `1 petstore: ${path} ends with pet 1, but ${path}.journal follows pet 2: pets are missing. ` +
      'Restore both from one backup\n',
  );
  writeFileSync(`${path}.journal`, JOURNAL.subarray(0, -5));
  await assertPrints(
    `0 ${path}: 3 pets, the greatest id is 3, 2 of them in the journal only\n${unchecked}` +
      `${LINES[3]!.length - 5} bytes at the journal's end are a commit that is not complete\n`,
  );
  for (const file of [path, `${path}.journal`]) rmSync(file);
  for (const none of [path, join(path, 'none')]) {
    await assertPrints(`1 petstore: There is no data file ${none}\n`, none);
  }
  const folder = dirname(path);
  await assertPrints(`1 petstore: ${folder} is a directory, not a regular file\n`, folder);
});

test('A line that was read while it was written is read again', async (t) => {
  const path = filesIn(t, SNAPSHOT, JOURNAL);
  let reads = 0;
  const disk = openedWith(`${path}.journal`, async (file) => ({
    ...file,
    async read(bytes, offset, length, position) {
      const count = await file.read(bytes, offset, length, position);
      // The end of the first commit is missing, and the commits after it are complete.
      if (reads++ === 0) bytes.fill(0, offset + SECOND - 9, offset + SECOND);
      return count;
    },
  }));
  const { pets, snapshotPets } = await verifyData(disk, path);
  assert.deepEqual([pets.length, snapshotPets, reads > 2], [4, 1, true]);
});

test('A checkpoint between the reading of journal and data file hides no pet', async (t) => {
  const path = filesIn(t, SNAPSHOT, JOURNAL);
  const disk = openedWith(`${path}.journal`, async (file) => {
    await (await openFileStore({ path })).close();
    return file;
  });
  const { pets, snapshotPets, snapshot } = await verifyData(disk, path);
  assert.deepEqual([pets.length, snapshotPets, snapshot.hasChecksum], [4, 4, true]);
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
