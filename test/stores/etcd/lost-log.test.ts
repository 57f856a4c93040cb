/** A log that cannot be worked with: the store says so, and works no more. */

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

/** An etcd with three commits, and the keys of their slots. */
async function withPets(t: TestContext): Promise<[SimulatedEtcd, EtcdStore, readonly string[]]> {
  const etcd = new SimulatedEtcd();
  await initEtcd({ endpoints, calls: simulatedCalls(etcd) });
  const store = await open(t, etcd);
  for (let i = 0; i < 3; i += 1) await store.create(rex);
  return [etcd, store, [...etcd.entries.keys()].filter((key) => key.includes('/c/'))];
}

/** Puts a value in place of the one that a key has, as an operator could. */
function overwrite(etcd: SimulatedEtcd, key: string, value: Buffer | string): void {
  const text = (part: Buffer | string): string => Buffer.from(part).toString('base64');
  const put = { request_put: { key: text(key), value: text(value) } };
  etcd.txn(JSON.stringify({ compare: [], success: [put], failure: [] }));
}

test('A commit is one key, and nothing else is written', async (t) => {
  const [etcd] = await withPets(t);
  const zeros = '0'.repeat(18);
  assert.deepEqual(
    [...etcd.entries.keys()].sort(),
    [0, 1, 2].map((id) => `petstore/c/${zeros}${id}`).concat('petstore/meta'),
  );
  assert.ok([...etcd.entries.values()].every(({ version }) => version === 1n));
});

const DAMAGES: readonly (readonly [
  what: string,
  (etcd: SimulatedEtcd, slots: readonly string[]) => void,
  RegExp,
])[] = [
  [
    'its last slot was deleted',
    (etcd, slots) => etcd.entries.delete(slots[2] ?? ''),
    /is not the one/,
  ],
  [
    'it was restored from a back-up, and another process took its last slot at the same revision',
    (etcd, slots) => {
      const slot = slots[2] ?? '';
      const revision = etcd.revision;
      const value = etcd.entries.get(slot)?.value ?? '';
      etcd.entries.delete(slot);
      etcd.revision -= 1n;
      const other = encodeValue(digestOf('x'), '{"after":2,"pets":[]}');
      overwrite(etcd, slot, other);
      assert.equal(etcd.revision, revision);
      assert.equal(etcd.entries.get(slot)?.createRevision, revision);
      assert.notEqual(etcd.entries.get(slot)?.value, value);
    },
    /is not the one/,
  ],
  ['its meta was deleted', (etcd) => etcd.entries.delete('petstore/meta'), /is not the one/],
  ['all of it was deleted', (etcd) => etcd.entries.clear(), /is not the one/],
  [
    'another log was begun in its place',
    (etcd) => {
      const meta = { logId: '0'.repeat(32), state: 'ready' };
      overwrite(etcd, 'petstore/meta', encodeMeta(meta));
    },
    /is not the one/,
  ],
  [
    'a newer release wrote its next slot',
    (etcd) => overwrite(etcd, `petstore/c/${'3'.padStart(19, '0')}`, '2 something new'),
    /a format that this release cannot read/,
  ],
  [
    'its next slot is damaged',
    (etcd) => overwrite(etcd, `petstore/c/${'3'.padStart(19, '0')}`, '1 00000000 nothing'),
    /does not match its CRC/,
  ],
  [
    'its next slot follows on another commit',
    (etcd, slots) => {
      const second = Buffer.from(etcd.entries.get(slots[1] ?? '')?.value ?? '', 'base64');
      overwrite(etcd, `petstore/c/${'3'.padStart(19, '0')}`, second);
    },
    /follows another commit/,
  ],
];

for (const [what, damage, expected] of DAMAGES) {
  test(`A store whose log went wrong works no more: ${what}`, async (t) => {
    for (const operation of ['create', 'list'] as const) {
      const [etcd, store, slots] = await withPets(t);
      damage(etcd, slots);
      const call = operation === 'create' ? store.create(rex) : store.list({ limit: 1 });
      await assert.rejects(call, { name: 'StoreUnavailableError', message: expected });
      assert.match((await store.lost).message, expected);
      assert.match(store.problem() ?? '', expected);
      await assert.rejects(store.create(rex), { name: 'StoreUnavailableError' });
      await assert.rejects(store.get(1n), { name: 'StoreUnavailableError' });
      assert.equal(store.count().total, 3);
    }
  });
}

const REFUSED: readonly (readonly [
  what: string,
  (etcd: SimulatedEtcd, slots: readonly string[]) => void,
  RegExp,
])[] = [
  ['a slot in its middle is gone', (etcd, slots) => etcd.entries.delete(slots[1] ?? ''), /damage/],
  ['its meta is gone', (etcd) => etcd.entries.delete('petstore/meta'), /no meta: damage/],
  [
    'there is a foreign key',
    (etcd) => overwrite(etcd, 'petstore/notes', 'x'),
    /belong to no log, petstore\/notes first/,
  ],
  [
    'there is a foreign key before',
    (etcd) => overwrite(etcd, 'petstore/!', 'x'),
    /belong to no log/,
  ],
  [
    'there is a foreign slot',
    (etcd) => overwrite(etcd, 'petstore/c/x', 'x'),
    /belong to no log, petstore\/c\/x first/,
  ],
  [
    'there is a foreign slot before',
    (etcd) => overwrite(etcd, 'petstore/c/!', 'x'),
    /belong to no log, petstore\/c\/! first/,
  ],
  [
    'there is a slot far away',
    (etcd) => overwrite(etcd, `petstore/c/${'9'.repeat(18).padStart(19, '0')}`, 'x'),
    /belong to no log, petstore\/c\/09{18} first/,
  ],
  [
    'its meta is of a newer release',
    (etcd) => overwrite(etcd, 'petstore/meta', '{"petstore":2}'),
    /a format that this release cannot read/,
  ],
  [
    'pets are being imported',
    (etcd) => {
      const meta = { logId: '0'.repeat(32), state: `importing ${'1'.repeat(32)}` };
      overwrite(etcd, 'petstore/meta', encodeMeta(meta));
    },
    /An import into petstore\/ is not finished/,
  ],
  [
    'a letter of a name is another',
    (etcd, slots) => {
      const value = Buffer.from(etcd.entries.get(slots[2] ?? '')?.value ?? '', 'base64');
      overwrite(etcd, slots[2] ?? '', value.toString().replace('Rex', 'Lex'));
    },
    /does not match its CRC/,
  ],
];

for (const [what, damage, expected] of REFUSED) {
  test(`A log is refused at the start when ${what}`, async (t) => {
    const [etcd, store, slots] = await withPets(t);
    await store.close();
    damage(etcd, slots);
    await assert.rejects(open(t, etcd), expected);
  });
}

test('An engine that passes over compares is refused at the start', async (t) => {
  const [etcd] = await withPets(t);
  const { txn } = etcd;
  etcd.txn = (text) => txn.call(etcd, text.replace(/"compare":\[.*?\],/, '"compare":[],'));
  await assert.rejects(open(t, etcd), /do not compare before they write/);
});

test('A start without an answer ends after ten seconds, and one that is refused at once', async () => {
  for (const [fate, seconds, message] of [
    ['unsent', 10, /gives no answer within 10 seconds: simulated/],
    ['refused', 0, /refuses: simulated/],
  ] as const) {
    const clock = new VirtualClock();
    const calls = simulatedCalls(new SimulatedEtcd(), () => fate);
    await assert.rejects(openEtcdStore({ endpoints, calls, clock }), message);
    assert.ok(Math.abs(clock.now() / 1000 - seconds) < 1);
  }
});
