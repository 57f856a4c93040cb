/** Idempotency keys in the files: what a checkpoint, a start and a restore do with them. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { systemMemory } from '../../../src/base/memory.ts';
import type { NewPet } from '../../../src/model/pet.ts';
import type { CreatedPet } from '../../../src/model/pet-store.ts';
import { createCommit, encodeCommit, encodeKeysLine } from '../../../src/stores/commit.ts';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import { headerText } from '../../../src/stores/file/journal-line.ts';
import { readJournal } from '../../../src/stores/file/journal-reader.ts';
import { KEY_LIFETIME_MS, MAX_IDEMPOTENCY_KEYS } from '../../../src/stores/table/key-table.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import {
  EXPIRES_AT,
  linesOf,
  pendingPet,
  REX,
  snapshotId,
} from '../../support/disk/journal-text.ts';
import { createMemoryDisk, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

const PATH = 'pets.json';
const JOURNAL = `${PATH}.journal`;
const TOM: NewPet = { name: 'Tom', categoryId: 7n };
const TODAY: number = Date.UTC(2026, 10, 21);

/** What a store logged, in short. */
type Lines = string[];

function open(disk: MemoryDisk, lines: Lines = [], timeOfDay = TODAY): Promise<FileStore> {
  const log = (level: string, message: string): unknown => lines.push(`${level}: ${message}`);
  return openFileStore({ path: PATH, disk, log, now: () => 0, timeOfDay: () => timeOfDay });
}

function createOnce(store: FileStore, key: number, pet: NewPet = REX): Promise<CreatedPet> {
  return store.createOnce?.(pet, requestKey(key)) ?? assert.fail();
}

/** A disk with the files of a store that was stopped: a keyed Rex and a keyed Tom. */
async function stoppedDisk(): Promise<MemoryDisk> {
  const disk = createMemoryDisk();
  const store = await open(disk);
  await createOnce(store, 1);
  await createOnce(store, 2, TOM);
  await store.close();
  return disk;
}

test('The examples of the page are what the store writes', () => {
  // The compiled tests are in .build/test.
  const path = new URL('../../../../src/stores/file/README.md', import.meta.url);
  const page = readFileSync(path, 'utf8');
  const pet = '{"id":2,"name":"Rex","categoryId":1}';
  const [key, expiresAt] = ['9f86d081884c7d659a2feaa0c55ad015', 1795305600000];
  const lines = linesOf([
    headerText({ crc: 0x709d_dd80, lastId: 1n }),
    encodeKeysLine([{ key, id: 1n, expiresAt }]),
    `{"after":1,"pets":[${pet}]}`,
  ]);
  assert.ok(page.includes(`\n${lines.join('')}`), lines.join(''));
});

test('After a stop the keys of the data file are in the journal, and nothing else', async () => {
  const disk = await stoppedDisk();
  const lines = disk.read(JOURNAL).toString().split('\n');
  assert.match(lines[0]!, /"lastId":2\}$/);
  assert.match(
    lines[1]!,
    new RegExp(`\\{"keys":\\[\\["${requestKey(1)}",1,.*"${requestKey(2)}",2,`),
  );
  assert.equal(lines[2], '');
  const store = await open(disk);
  assert.deepEqual(await told(createOnce(store, 1)), [1n, true]);
  assert.deepEqual(await told(createOnce(store, 2, TOM)), [2n, true]);
});

test('Without the journal that a stop left a start forgets its keys, and no pet', async () => {
  const disk = await stoppedDisk();
  await disk.remove(JOURNAL);
  const store = await open(disk);
  assert.equal(store.count().total, 2);
  assert.equal((await createOnce(store, 1)).pet.id, 3n);
});

const REX_AND_TOM = '{"id":1,"name":"Rex","categoryId":7},{"id":2,"name":"Tom","categoryId":7}';
const DROPPED = 'warn: Dropped idempotency keys whose pets are missing or different';
const MISSING =
  'warn: The data file ends before the last pet that its journal names: pets are missing';

