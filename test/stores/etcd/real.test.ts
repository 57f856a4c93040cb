/** The etcd store on three real members keeps the contract of PetStore. */

import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { gateway, startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';

if (withoutEtcd !== false) {
  test('The etcd store on real members', { skip: withoutEtcd }, () => undefined);
} else {
  const cluster = await startCluster({ after });
  let prefixes = 0;

  testPetStoreContract(
    'The etcd store on three real members',
    () => {
      const prefix = `contract-${(prefixes += 1)}/`;
      return () => openInitialized({ endpoints: cluster.endpoints, prefix });
    },
    { isDurable: true },
  );

  test('The simulated etcd answers as the real one does', async () => {
    const simulated = new SimulatedEtcd();
    const endpoint = cluster.endpoints[0] ?? '';
    const key = (name: string): string => Buffer.from(`same/${name}`).toString('base64');
    const value = Buffer.from('a value').toString('base64');
    const empty = { compare: [], success: [], failure: [] };
    const look = { request_range: { key: key('a') } };
    const all = { key: key(''), range_end: key('~') };
    const putA = { request_put: { key: key('a'), value } };
    const putB = { request_put: { key: key('b'), value: '' } };
    const absent = (name: string): object => ({
      ...{ target: 'CREATE', result: 'EQUAL', key: key(name), create_revision: '0' },
    });
    const is = (name: string, text: string): object => ({
      ...{ target: 'VALUE', result: 'EQUAL', key: key(name), value: text },
    });
    const order = (name: string, result: string, text: string): object => ({
      ...{ target: 'VALUE', result, key: key(name), value: Buffer.from(text).toString('base64') },
    });
    const range = { target: 'CREATE', result: 'EQUAL', ...all, create_revision: '0' };
    const txns: readonly object[] = [
      empty,
      { ...empty, success: [look] },
      { compare: [is('a', value)], success: [], failure: [look] },
      { compare: [range, absent('a')], success: [putA], failure: [look] },
      { compare: [range, absent('a')], success: [putA], failure: [look] },
      { compare: [absent('a')], success: [putB], failure: [look] },
      { compare: [absent('b')], success: [putB], failure: [look] },
      { compare: [is('a', value)], success: [look], failure: [] },
      ...['a', 'a valu', 'a value', 'a value ', 'b'].flatMap((text) =>
        ['GREATER', 'LESS'].map((result) => ({
          ...{ compare: [order('a', result, text), order('a', result, text)] },
          ...{ success: [look], failure: [] },
        })),
      ),
      { compare: [order('none', 'LESS', 'a')], success: [look], failure: [] },
      { compare: [is('b', value)], success: [look], failure: [{ request_range: all }] },
      { ...empty, success: [{ request_range: { ...all, limit: '1' } }] },
      { ...empty, success: [{ request_range: { ...all, keys_only: true } }, look] },
      { ...empty, success: [{ request_range: { key: key('x'), range_end: key('y') } }] },
      { compare: [], success: [putA], failure: [] },
      { ...empty, success: [look] },
    ];
    let first: bigint | undefined;
    for (const txn of txns) {
      const text = JSON.stringify(txn);
      const expected = JSON.parse(await gateway(endpoint, '/v3/kv/txn', text)) as Answer;
      const found = JSON.parse(simulated.txn(text)) as Answer;
      first ??= BigInt(expected.header.revision) - simulated.revision;
      assert.deepEqual(plain(found, 0n), plain(expected, first), text);
    }
  });
}

interface Answer {
  readonly header: { readonly revision: string };
}

/** The answer without what belongs to a cluster, its revisions counted from the same one. */
function plain(answer: Answer, first: bigint): unknown {
  return JSON.parse(
    JSON.stringify(answer, (name, value: unknown) => {
      if (['cluster_id', 'member_id', 'raft_term'].includes(name)) return undefined;
      return name.endsWith('revision') ? String(BigInt(value as string) - first) : value;
    }),
  );
}
