/** Which endpoint is asked, what is logged of it, and when the cluster is lost: row by row. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Endpoints } from '../../../src/stores/etcd/endpoints.ts';

interface Life {
  readonly endpoints: Endpoints;
  readonly lines: string[];
  seconds: number;
}

function live(count: number): Life {
  const lines: string[] = [];
  const urls = [...'abcde'].slice(0, count);
  const life: Life = {
    endpoints: new Endpoints(
      urls,
      () => life.seconds * 1000,
      (_level, event, details) => lines.push(`${String(details?.['endpoint'])}: ${event}`),
    ),
    lines,
    seconds: 0,
  };
  return life;
}

test('An endpoint that fails is left for the next one, and logged once', () => {
  const { endpoints, lines } = live(3);
  assert.equal(endpoints.current, 0);
  endpoints.failed(0, 'x');
  assert.equal(endpoints.current, 1);
  // One that is not asked is logged, too, and nothing is left for it.
  endpoints.failed(0, 'x');
  endpoints.failed(2, 'x');
  assert.equal(endpoints.current, 1);
  endpoints.failed(1, 'x');
  endpoints.failed(2, 'x');
  assert.equal(endpoints.current, 0);
  assert.deepEqual(
    lines,
    ['a', 'c', 'b'].map((url) => `${url}: An etcd endpoint fails`),
  );
});

test('An endpoint works again after ten seconds, if the cluster has answered meanwhile', () => {
  for (const [seconds, hasAnswered, isAgain] of [
    [11, true, true],
    [9, true, false],
    [11, false, false],
  ] as const) {
    const life = live(2);
    life.endpoints.answered();
    life.seconds = 1;
    life.endpoints.failed(0, 'x');
    life.seconds = 2;
    if (hasAnswered) life.endpoints.answered();
    life.seconds = 1 + seconds;
    life.endpoints.works(0);
    const again = life.lines.includes('a: An etcd endpoint works again');
    assert.equal(again, isAgain, `${seconds} s, ${hasAnswered}`);
  }
});

test('The nearest endpoint that works is chosen, if it is much nearer', () => {
  const cases: readonly (readonly [readonly (number | undefined)[], number])[] = [
    [[10, 2, 3], 1],
    [[10, 5, 6], 0],
    [[1.9, 0.5, 0.5], 0],
    [[50, undefined, 2], 2],
    [[undefined, 9, 8], 2],
    [[undefined, undefined, undefined], 0],
  ];
  for (const [roundTripsMs, expected] of cases) {
    const { endpoints } = live(3);
    endpoints.chooseNearest(roundTripsMs);
    assert.equal(endpoints.current, expected, roundTripsMs.join(', '));
  }
  const { endpoints } = live(3);
  endpoints.failed(1, 'x');
  endpoints.chooseNearest([50, 1, 2]);
  assert.equal(endpoints.current, 2, 'one that failed is not chosen');
});

test('The cluster is lost ten seconds after the first of most endpoints became strange', () => {
  for (const [count, most] of [
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
  ] as const) {
    const life = live(count);
    const { endpoints } = life;
    for (let i = 0; i < most; i += 1) {
      assert.equal(endpoints.isOtherCluster, false);
      life.seconds = i;
      endpoints.strange(i, 'x');
    }
    life.seconds = 9.9;
    assert.equal(endpoints.isOtherCluster, false);
    life.seconds = 10;
    assert.equal(endpoints.isOtherCluster, true);
    // One that gives no answer changes nothing.
    for (let i = 0; i < count; i += 1) endpoints.failed(i, 'x');
    assert.equal(endpoints.isOtherCluster, true);
    endpoints.works(0);
    assert.equal(endpoints.isOtherCluster, false, 'one that belongs to the cluster again does');
  }
  const few = live(3);
  few.endpoints.strange(0, 'x');
  few.seconds = 100;
  assert.equal(few.endpoints.isOtherCluster, false);
});

test('An endpoint of another cluster is logged once, and when it is back', () => {
  const { endpoints, lines } = live(2);
  endpoints.strange(0, 'x');
  endpoints.strange(0, 'x');
  assert.equal(endpoints.current, 1);
  endpoints.works(0);
  assert.deepEqual(lines, [
    'a: An etcd endpoint belongs to another cluster',
    'a: An etcd endpoint works again',
  ]);
});
