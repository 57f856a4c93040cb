/** Group commit, as far as creates.script does not show it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommitQueue } from '../../src/stores/commit-queue.ts';

test('Items that are refused while a commit is prepared are in no commit', async () => {
  const commits: (readonly number[])[] = [];
  const queue: CommitQueue<number, number> = new CommitQueue(async (take) => {
    // Both items wait then.
    await Promise.resolve();
    queue.refuse((item) => item < 2, new Error('refused'));
    const items = take();
    if (items.length > 0) commits.push(items);
    return items.map((result) => ({ result }));
  }, 1);
  await assert.rejects(queue.add(0, 64 << 20), /refused/);
  assert.equal(queue.isFull, false);
  const [one, two] = [queue.add(1, 1), queue.add(2, 1)];
  await assert.rejects(one, /refused/);
  assert.equal(await two, 2);
  assert.deepEqual(commits, [[2]]);
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
