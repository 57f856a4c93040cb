/** Group commit, as far as creates.script does not show it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredPet } from '../../src/core/pets/pet.ts';
import { CommitQueue } from '../../src/core/store/commit-queue.ts';
import { petText } from '../support/pets/rex.ts';

const PET: StoredPet = { id: 1n, text: petText(1) };

test('A queue with 64 MiB of items refuses one more, and takes it after a commit', async () => {
  const queue = new CommitQueue<StoredPet>(async (take) => take(), 1);
  const full = /^StoreUnavailableError: Too many pets are waiting to be stored$/;
  const long = queue.add(PET, 64 << 20);
  await assert.rejects(queue.add(PET, 1), full);
  assert.equal(await long, PET);
  const release = queue.hold(64 << 20);
  await assert.rejects(queue.add(PET, 1), full);
  release();
  assert.equal(await queue.add(PET, 1), PET);
});

test('If a commit throws, all its items fail, and the queue continues', async () => {
  let fails = true;
  const queue = new CommitQueue<StoredPet>(async (take) => {
    if (fails) throw new Error('A planted fault');
    return take();
  }, 1);
  await assert.rejects(queue.add(PET, 1), /A planted fault/);
  fails = false;
  assert.equal(await queue.add(PET, 1), PET);
});
