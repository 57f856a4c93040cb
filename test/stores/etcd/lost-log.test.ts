/** A damaged or replaced log: a running store ends its work, and a start is refused. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AppliedLog } from '../../../src/stores/etcd/applied-log.ts';
import { decodeMeta, digestOf, encodeMeta, encodeValue } from '../../../src/stores/etcd/slots.ts';
import { Layout } from '../../../src/stores/etcd/slots.ts';
import {
  commitsOfOne,
  openSimulated,
  openStore,
  REFUSED,
  rex,
  simulated,
} from '../../support/etcd/opened-store.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';

const slot = (id: number): string => `petstore/c/${String(id).padStart(19, '0')}`;

/** Opens a store, and makes three commits. */
async function withPets(t: TestContext) {
  const life = await openSimulated(t);
  for (let i = 0; i < 3; i += 1) await life.store.create(rex);
  return life;
}

type Entries = Map<string, Buffer>;
type Content = string | Buffer | ((entries: Entries) => Buffer) | undefined;

function damage(entries: Entries, key: string, content: Content): void {
  if (content === undefined) entries.delete(key);
  else entries.set(key, Buffer.from(typeof content === 'function' ? content(entries) : content));
}

const META = 'petstore/meta';
const metaOf = (state: string): Buffer => encodeMeta({ logId: '0'.repeat(32), state });
const importing = metaOf(`importing ${'1'.repeat(32)}`);
const otherCommit = encodeValue(digestOf('x'), '{"after":2,"pets":[]}');
const copy = (entries: Entries): Buffer => entries.get(slot(1))!;
const lexed = (entries: Entries): Buffer =>
  Buffer.from(entries.get(slot(2))!.toString().replace('Rex', 'Lex'));
const LOST = /is not the one/;
const NEWER = /a format that this release cannot read/;
const CRC = /does not match its CRC/;
const OTHER = /follows another commit/;
const IMPORT = /An import into .* not finished/;
/** Keys that are not part of the log: before, between, just behind and after its own. */
const STRAYS = [
  ...['petstore/!', 'petstore/c/!', 'petstore/c/x', `${slot(1)}x`, `${slot(3)}x`, slot(9)],
  ...[`petstore/c/0${'9'.repeat(18)}`, 'petstore/d', 'petstore/notes'],
];

/** What is damaged, what a running store and a start report of it, and the content of its key. */
const DAMAGES: readonly [what: string, RegExp | undefined, RegExp | undefined, string, Content][] =
  [
    ['its last slot was deleted', LOST, undefined, slot(2), undefined],
    ['it was restored, and its last slot taken', LOST, OTHER, slot(2), otherCommit],
    ['its meta was deleted', LOST, /meta is missing/, META, undefined],
    ['its meta is that of another log', LOST, OTHER, META, metaOf('ready')],
    ['its meta is that of an import', LOST, IMPORT, META, importing],
    ['its meta is of a newer release', LOST, NEWER, META, '{"petstore":2}'],
    ['its next slot is of a newer release', NEWER, NEWER, slot(3), '2 something new'],
    ['its next slot is damaged', CRC, CRC, slot(3), '1 00000000 nothing'],
    ['its next slot has a copy of another commit', OTHER, OTHER, slot(3), copy],
    ['a slot in its middle was deleted', undefined, /damage/, slot(1), undefined],
    ['a letter of a name is another', undefined, CRC, slot(2), lexed],
    ...STRAYS.map((key): (typeof DAMAGES)[number] => {
      return [`${key} exists`, undefined, new RegExp(`${key} is not part of the log`), key, 'x'];
    }),
  ];

for (const [what, whileRunning, atStart, key, content] of DAMAGES) {
  for (const operation of whileRunning === undefined ? [] : (['create', 'list'] as const)) {
    test(`A store ends its work at a ${operation} if ${what}`, async (t) => {
      const { etcd, store, events } = await withPets(t);
      damage(etcd.entries, key, content);
      const call = async () =>
        operation === 'create' ? store.create(rex) : store.list({ limit: 1 });
      await assert.rejects(call, { ...REFUSED, message: whileRunning });
      assert.match((await store.lost).message, whileRunning!);
      assert.match(store.problem() ?? '', whileRunning!);
      assert.equal(events[0], 'This process cannot continue with the log in etcd');
      await assert.rejects(store.create(rex), REFUSED);
      await assert.rejects(async () => store.get(1n), REFUSED);
      assert.equal(store.count().total, 3);
    });
  }
  if (atStart === undefined) continue;
  test(`A start is refused if ${what}`, async (t) => {
    const { etcd, store } = await withPets(t);
    await store.close();
    damage(etcd.entries, key, content);
    await assert.rejects(openStore(t, simulated(etcd)), atStart);
  });
}

