/** A damaged or replaced log: a running store ends its work, and a start is refused. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { digestOf, encodeMeta, encodeValue } from '../../../src/stores/etcd/slots.ts';
import {
  openInitialized,
  openStore,
  REFUSED,
  rex,
  simulated,
} from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';

/** Makes an etcd with three commits; returns its store and the keys of their slots, too. */
async function withPets(t: TestContext): Promise<[SimulatedEtcd, EtcdStore, readonly string[]]> {
  const etcd = new SimulatedEtcd();
  const store = await openInitialized(t, simulated(etcd));
  for (let i = 0; i < 3; i += 1) await store.create(rex);
  return [etcd, store, [...etcd.entries.keys()].filter((key) => key.includes('/c/'))];
}

type Damage = (etcd: SimulatedEtcd, slots: readonly string[]) => unknown;

const put =
  (key: string, value: Buffer | string): Damage =>
  ({ entries }) =>
    entries.set(`petstore/${key}`, Buffer.from(value));
const META = { logId: '0'.repeat(32), state: 'ready' } as const;
const importing = encodeMeta({ ...META, state: `importing ${'1'.repeat(32)}` });
const zeros = '0'.repeat(18);
const NEXT_SLOT = `c/${zeros}3`;
const slotOf = (id: number): string => `petstore/c/${zeros}${id}`;
const LOST = /is not the one/;
const NEWER = /a format that this release cannot read/;
/** Keys that are not part of the log: before, between, just behind and after its own. */
const STRAYS = [
  ...['!', 'c/!', 'c/x', `c/${zeros}1x`, `c/${zeros}3x`, `c/${zeros}9`, `c/0${'9'.repeat(18)}`],
  ...['d', 'notes'],
];
const CRC = /does not match its CRC/;
const OTHER = /follows another commit/;

/** A damage, and what a running store and a start report; undefined if it is unnoticed. */
const DAMAGES: readonly (readonly [
  what: string,
  whileRunning: RegExp | undefined,
  atStart: RegExp | undefined,
  damage: Damage,
])[] = [
  ['its last slot was deleted', LOST, undefined, ({ entries }, slots) => entries.delete(slots[2]!)],
  [
    'it was restored, and another process took its last slot',
    ...([LOST, OTHER] as const),
    ({ entries }, slots) =>
      entries.set(slots[2]!, encodeValue(digestOf('x'), '{"after":2,"pets":[]}')),
  ],
  [
    'its meta was deleted',
    LOST,
    /meta is missing/,
    ({ entries }) => entries.delete('petstore/meta'),
  ],
  ['all of it was deleted', LOST, /There is no log/, ({ entries }) => entries.clear()],
  ['its meta is that of another log', LOST, OTHER, put('meta', encodeMeta(META))],
  ['its meta is that of an import', LOST, /An import into .* not finished/, put('meta', importing)],
  ['its meta is of a newer release', LOST, NEWER, put('meta', '{"petstore":2}')],
  ['its next slot is of a newer release', NEWER, NEWER, put(NEXT_SLOT, '2 something new')],
  ['its next slot is damaged', CRC, CRC, put(NEXT_SLOT, '1 00000000 nothing')],
  [
    'its next slot has a copy of another commit',
    ...([OTHER, OTHER] as const),
    (etcd, slots) => put(NEXT_SLOT, etcd.entries.get(slots[1]!)!)(etcd, slots),
  ],
  [
    'a slot in its middle was deleted',
    undefined,
    /damage/,
    ({ entries }, s) => entries.delete(s[1]!),
  ],
  [
    'a letter of a name is another',
    ...([undefined, CRC] as const),
    ({ entries }, [, , slot = '']) =>
      entries.set(slot, Buffer.from(entries.get(slot)!.toString().replace('Rex', 'Lex'))),
  ],
  ...STRAYS.map((key) => {
    const stray = new RegExp(`petstore/${key} is not part of the log`);
    return [`there is a key ${key}`, undefined, stray, put(key, 'x')] as const;
  }),
];

