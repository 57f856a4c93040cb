/** Idempotency keys in the files: what a checkpoint, a start and a restore do with them. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { systemMemory } from '../../../src/base/memory.ts';
import type { NewPet } from '../../../src/model/pet.ts';
import type { CreatedPet } from '../../../src/model/pet-store.ts';
import { createCommit, encodeCommit } from '../../../src/stores/commits/commit.ts';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import { encodeIdempotencyFile } from '../../../src/stores/file/idempotency-file.ts';
import { encodeLine, headerText } from '../../../src/stores/file/journal-line.ts';
import { readJournal } from '../../../src/stores/file/journal-reader.ts';
import {
  KEY_LIFETIME_MS,
  MAX_IDEMPOTENCY_KEYS,
} from '../../../src/stores/idempotency/key-table.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import {
  EXPIRES_AT,
  linesOf,
  pendingPet,
  REX,
  snapshotId,
} from '../../support/disk/journal-text.ts';
import { createMemoryDisk, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import { copyOf } from '../../support/disk/store-scene.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

const PATH = 'pets.json';
const KEYS = `${PATH}.keys`;
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
  const pet = '{"id":1,"name":"Rex","categoryId":1}';
  const [key, expiresAt] = ['9f86d081884c7d659a2feaa0c55ad015', 1795305600000];
  const entry = { key, id: 1n, expiresAt, petCrc: zlib.crc32(pet) };
  const header = encodeLine(systemMemory, headerText({ crc: 0x709d_dd80, lastId: 0n }), 0);
  const line = encodeLine(systemMemory, `{"after":0,"pets":[${pet}]}`, header.crc);
  assert.ok(page.includes(`\n${header.bytes}${line.bytes}`));
  assert.ok(page.includes(`\n${encodeIdempotencyFile(systemMemory, [entry])}`));
});

test('Without the idempotency file a start forgets the keys of the checkpoint, and no pet', async () => {
  const disk = await stoppedDisk();
  await disk.remove(KEYS);
  const store = await open(disk);
  assert.equal(store.count().total, 2);
  assert.equal((await createOnce(store, 1)).pet.id, 3n);
});

test('A key that does not match a stored pet is dropped and logged', async () => {
  const disk = await stoppedDisk();
  disk.write(
    PATH,
    '[{"id":1,"name":"Another","categoryId":7},{"id":2,"name":"Tom","categoryId":7}]',
  );
  const lines: Lines = [];
  const store = await open(disk, lines);
  const dropped = 'warn: Dropped idempotency keys whose pets are missing or different';
  assert.ok(lines.includes(dropped), lines.join('\n'));
  assert.equal((await createOnce(store, 1)).isReplayed, false);
  assert.deepEqual(await told(createOnce(store, 2, TOM)), [2n, true]);
});

test('A key in doubt does not get the pet of another client that has its id', async () => {
  const disk = await stoppedDisk();
  const { text } = await (await open(disk)).create(REX);
  // As after a checkpoint that was cut off: a key with a pet that never came into the snapshot.
  const entry = { key: requestKey(3), id: 3n, expiresAt: TODAY, petCrc: zlib.crc32(text) };
  disk.write(KEYS, encodeIdempotencyFile(systemMemory, [entry]));
  const store = await open(copyOf(disk));
  assert.deepEqual(await told(createOnce(store, 3)), [4n, false]);
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

test('A checkpoint does not overwrite the keys of a snapshot of another program', async () => {
  const disk = await stoppedDisk();
  const store = await open(disk);
  await createOnce(store, 3);
  disk.write(PATH, '[]');
  disk.write(KEYS, 'of that snapshot');
  await store.close();
  assert.equal(disk.read(KEYS).toString(), 'of that snapshot');
});

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
