/** A damaged or replaced log: a running store ends its work, and a start is refused. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openEtcdStore, type EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { digestOf, encodeMeta, encodeValue } from '../../../src/stores/etcd/slots.ts';
import { simulatedCalls } from '../../support/etcd/simulated-calls.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';

const rex = { name: 'Rex', categoryId: 7n } as const;
const endpoints = ['http://127.0.0.1:2379'];

async function open(t: TestContext, etcd: SimulatedEtcd): Promise<EtcdStore> {
  const clock = new VirtualClock();
  const calls = simulatedCalls(etcd, () => clock.sleep(1).then(() => 'answered' as const));
  const store = await openEtcdStore({ endpoints, calls, clock });
  t.after(() => store.close());
  return store;
}

/** Makes an etcd with three commits; returns its store and the keys of their slots, too. */
async function withPets(t: TestContext): Promise<[SimulatedEtcd, EtcdStore, readonly string[]]> {
  const etcd = new SimulatedEtcd();
  await initEtcd({ endpoints, calls: simulatedCalls(etcd) });
  const store = await open(t, etcd);
  for (let i = 0; i < 3; i += 1) await store.create(rex);
  return [etcd, store, [...etcd.entries.keys()].filter((key) => key.includes('/c/'))];
}

/** Replaces the value of a key, as an operator could. */
function overwrite(etcd: SimulatedEtcd, key: string, value: Buffer | string): void {
  const text = (part: Buffer | string): string => Buffer.from(part).toString('base64');
  const put = { request_put: { key: text(key), value: text(value) } };
  etcd.txn(JSON.stringify({ compare: [], success: [put], failure: [] }));
}

test('Each commit writes one key, once', async (t) => {
  const [etcd] = await withPets(t);
  const zeros = '0'.repeat(18);
  assert.deepEqual(
    [...etcd.entries.keys()].sort(),
    [0, 1, 2].map((id) => `petstore/c/${zeros}${id}`).concat('petstore/meta'),
  );
  assert.ok([...etcd.entries.values()].every(({ version }) => version === 1n));
});

type Damage = (etcd: SimulatedEtcd, slots: readonly string[]) => unknown;

const put =
  (key: string, value: Buffer | string): Damage =>
  (etcd) =>
    overwrite(etcd, `petstore/${key}`, value);
const NEXT_SLOT = `c/${'3'.padStart(19, '0')}`;
const LOST = /is not the one/;

