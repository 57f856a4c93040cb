/**
 * The etcd store on a real member, or on three with --all: random requests, a comparison with the
 * simulated etcd of other tests, and, with --all, the contract of PetStore.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { base64, startCluster, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { isWhole, rounds } from '../../support/extent.ts';
import { fuzz } from '../../support/http/fuzz.ts';

const cluster: Cluster | undefined =
  withoutEtcd === false ? await startCluster({ after }, { size: rounds(1, 3) }) : undefined;
const endpoints = cluster?.endpoints ?? [];
const skip = withoutEtcd;

if (isWhole && cluster !== undefined) {
  let prefixes = 0;
  const openNew = (): (() => ReturnType<typeof openInitialized>) => {
    const prefix = `contract-${(prefixes += 1)}/`;
    return () => openInitialized({ endpoints, prefix });
  };
  testPetStoreContract('The etcd store on real members', openNew, { isDurable: true });
}

test('An etcd store has each pet that random requests have created', { skip }, async (t) => {
  await initEtcd({ endpoints });
  await fuzz(t, {
    options: { etcd: { endpoints } },
    count: Number(process.env['FUZZ_COUNT'] ?? rounds(1_000, 8_000)),
    async storedPets() {
      // A new process reads the whole log.
      const store = await openEtcdStore({ endpoints });
      const stored = new Map<number, string>();
      for (let after: bigint | undefined = 0n; after !== undefined;) {
        const page = await store.list({ limit: 1000, after });
        for (const { id, text } of page.pets) {
          stored.set(Number(id), Buffer.from(text).toString('latin1'));
        }
        after = page.next;
      }
      await store.close();
      return stored;
    },
  });
});

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

test('The simulated etcd answers each transaction as a real one does', { skip }, async () => {
  const simulated = new SimulatedEtcd();
  let first: bigint | undefined;
  for (const txn of TXNS) {
    const expected = JSON.parse((await cluster?.call('/v3/kv/txn', txn)) ?? '') as TxnResponse;
    const found = JSON.parse(simulated.txn(JSON.stringify(txn))) as TxnResponse;
    first ??= BigInt(expected.header.revision) - simulated.revision;
    assert.deepEqual(plain(found, 0n), plain(expected, first), JSON.stringify(txn));
  }
});

interface TxnResponse {
  readonly header: { readonly revision: string };
}

/** The response without what differs between clusters, its revisions counted from the same one. */
function plain(response: TxnResponse, first: bigint): unknown {
  return JSON.parse(
    JSON.stringify(response, (name, part: unknown) => {
      if (['cluster_id', 'member_id', 'raft_term'].includes(name)) return undefined;
      return name.endsWith('revision') ? String(BigInt(part as string) - first) : part;
    }),
  );
}
