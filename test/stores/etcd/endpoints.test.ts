/** The table in endpoints.ts: the endpoint that is asked, what is logged, and a lost cluster. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Endpoints } from '../../../src/stores/etcd/endpoints.ts';
import { Member } from '../../../src/stores/etcd/member.ts';

const EVENTS: Readonly<Record<string, string>> = {
  'An etcd endpoint fails': 'fails',
  'An etcd endpoint works again': 'works',
  'An etcd endpoint belongs to another cluster': 'strange',
};

/**
 * What happens to the endpoints a, b and c: `fa` a fails, `sa` it belongs to another cluster, `wa`
 * it answers, and `+9` nine seconds pass.
 */
const ROWS: readonly (readonly [
  what: string,
  happens: string,
  asked: string,
  log: string,
  isLost?: boolean,
])[] = [
  ['The first endpoint is asked', '', 'a', ''],
  ['After a failure the next one is asked', 'fa', 'b', 'a fails'],
  ['A failure is logged once', 'fa fa', 'b', 'a fails'],
  ['The failure of another one is only logged', 'fa fc', 'b', 'a fails, c fails'],
  ['After the last comes the first', 'fa fb fc', 'a', 'a fails, b fails, c fails'],
  ['A failed one works again after ten seconds', 'fa +10 wa', 'b', 'a fails, a works'],
  ['A failed one does not work again earlier', 'fa +9 wa', 'b', 'a fails'],
  [
    'One that works again is asked after the others fail',
    'fa +10 wa fb fc',
    'a',
    'a fails, a works, b fails, c fails',
  ],
  ['One of another cluster is not asked', 'sa sa', 'b', 'a strange'],
  ['One of another cluster may come back immediately', 'sa wa', 'b', 'a strange, a works'],
  ['The cluster is lost after ten seconds', 'sa +1 sb +9', 'c', 'a strange, b strange', true],
  ['The cluster is not lost earlier', 'sa +1 sb +8.9', 'c', 'a strange, b strange'],
  [
    'Failures do not bring the cluster back',
    'sa sb +10 fa fb fc',
    'a',
    'a strange, b strange, c fails',
    true,
  ],
  ['A check brings the cluster back', 'sa sb +10 wa', 'c', 'a strange, b strange, a works'],
  ['One of three does not lose the cluster', 'sa +99', 'b', 'a strange'],
];

for (const [what, happens, asked, log, isLost = false] of ROWS) {
  test(`${what}: after "${happens}" ${asked} is asked, the log has "${log}"`, () => {
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
  const endpoints = new Endpoints(
    all,
    () => seconds * 1000,
    (_level, event, details) =>
      lines.push(`${String(details?.['endpoint']).slice(-1)} ${EVENTS[event]}`),
  );
  endpoints.clusterId = '1';
  for (const step of happens.split(' ').filter((part) => part !== '')) {
    const endpoint = all.find(({ url }) => url.at(-1) === step[1])!;
    if (step.startsWith('+')) seconds += Number(step);
    else if (step.startsWith('f')) endpoints.failed(endpoint, 'x');
    else if (step.startsWith('s')) endpoints.responded(endpoint, '2');
    else endpoints.responded(endpoint, '1');
  }
  return { endpoints, lines };
}