/** A damage, and what a running store and a start report; undefined if it is unnoticed. */
const DAMAGES: readonly (readonly [
  what: string,
  damage: Damage,
  whileRunning: RegExp | undefined,
  atStart?: RegExp,
])[] = [
  ['its last slot was deleted', (etcd, slots) => etcd.entries.delete(slots[2] ?? ''), LOST],
  [
    'it was restored, and another process took its last slot at the same revision',
    (etcd, [, , slot = '']) => {
      const { revision } = etcd;
      const value = etcd.entries.get(slot)?.value ?? '';
      etcd.entries.delete(slot);
      etcd.revision -= 1n;
      overwrite(etcd, slot, encodeValue(digestOf('x'), '{"after":2,"pets":[]}'));
      assert.equal(etcd.revision, revision);
      assert.equal(etcd.entries.get(slot)?.createRevision, revision);
      assert.notEqual(etcd.entries.get(slot)?.value, value);
    },
    LOST,
    /follows another commit/,
  ],
  [
    'its meta was deleted',
    (etcd) => etcd.entries.delete('petstore/meta'),
    LOST,
    /petstore\/meta is missing/,
  ],
  ['all of it was deleted', (etcd) => etcd.entries.clear(), LOST, /There is no log/],
  [
    'its meta is that of another log',
    put('meta', encodeMeta({ logId: '0'.repeat(32), state: 'ready' })),
    ...([LOST, /follows another commit/] as const),
  ],
  [
    'its meta is that of an import',
    put('meta', encodeMeta({ logId: '0'.repeat(32), state: `importing ${'1'.repeat(32)}` })),
    ...([LOST, /An import into petstore\/ is not finished/] as const),
  ],
  [
    'its meta is of a newer release',
    put('meta', '{"petstore":2}'),
    ...([LOST, /a format that this release cannot read/] as const),
  ],
  [
    'its next slot is of a newer release',
    put(NEXT_SLOT, '2 something new'),
    ...([/a format that this release cannot read/, /a format that this release/] as const),
  ],
  [
    'its next slot is damaged',
    put(NEXT_SLOT, '1 00000000 nothing'),
    ...([/does not match its CRC/, /does not match its CRC/] as const),
  ],
  [
    'its next slot has a copy of another commit',
    (etcd, slots) => {
      const second = Buffer.from(etcd.entries.get(slots[1] ?? '')?.value ?? '', 'base64');
      put(NEXT_SLOT, second)(etcd, slots);
    },
    ...([/follows another commit/, /follows another commit/] as const),
  ],
  [
    'a slot in its middle was deleted',
    (etcd, slots) => etcd.entries.delete(slots[1] ?? ''),
    ...([undefined, /damage/] as const),
  ],
  [
    'a letter of a name is another',
    (etcd, [, , slot = '']) => {
      const value = Buffer.from(etcd.entries.get(slot)?.value ?? '', 'base64');
      overwrite(etcd, slot, value.toString().replace('Rex', 'Lex'));
    },
    ...([undefined, /does not match its CRC/] as const),
  ],
  // The keys that are not part of the log are before, between and after its own.
  ...['!', 'c/!', 'c/x', `c/0${'9'.repeat(18)}`, 'd', 'notes'].map(
    (key) =>
      [
        `there is a key ${key}`,
        put(key, 'x'),
        ...[undefined, new RegExp(`petstore/${key} is not part of the log`)],
      ] as const,
  ),
];

for (const [what, damage, whileRunning, atStart] of DAMAGES) {
  for (const operation of whileRunning === undefined ? [] : (['create', 'list'] as const)) {
    test(`A store ends its work at a ${operation} if ${what}`, async (t) => {
      const [etcd, store, slots] = await withPets(t);
      damage(etcd, slots);
      const call = operation === 'create' ? store.create(rex) : store.list({ limit: 1 });
      await assert.rejects(call, { name: 'StoreUnavailableError', message: whileRunning });
      assert.match((await store.lost).message, whileRunning ?? /x/);
      assert.match(store.problem() ?? '', whileRunning ?? /x/);
      await assert.rejects(store.create(rex), { name: 'StoreUnavailableError' });
      await assert.rejects(store.get(1n), { name: 'StoreUnavailableError' });
      assert.equal(store.count().total, 3);
    });
  }
  if (atStart === undefined) continue;
  test(`A start is refused if ${what}`, async (t) => {
    const [etcd, store, slots] = await withPets(t);
    await store.close();
    damage(etcd, slots);
    await assert.rejects(open(t, etcd), atStart);
  });
}

test('A start is refused if the server ignores compares', async (t) => {
  const [etcd] = await withPets(t);
  const { txn } = etcd;
  etcd.txn = (text) => txn.call(etcd, text.replace(/"compare":\[.*?\],/, '"compare":[],'));
  await assert.rejects(open(t, etcd), /ignore the compares of a transaction/);
});

test('A start without a response ends after ten seconds, a refused one immediately', async () => {
  for (const [fate, seconds, message] of [
    ['unsent', 10, /could not be used for 10 seconds: simulated/],
    ['refused', 0, /refuses: simulated/],
  ] as const) {
    const clock = new VirtualClock();
    const calls = simulatedCalls(new SimulatedEtcd(), () => fate);
    await assert.rejects(openEtcdStore({ endpoints, calls, clock }), message);
    assert.ok(Math.abs(clock.now() / 1000 - seconds) < 1);
  }
});
