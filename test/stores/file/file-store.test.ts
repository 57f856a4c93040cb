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
import { testStoreScript } from '../../support/disk/store-script.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

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
// Releases 1.1 and 1.2 wrote these files.
testStoreScript('stores/file/upgrades.script');

test('Without files the store makes its folders, and a data file of its own', async (t) => {
  const dataFiles = new Set<string>();
  for (const name of ['a', 'b']) {
    const path = join(tempDir(t), name, 'c', 'pets.json');
    await (await openFileStore({ path })).close();
    assert.deepEqual(readdirSync(dirname(path)).sort(), ['pets.json', 'pets.json.lock']);
    dataFiles.add(readFileSync(path, 'latin1'));
  }
  // Else the journal of one new data file would fit the other one.
  assert.equal(dataFiles.size, 2);
});

test('Clients get no path of Windows either, and texts that only look like one', () => {
  const windows = new Error('C:\\pets.json is not a file');
  assert.equal(clientMessage(windows), 'the log shows the cause');
  assert.equal(clientMessage('no i/o, but a, b'), 'no i/o, but a, b');
});
