/** Real members answer as the simulated etcd of other tests does, and as the store needs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as json from '../../../src/extras/etcd/etcd-json.ts';
import { needsEtcd, startCluster } from '../../support/etcd/cluster.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';

const { ifAbsent, ifValue, put, range } = json;
const [a, b, none] = ['same/a', 'same/b', 'same/none'] as const;
const all = ['same/', 'same0'] as const;
const value = Buffer.from('a value');
const space = Buffer.from('a ');
const putA = { compare: [ifAbsent(...all), ifAbsent(a)], success: [put(a, value)] } as const;

/** Each kind of transaction that the store sends, one after the other. */
const TXNS: readonly json.Txn[] = [
  {},
  { success: [range(a)] },
  { compare: [ifValue(a, value)], failure: [range(a)] },
  ...[putA, putA].map((txn) => ({ ...txn, failure: [range(a)] })),
  { compare: [ifAbsent(a)], success: [put(b, space)], failure: [range(a)] },
  { compare: [ifAbsent(b)], success: [put(b, space)], failure: [range(a)] },
  { compare: [ifValue(a, value)], success: [range(a)] },
  ...[a, b, none].flatMap((key) =>
    ['', 'a', 'a valu', 'a value', 'b'].flatMap((text) => [
      { compare: [ifValue(key, text, 'GREATER')], success: [range(key)] },
      { compare: [ifValue(key, text, 'LESS')], success: [range(key)] },
    ]),
  ),
  { compare: [ifValue(b, value)], success: [range(a)], failure: [range(...all)] },
  { success: [range(...all, 1)] },
  { success: [range(...all), range(a)] },
  { success: [range('same/x', 'same/y')] },
  { success: [put(a, Buffer.of())] },
  { success: [range(a)] },
];

test('The simulated etcd answers each transaction as a real one does', needsEtcd, async (t) => {
  const cluster = await startCluster(t, { size: 1 });
  const simulated = new SimulatedEtcd();
  for (const txn of TXNS) {
    const real = json.decodeResponse(await cluster.call('/v3/kv/txn', txn));
    const expected = { ...real, clusterId: '1', memberId: '1' };
    assert.deepEqual(simulated.txn(txn), expected, JSON.stringify(txn));
  }
});
