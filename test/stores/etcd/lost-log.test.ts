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
const NEXT_SLOT = `c/${'3'.padStart(19, '0')}`;
const LOST = /is not the one/;
const NEWER = /a format that this release cannot read/;
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
  // The keys that are not part of the log are before, between and after its own.
  ...['!', 'c/!', `c/${'0'.repeat(18)}1x`, 'c/x', `c/0${'9'.repeat(18)}`, 'd', 'notes'].map(
    (key) =>
      [
        `there is a key ${key}`,
        undefined,
        new RegExp(`petstore/${key} is not part of the log`),
        put(key, 'x'),
      ] as const,
  ),
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

test('A key that is not part of the log is named while the service runs', async (t) => {
  const etcd = new SimulatedEtcd();
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = (level: string, event: string, details?: object): void =>
    void lines.push(`${level} ${event} ${JSON.stringify(details ?? {})}`);
  await openInitialized(t, simulated(etcd, { clock, log }));
  const told = async (): Promise<readonly string[]> => {
    await clock.sleep(12_000);
    return lines.splice(0);
  };
  const line = (key: string): string =>
    `error A key is not part of the log {"key":"petstore/${key}","cause":"a start is refused until it is deleted"}`;
  etcd.entries.set('petstore/notes', Buffer.from('x'));
  assert.deepEqual(await told(), [line('notes')]);
  etcd.entries.set('petstore/a', Buffer.from('x'));
  assert.deepEqual(await told(), [line('a')]);
  etcd.entries.delete('petstore/a');
  etcd.entries.delete('petstore/notes');
  assert.deepEqual(await told(), ['info All keys under the prefix are part of the log again {}']);
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
