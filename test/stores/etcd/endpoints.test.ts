/** The table in endpoints.ts: the endpoint that is asked, what is logged, and a lost cluster. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Logger } from '../../../src/core/base/logger.ts';
import { Endpoints } from '../../../src/extras/etcd/endpoints.ts';
import { Member } from '../../../src/extras/etcd/member.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';

const EVENTS: Readonly<Record<string, string>> = {
  'An etcd endpoint fails': 'fails',
  'An etcd endpoint works again': 'works',
  'An etcd endpoint belongs to another cluster': 'strange',
};

/**
 * What happens to the endpoints a, b and c: `fa` a fails, `sa` it belongs to another cluster, `wa`
 * it responds, and `+9` nine seconds pass. Then which one is asked, and what the log has.
 */
const ROWS: readonly [happens: string, asked: string, log: string, isLost?: boolean][] = [
  ['', 'a', ''],
  ['fa', 'b', 'a fails'],
  ['fa fa', 'b', 'a fails'],
  ['fa fc', 'b', 'a fails, c fails'],
  ['fa fb fc', 'a', 'a fails, b fails, c fails'],
  ['fa +10 wa', 'b', 'a fails, a works'],
  ['fa +9 wa', 'b', 'a fails'],
  ['fa +10 wa fb fc', 'a', 'a fails, a works, b fails, c fails'],
  ['sa sa', 'b', 'a strange'],
  ['sa wa sa wa +9 wa', 'b', 'a strange'],
  ['sa +10 wa', 'b', 'a strange, a works'],
  ['sa +1 sb +9', 'c', 'a strange, b strange', true],
  ['sa +1 sb +8.9', 'c', 'a strange, b strange'],
  ['sa sb +10 fa fb fc', 'a', 'a strange, b strange, c fails', true],
  ['sa sb +10 wa', 'c', 'a strange, b strange, a works'],
  ['sa sb wa +10', 'c', 'a strange, b strange'],
  ['sa sb wa +10 sa', 'c', 'a strange, b strange', true],
  ['sa +99', 'b', 'a strange'],
];

for (const [happens, asked, log, isLost = false] of ROWS) {
  test(`After "${happens}" ${asked} is asked, and the log has "${log}"`, () => {
    const { endpoints, lines } = live(3, happens);
    assert.equal(endpoints.current.url, `http://${asked}`);
    assert.equal(lines.join(', '), log);
    assert.equal(endpoints.isOtherCluster, isLost);
  });
}

test('Two of four strange endpoints do not lose the cluster, and three do', () => {
  assert.equal(live(4, 'sa sb +99').endpoints.isOtherCluster, false);
  assert.equal(live(4, 'sa sb sc +10').endpoints.isOtherCluster, true);
});

function live(count: number, happens: string) {
  const lines: string[] = [];
  let seconds = 0;
  const all = [...'abcde'].slice(0, count).map((host) => {
    return new Member(`http://${host}`, { endpoints: [] });
  });
  const log: Logger = (_level, event, { endpoint } = {}) =>
    lines.push(`${String(endpoint).slice(-1)} ${EVENTS[event]}`);
  const endpoints = new Endpoints(all, () => seconds * 1000, log);
  endpoints.clusterId = '1';
  for (const step of happens.split(' ')) {
    const endpoint = all.find(({ url }) => url.at(-1) === step[1])!;
    if (step.startsWith('+')) seconds += Number(step);
    else if (step.startsWith('f')) endpoints.failed(endpoint, 'x');
    else if (step !== '') {
      const clusterId = step.startsWith('s') ? '2' : '1';
      endpoints.responded(endpoint, { ...new SimulatedEtcd().txn({}), clusterId });
    }
  }
  return { endpoints, lines };
}