for (const [what, whileRunning, atStart, damage] of DAMAGES) {
  for (const operation of whileRunning === undefined ? [] : (['create', 'list'] as const)) {
    test(`A store ends its work at a ${operation} if ${what}`, async (t) => {
      const [etcd, store, slots] = await withPets(t);
      damage(etcd, slots);
      const call = operation === 'create' ? store.create(rex) : store.list({ limit: 1 });
      await assert.rejects(call, { ...REFUSED, message: whileRunning });
      assert.match((await store.lost).message, whileRunning ?? /x/);
      assert.match(store.problem() ?? '', whileRunning ?? /x/);
      await assert.rejects(store.create(rex), REFUSED);
      await assert.rejects(store.get(1n), REFUSED);
      assert.equal(store.count().total, 3);
    });
  }
  if (atStart === undefined) continue;
  test(`A start is refused if ${what}`, async (t) => {
    const [etcd, store, slots] = await withPets(t);
    await store.close();
    damage(etcd, slots);
    await assert.rejects(openStore(t, simulated(etcd)), atStart);
  });
}

for (const [what, compare] of [
  ['that a key is absent', /"CREATE".*?"key":"[^"]*","create/],
  ['that a range is absent', /"CREATE".*?"range_end"/],
  ['for an equal value', /"EQUAL".*?"value"/],
  ['for a greater value', /"GREATER"/],
  ['for a less value', /"LESS"/],
] as const) {
  test(`A start is refused if the server ignores compares ${what}`, async (t) => {
    const [etcd] = await withPets(t);
    const { txn } = etcd;
    etcd.txn = (text) =>
      txn.call(
        etcd,
        compare.test(text) ? text.replace(/"compare":\[.*?\],/, '"compare":[],') : text,
      );
    await assert.rejects(openStore(t, simulated(etcd)), /ignore the compares of a transaction/);
  });
}

test('A store ends its work at a read if a slot before another one is missing', async (t) => {
  const [{ entries }, store, slots] = await withPets(t);
  entries.set(slotOf(5), entries.get(slots[2]!)!);
  const message = `${slotOf(5)} does not follow the last pet, 3: the log is damaged`;
  await assert.rejects(store.list({ limit: 1 }), { ...REFUSED, message });
  assert.equal((await store.lost).message, message);
});

test('Damage is logged while the service runs, and its end', async (t) => {
  const etcd = new SimulatedEtcd();
  const { entries } = etcd;
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = (level: string, event: string, details: { cause?: string } = {}): void =>
    void lines.push(`${level} ${event}: ${details.cause ?? ''}`);
  const store = await openInitialized(t, simulated(etcd, { clock, log }));
  await Promise.all([store.create(rex), store.create(rex)]);
  for (let i = 0; i < 3; i += 1) await store.create(rex);
  const logged = async (): Promise<readonly string[]> => {
    await clock.sleep(62_000);
    return lines.splice(0);
  };
  const stray = (key: string): string =>
    `error The log in etcd is damaged: ${key} is not part of the log: a start is refused until it is deleted`;
  const over = 'info The log in etcd is whole again: ';
  // Before, just behind and after the slots.
  for (const key of ['notes', 'c/!', `c/${zeros}5x`, `c/${zeros}7`, 'c/x', 'd']) {
    entries.set(`petstore/${key}`, Buffer.from('x'));
    assert.deepEqual(await logged(), [stray(`petstore/${key}`)]);
    entries.delete(`petstore/${key}`);
    assert.deepEqual(await logged(), [over]);
  }
  const counts =
    /^error The log in etcd is damaged: Up to .*c\/0+5 there are (\d) keys, and 4 commits were applied: a start is refused/;
  // Between the slots, and within the ids of a commit.
  for (const key of [`${slotOf(2)}x`, slotOf(1)]) {
    entries.set(key, Buffer.from('x'));
    assert.equal(counts.exec((await logged())[0] ?? '')?.[1], '5');
    entries.delete(key);
    assert.deepEqual(await logged(), [over]);
  }
  const value = entries.get(slotOf(3))!;
  entries.delete(slotOf(3));
  assert.equal(counts.exec((await logged())[0] ?? '')?.[1], '3');
  // The service goes on.
  assert.equal((await store.create(rex)).id, 6n);
  assert.equal(store.problem(), undefined);
  entries.set(slotOf(3), value);
  assert.deepEqual(await logged(), [over]);
});

test('A start without a response ends after ten seconds, a refused one immediately', async (t) => {
  for (const [fate, seconds, message] of [
    ['unsent', 10, /could not be used for 10 seconds: simulated/],
    ['refused', 0, /refuses: simulated/],
  ] as const) {
    const clock = new VirtualClock();
    const etcd = new SimulatedEtcd();
    const options = simulated(etcd, { calls: etcd.calls(() => fate), clock });
    await assert.rejects(openStore(t, options), message);
    assert.ok(Math.abs(clock.now() / 1000 - seconds) < 1);
  }
});
