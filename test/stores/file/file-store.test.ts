/**
 * The file store: the contract of a PetStore on real files; its scripts, which say what happens to
 * the log, and what a start does with the files; and what becomes of creates that wait.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { clientMessage } from '../../../src/stores/failure-report.ts';
import { petText, REX } from '../../support/disk/journal-text.ts';
import { copyOf, createMemoryDisk, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import { testStoreScript } from '../../support/disk/store-script.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const SNAPSHOT = '/d/pets.json';
const JOURNAL = `${SNAPSHOT}.journal`;

testPetStoreContract(
  'The file store',
  (t) => {
    const path = join(tempDir(t), 'pets.json');
    return () => openFileStore({ path });
  },
  { isDurable: true },
);

testStoreScript('stores/file/check.script');
testStoreScript('stores/file/file-log.script');
testStoreScript('stores/file/creates.script');
testStoreScript('stores/file/recovery.script');
// Releases 1.0 to 1.2 wrote these files.
testStoreScript('stores/file/upgrades.script');

test('Without files the store makes its folders, and a snapshot of its own', async (t) => {
  const snapshots = new Set<string>();
  for (const name of ['a', 'b']) {
    const path = join(tempDir(t), name, 'c', 'pets.json');
    await (await openFileStore({ path })).close();
    assert.deepEqual(readdirSync(dirname(path)).sort(), ['pets.json', 'pets.json.lock']);
    snapshots.add(readFileSync(path, 'latin1'));
  }
  // Else the journal of one new data file would fit the other one.
  assert.equal(snapshots.size, 2);
});

test('A start merges many short commits into lines of at most 1,024 pets and 1 MiB', async () => {
  const pets = Array.from({ length: 2600 }, (_, index) => petText(index + 1));
  const disk = createMemoryDisk({ [SNAPSHOT]: `[${pets.join()}]` });
  const store = await openFileStore({ path: SNAPSHOT, disk });
  for (let count = 0; count < 2500; count += 1) await store.create(REX);
  const [key, name] = ['a'.repeat(32), 'x'.repeat(400_000)];
  await store.createOnce({ ...REX, name }, key);
  for (let count = 0; count < 2; count += 1) await store.create({ ...REX, name });
  await store.create({ ...REX, name: 'x'.repeat(1_000_000) });
  const killed = copyOf(disk);
  const again = await openFileStore({ path: SNAPSHOT, disk: killed });
  assert.equal(again.count().total, 5104);
  assert.deepEqual(petsPerLine(killed), [0, 1024, 1024, 454, 1, 1]);
  assert.equal((await again.createOnce({ ...REX, name }, key)).isReplayed, true);
});

/** How many pets each line of the journal has; none of them above a megabyte, unless it has one. */
function petsPerLine(disk: MemoryDisk): readonly number[] {
  const lines = disk.read(JOURNAL).toString('latin1').split('\n').slice(0, -1);
  return lines.map((line) => {
    const pets = line.split('{"id":').length - 1;
    assert.ok(pets <= 1 || line.length <= 1 << 20, `${line.length} bytes`);
    return pets;
  });
}

test('Clients get no path of Windows either, and texts that only look like one', () => {
  const windows = new Error('C:\\pets.json is not a file');
  assert.equal(clientMessage(windows), 'the log shows the cause');
  assert.equal(clientMessage('no i/o, but a, b'), 'no i/o, but a, b');
});
