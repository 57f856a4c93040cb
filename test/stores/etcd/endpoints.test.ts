/** The table in endpoints.ts: which endpoint is asked, what is logged, and when the cluster is lost. */

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

test('After an endpoint fails the next one is asked, and the failure is logged once', () => {
  const { endpoints, lines } = live(3);
  assert.equal(endpoints.current, 0);
  endpoints.failed(0, 'x');
  assert.equal(endpoints.current, 1);
  // The failure of an endpoint that is not asked is logged, too, and changes nothing else.
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

test('An endpoint works again after ten seconds, if the cluster has answered since', () => {
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

test('The cluster is lost ten seconds after the first endpoint of most became strange', () => {
  for (const [count, most] of [
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
  ] as const) {
    const life = live(count);
    const { endpoints } = life;
    for (let i = 0; i < most - 1; i += 1) endpoints.strange(i, 'x');
    life.seconds = 100;
    assert.equal(endpoints.isOtherCluster, false, `${most - 1} of ${count} are not most`);
    const late = live(count);
    for (let i = 0; i < most; i += 1) {
      late.seconds = i;
      late.endpoints.strange(i, 'x');
    }
    late.seconds = 9.9;
    assert.equal(late.endpoints.isOtherCluster, false);
    late.seconds = 10;
    assert.equal(late.endpoints.isOtherCluster, true);
    // An endpoint that does not answer changes nothing.
    for (let i = 0; i < count; i += 1) late.endpoints.failed(i, 'x');
    assert.equal(late.endpoints.isOtherCluster, true);
    late.endpoints.works(0);
    assert.equal(late.endpoints.isOtherCluster, false, 'one belongs to the cluster again');
  }
});

test('An endpoint of another cluster is logged once, and so is its return', () => {
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
