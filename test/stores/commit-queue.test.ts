/** Group commit, as far as creates.script does not show it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommitQueue } from '../../src/core/store/commit-queue.ts';

test('A queue with 64 MiB of items refuses one more, and takes it after a commit', async () => {
  const queue = new CommitQueue<number, number>(
    async (take) => take().map((result) => ({ result })),
    1,
  );
  const full = /^StoreUnavailableError: Too many pets are waiting to be stored$/;
  const long = queue.add(0, 64 << 20);
  await assert.rejects(queue.add(1, 1), full);
  assert.equal(await long, 0);
  const release = queue.hold(64 << 20);
  await assert.rejects(queue.add(1, 1), full);
  release();
  assert.equal(await queue.add(2, 1), 2);
});

test('If a commit throws, all its items fail, and the queue continues', async () => {
  let fails = true;
  const queue = new CommitQueue<number, number>(async (take) => {
    if (fails) throw new Error('A planted fault');
    return take().map((result) => ({ result }));
  }, 1);
  await assert.rejects(queue.add(1, 1), /A planted fault/);
  fails = false;
  assert.equal(await queue.add(2, 1), 2);
});
