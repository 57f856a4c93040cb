/** Group commit: which items share a commit, what is bounded, and that each has an outcome. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CommitQueue, type Outcome } from '../../../src/stores/commit-queue.ts';

/** A queue whose commits wait until they are let go. */
function held(): {
  readonly queue: CommitQueue<number, string>;
  readonly commits: (readonly number[])[];
  go(): Promise<void>;
} {
  const commits: (readonly number[])[] = [];
  const waiting: (() => void)[] = [];
  const queue = new CommitQueue<number, string>(async (items) => {
    commits.push(items);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return items.map((item): Outcome<string> =>
      item < 0 ? { error: new Error(String(item)) } : { result: `stored ${item}` },
    );
  });
  return {
    queue,
    commits,
    async go() {
      waiting.shift()!();
      await nextTurn();
    },
  };
}

test('Items that are added in one turn share a commit, and each has its own outcome', async () => {
  const { queue, commits, go } = held();
  const callers = [1, -2, 3].map(async (item) => {
    // Callers that an earlier commit has answered, or whose requests came together.
    await undefined;
    return queue.add(item, 1);
  });
  await nextTurn();
  assert.deepEqual(commits, [[1, -2, 3]]);
  const results = Promise.allSettled(callers);
  await go();
  assert.deepEqual(await results, [
    { status: 'fulfilled', value: 'stored 1' },
    { status: 'rejected', reason: new Error('-2') },
    { status: 'fulfilled', value: 'stored 3' },
  ]);
});

test('Items that arrive during a commit share the next one, and whenIdle waits for all', async () => {
  const { queue, commits, go } = held();
  const results = [queue.add(1, 1)];
  await nextTurn();
  results.push(...[2, 3, 4].map((item) => queue.add(item, 1)));
  let commitsAtIdle = 0;
  const whenIdle = queue.whenIdle().then(() => (commitsAtIdle = commits.length));
  assert.deepEqual([queue.length, queue.pendingCount], [3, 4]);
  await go();
  assert.equal(await results[0], 'stored 1');
  const late = queue.add(5, 1);
  await go();
  await go();
  assert.deepEqual(commits, [[1], [2, 3, 4], [5]]);
  assert.deepEqual(
    await Promise.all(results),
    [1, 2, 3, 4].map((item) => `stored ${item}`),
  );
  assert.equal(await late, 'stored 5');
  await whenIdle;
  assert.equal(commitsAtIdle, 3);
  assert.deepEqual([queue.length, queue.pendingCount], [0, 0]);
});

test('16,384 items, or 64 MiB, may wait for the current commit, and make room again', async () => {
  for (const [bytes, most] of [
    [1, 16_384],
    [1 << 20, 64],
    [64 << 20, 1],
  ] as const) {
    const { queue, go } = held();
    void queue.add(0, 1);
    await nextTurn();
    for (let count = 0; count < most; count += 1) {
      assert.equal(queue.isFull, false, `${count} of ${bytes} bytes`);
      void queue.add(count, bytes);
    }
    assert.equal(queue.isFull, true);
    await go();
    assert.equal(queue.isFull, false);
  }
});

test('A commit takes up to 16 MiB, and at least one item', async () => {
  const { queue, commits, go } = held();
  void queue.add(0, 1);
  await nextTurn();
  for (const [item, mib] of [7, 7, 7, 7, 9, 1, 60, 1].entries())
    void queue.add(item + 1, mib << 20);
  for (let count = 0; count < 5; count += 1) await go();
  // 7 + 7 MiB have room for one more, 7 + 9 are full, and 60 are more than full.
  assert.deepEqual(commits, [[0], [1, 2, 3], [4, 5], [6, 7], [8]]);
});

test('Items that are refused while a commit is prepared are in no commit', async () => {
  const commits: (readonly number[])[] = [];
  const queue: CommitQueue<number, number> = new CommitQueue(
    async (items) => {
      commits.push(items);
      return items.map((result) => ({ result }));
    },
    {
      async beforeCommit() {
        // Both items wait then.
        await Promise.resolve();
        queue.refuse((item) => item < 2, new Error('refused'));
      },
    },
  );
  await assert.rejects(queue.add(0, 64 << 20), /refused/);
  assert.equal(queue.isFull, false);
  const [one, two] = [queue.add(1, 1), queue.add(2, 1)];
  await assert.rejects(one, /refused/);
  assert.equal(await two, 2);
  assert.deepEqual(commits, [[2]]);
});

test('If a commit throws, all its items fail, and the queue continues', async () => {
  let fails = true;
  const queue = new CommitQueue<number, number>(async (items) => {
    if (fails) throw new Error('A planted fault');
    return items.map((result) => ({ result }));
  });
  await assert.rejects(queue.add(1, 1), /A planted fault/);
  fails = false;
  assert.equal(await queue.add(2, 1), 2);
});

test('An item that waits for another outcome counts towards both bounds until it is released', async () => {
  const { queue } = held();
  const releases = Array.from({ length: 16_384 }, () => queue.hold(1));
  assert.equal(queue.isFull, true);
  releases.pop()?.();
  assert.equal(queue.isFull, false);
  for (const release of releases) release();
  const large = queue.hold(64 << 20);
  assert.equal(queue.isFull, true);
  large();
  assert.deepEqual([queue.isFull, queue.length, queue.pendingCount], [false, 0, 0]);
});