for (const [what, compare] of [
  ['that a key is absent', /"CREATE".*"key":"[^"]*","create/],
  ['that a range is absent', /"CREATE".*"range_end"/],
  ['for an equal value', /"EQUAL".*"value"/],
  ['for a greater value', /"GREATER"/],
  ['for a less value', /"LESS"/],
] as const) {
  test(`A start is refused if the server ignores compares ${what}`, async (t) => {
    const { etcd } = await withPets(t);
    const { txn } = etcd;
    etcd.txn = ({ compare: all = [], ...rest }) =>
      txn.call(etcd, { ...rest, compare: all.filter((one) => !compare.test(JSON.stringify(one))) });
    await assert.rejects(openStore(t, simulated(etcd)), /ignore the compares of a transaction/);
  });
}

test('A store ends its work at a read if a slot before another one is missing', async (t) => {
  const { etcd, store } = await withPets(t);
  damage(etcd.entries, slot(5), copy);
  const message = `${slot(5)} does not follow the last pet, 3: the log is damaged`;
  await assert.rejects(async () => store.list({ limit: 1 }), { ...REFUSED, message });
  assert.equal((await store.lost).message, message);
});

test('Damage is logged while the service runs, and its end', async (t) => {
  const { etcd, clock, store, events } = await openSimulated(t);
  await Promise.all([store.create(rex), store.create(rex)]);
  for (let i = 0; i < 3; i += 1) await store.create(rex);
  const logged = async (): Promise<string> => {
    await clock.sleep(12_000);
    return events.splice(0).join(': ');
  };
  const began = 'The log in etcd is damaged: ';
  const stray = 'is not part of the log: a start is refused until it is deleted';
  const counted = (difference: string): string =>
    `From petstore/ on there are ${difference} keys than commits: a start is refused`;
  for (const [key, content, cause] of [
    // Before, just behind and after the slots.
    ...['!', 'c/!', `c/${'0'.repeat(18)}5x`, `c/${'0'.repeat(18)}7`, 'c/x', 'd', 'notes'].map(
      (key) => [`petstore/${key}`, 'x', `petstore/${key} ${stray}`] as const,
    ),
    // Between the slots, and within the ids of a commit.
    [`${slot(2)}x`, 'x', counted('1 more')],
    [slot(1), 'x', counted('1 more')],
    [slot(3), undefined, counted('1 fewer')],
  ] as const) {
    const before = etcd.entries.get(key);
    damage(etcd.entries, key, content);
    assert.equal(await logged(), began + cause);
    // The service goes on.
    assert.equal(store.problem(), undefined);
    damage(etcd.entries, key, before);
    assert.equal(await logged(), 'The log in etcd is whole again');
  }
});

test('A slot that is missing is logged once, also while others are written', async (t) => {
  const { etcd, clock, store, events } = await withPets(t);
  etcd.entries.delete(slot(1));
  for (let i = 0; i < 4; i += 1) {
    await store.create(rex);
    await clock.sleep(6_000);
  }
  assert.equal(events.filter((event) => event === 'The log in etcd is damaged').length, 1);
});

test('The log is counted in stretches, one after the other', async (t) => {
  const { etcd } = await openSimulated(t);
  const meta = etcd.entries.get(META)!;
  const id = { ...decodeMeta(META, meta), layout: new Layout('petstore/'), meta };
  const log = new AppliedLog(id, { calls: etcd.calls(), clock: new VirtualClock() });
  for (const [key, value] of commitsOfOne('petstore/', meta)) {
    if (log.lastId === 70_000n) break;
    log.apply([{ key, value }]);
  }
  const first = { from: 'petstore/', to: slot(65_536), count: 65_536 };
  const last = { from: slot(65_536), to: slot(70_000), count: 4_464 };
  for (const [index, stretch] of [first, last, first].entries()) {
    assert.deepEqual(log.stretch(index), stretch);
  }
  assert.deepEqual(log.stretch(-1), last);
});

test('A start without a response ends after ten seconds, a refused one immediately', async (t) => {
  const { etcd } = await withPets(t);
  for (const [fate, seconds, message] of [
    ['unsent', 10, /could not be used for 10 seconds: simulated/],
    ['refused', 0, /refuses: simulated/],
  ] as const) {
    const clock = new VirtualClock();
    const options = simulated(etcd, { calls: etcd.calls(() => fate), clock });
    await assert.rejects(openStore(t, options), message);
    assert.ok(Math.abs(clock.now() / 1000 - seconds) < 1);
  }
});