for (const [what, snapshot, isKept, warnings] of [
  ['the same pets in another layout', `[${REX_AND_TOM}]`, true, []],
  ['more pets', `[${REX_AND_TOM},{"id":9,"name":"Max","categoryId":7}]`, true, []],
  ['other pets', `[${REX_AND_TOM.replace('Tom', 'Tim')}]`, false, [DROPPED]],
  ['fewer pets', '[{"id":1,"name":"Rex","categoryId":7}]', false, [DROPPED, MISSING]],
  ['no pets', '[]', false, [DROPPED, MISSING]],
] as const) {
  test(`The keys of a stop are ${isKept ? 'kept' : 'dropped'} beside a data file with ${what}`, async () => {
    const disk = await stoppedDisk();
    disk.write(PATH, snapshot);
    const lines: Lines = [];
    const store = await open(disk, lines);
    assert.deepEqual(
      lines.filter((line) => line.startsWith('warn')),
      warnings,
    );
    assert.equal((await createOnce(store, 1)).isReplayed, isKept);
    await store.close();
    // The next journal belongs to this data file.
    assert.equal((await createOnce(await open(disk), 1)).isReplayed, true);
  });
}

test('A journal of keys without a data file is refused: ids would begin at 1 again', async () => {
  const disk = await stoppedDisk();
  await disk.remove(PATH);
  await assert.rejects(open(disk), {
    message: /^There is no data file pets.json, but its journal/,
  });
});

test('A key that has expired is not written any more', async () => {
  const disk = await stoppedDisk();
  let ms = 0;
  const store = await openFileStore({
    path: PATH,
    disk,
    now: () => ms,
    timeOfDay: () => TODAY + ms,
  });
  ms = KEY_LIFETIME_MS;
  await store.close();
  assert.equal(disk.contents()[JOURNAL], undefined);
});

for (const hours of [-25, 24 * 400]) {
  test(`A start gives each key 24 hours anew, with a clock that is ${hours} hours off`, async () => {
    const disk = await stoppedDisk();
    let ms = 0;
    const timeOfDay = (): number => TODAY + hours * 3_600_000 + ms;
    const store = await openFileStore({ path: PATH, disk, now: () => ms, timeOfDay });
    ms = KEY_LIFETIME_MS - 1;
    assert.deepEqual(await told(createOnce(store, 1)), [1n, true]);
    ms += 1;
    assert.deepEqual(await told(createOnce(store, 1)), [3n, false]);
  });
}

test('A start reads the newest 100,000 keys of a journal', async () => {
  const perCommit = 10_000;
  const commits = 11;
  const snapshot = snapshotId('[]', 0);
  const texts = Array.from({ length: commits }, (_, commit) => {
    const after = commit * perCommit;
    const pets = Array.from({ length: perCommit }, (_, i) =>
      pendingPet(REX, requestKey(after + i + 1)),
    );
    return encodeCommit(createCommit(BigInt(after), pets, EXPIRES_AT));
  });
  const journal = Buffer.concat(linesOf([headerText(snapshot), ...texts]));
  const disk = createMemoryDisk({ j: journal });
  const pets = new PetTable();
  const file = await disk.open('j', 'read');
  const { keys } = await readJournal('j', file, snapshot, pets, systemMemory);
  assert.equal(pets.length, commits * perCommit);
  assert.equal(keys.length, MAX_IDEMPOTENCY_KEYS);
  assert.equal(keys[0]?.id, BigInt(commits * perCommit - MAX_IDEMPOTENCY_KEYS + 1));
  assert.equal(keys.at(-1)?.key, requestKey(commits * perCommit));
});

async function told(created: Promise<CreatedPet>): Promise<readonly [bigint, boolean]> {
  const { pet, isReplayed } = await created;
  return [pet.id, isReplayed];
}
