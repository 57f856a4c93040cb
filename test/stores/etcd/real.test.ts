/** Real members answer as the simulated etcd of other tests does, and as the store needs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeTxnResponse } from '../../../src/stores/etcd/etcd-json.ts';
import { base64, startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';

const key = (name: string): string => base64(`same/${name}`);
const value: string = base64('a value');
const empty = { compare: [], success: [], failure: [] } as const;
const look = { request_range: { key: key('a') } } as const;
const all = { key: key(''), range_end: key('~') } as const;
const putA = { request_put: { key: key('a'), value } } as const;
const putB = { request_put: { key: key('b'), value: '' } } as const;
const range = { target: 'CREATE', result: 'EQUAL', ...all, create_revision: '0' } as const;

const absent = (name: string): object => ({
  ...{ target: 'CREATE', result: 'EQUAL', key: key(name), create_revision: '0' },
});

const compare = (name: string, result: string, text: string): object => ({
  ...{ target: 'VALUE', result, key: key(name), value: text },
});

/** Each kind of transaction that the store sends, one after the other. */
const TXNS: readonly object[] = [
  empty,
  { ...empty, success: [look] },
  { ...empty, compare: [compare('a', 'EQUAL', value)], failure: [look] },
  { compare: [range, absent('a')], success: [putA], failure: [look] },
  { compare: [range, absent('a')], success: [putA], failure: [look] },
  { compare: [absent('a')], success: [putB], failure: [look] },
  { compare: [absent('b')], success: [putB], failure: [look] },
  { ...empty, compare: [compare('a', 'EQUAL', value)], success: [look] },
  ...['a', 'a valu', 'a value', 'a value ', 'b'].flatMap((text) =>
    ['GREATER', 'LESS'].map((result) => ({
      ...{ ...empty, compare: [compare('a', result, base64(text))], success: [look] },
    })),
  ),
  { ...empty, compare: [compare('none', 'LESS', base64('a'))], success: [look] },
  {
    ...{ compare: [compare('b', 'EQUAL', value)], success: [look] },
    failure: [{ request_range: all }],
  },
  { ...empty, success: [{ request_range: { ...all, limit: '1' } }] },
  { ...empty, success: [{ request_range: { ...all, keys_only: true } }, look] },
  { ...empty, success: [{ request_range: { key: key('x'), range_end: key('y') } }] },
  { ...empty, success: [putA] },
  { ...empty, success: [look] },
];

test(
  'The simulated etcd answers each transaction as a real one does',
  { skip: withoutEtcd },
  async (t) => {
    const cluster = await startCluster(t, { size: 1 });
    const simulated = new SimulatedEtcd();
    for (const txn of TXNS) {
      const real = decodeTxnResponse(await cluster.call('/v3/kv/txn', txn));
      const expected = real && { ...real, clusterId: '1' };
      const text = JSON.stringify(txn);
      assert.deepEqual(decodeTxnResponse(simulated.txn(text)), expected, text);
    }
  },
);
