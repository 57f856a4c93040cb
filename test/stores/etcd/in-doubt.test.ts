/**
 * What is known of a create, and how it ends: each row of the table in etcd-log.ts, on a
 * simulated etcd whose calls end as the test says, with a virtual clock.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { openSimulated, REFUSED, rex } from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd, type Fate } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';

const tom = { name: 'Tom', categoryId: 1n } as const;
const KEY = '0123456789abcdef0123456789abcdef';
const UNKNOWN = { name: 'OutcomeUnknownError' } as const;

/** Opens a store on a simulated etcd, which other stores may use, too. */
async function open(t: TestContext, etcd = new SimulatedEtcd(), clock = new VirtualClock()) {
  const life = Object.assign(await openSimulated(t, { etcd, clock }), {
    /** How the next creates and looks end; after these they are answered. */
    fates: [] as Fate[],
    /** Called before each create is sent. */
    beforeCreate: (): unknown => undefined,
    /** How each read ends, by the most commits that it asks for. */
    readFate: (_commits: number): Fate | Promise<Fate> => 'answered',
  });
  life.fateOf = async (kind, limit) => {
    // A call takes a millisecond.
    await clock.sleep(1);
    if (kind === 'read') return life.readFate(limit);
    if (kind === 'create') await life.beforeCreate();
    return life.fates.shift() ?? 'answered';
  };
  return life;
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Resolves with what a new process finds. */
async function petsIn(t: TestContext, etcd: SimulatedEtcd): Promise<string> {
  return (await (await open(t, etcd)).store.list({ limit: 100 })).text;
}

const always = (fate: Fate): readonly Fate[] => Array<Fate>(1000).fill(fate);
const [CUT, FULL] = ['not done, cut', 'not done, no space'] as const;
const UNSEEN = always('done, no space').map((fate, i) => (i % 2 === 0 ? fate : 'unsent'));

const STORED = '[{"id":1,"name":"Rex","categoryId":1}]';

/** The error of a create, after how many seconds it comes, and what is stored. */
const OUTCOMES = {
  stored: [undefined, 0, STORED],
  refused: [REFUSED, 0, '[]'],
  'refused after 5 s': [REFUSED, 5, '[]'],
  'unknown, and stored': [UNKNOWN, 15, STORED],
  'unknown, and not stored': [UNKNOWN, 15, '[]'],
} as const;

/** What a create comes to, and how its calls end. */
const ROWS: readonly [what: string, outcome: keyof typeof OUTCOMES, fates: readonly Fate[]][] = [
  ['answered', 'stored', []],
  ['done, cut, then answered', 'stored', ['done, cut']],
  ['not done, cut, then answered', 'stored', [CUT]],
  ['too long, then answered', 'stored', ['too long']],
  ['unsent, then answered', 'stored', ['unsent']],
  ['never sent', 'refused after 5 s', always('unsent')],
  ['refused', 'refused', ['refused']],
  ['not sent, then refused', 'refused', ['unsent', 'refused']],
  ['cut, then always refused', 'unknown, and stored', ['done, cut', ...always('refused')]],
  ['always cut, and never done', 'unknown, and not stored', always(CUT)],
  ['always cut', 'unknown, and stored', [...always(CUT).slice(0, 30), ...always('done, cut')]],
  ['not done for lack of space', 'refused', [FULL, 'answered']],
  ['done in spite of "no space"', 'stored', ['done, no space', 'answered']],
  ['not done for lack of space, and looked for twice', 'stored', [FULL, 'unsent', FULL, CUT]],
  ['done, unseen, then refused', 'stored', ['done, no space', 'unsent', 'refused']],
  ['always "no space", and never looked for', 'unknown, and stored', UNSEEN],
  ['cut, then "no space", and not in its slot', 'stored', [CUT, FULL, 'answered']],
];

for (const [what, outcome, fates] of ROWS) {
  test(`A create that was ${what} is ${outcome}`, async (t) => {
    const [error, seconds, stored] = OUTCOMES[outcome];
    const life = await open(t);
    life.fates.push(...fates);
    const startedAt = life.clock.now();
    const create = life.store.create(rex);
    if (error === undefined) assert.equal((await create).id, 1n);
    else await assert.rejects(create, error);
    const late = (life.clock.now() - startedAt) / 1000 - seconds;
    assert.ok(late >= 0 && late <= (seconds === 0 ? 0.2 : 1), `${late} s later`);
    const isUnknown = error === UNKNOWN;
    assert.equal(life.events.includes('It is not known whether pets were stored'), isUnknown);
    assert.equal(life.store.stats().unknownCreates, isUnknown ? 1 : 0);
    assert.equal(life.store.problem() !== undefined, error !== undefined);
    assert.equal(await petsIn(t, life.etcd), stored);
  });
}

type Act = (store: EtcdStore) => unknown;

/** How a create with a key ends after another process did something before the last sending. */
const CONFLICTS: readonly [what: string, fates: Fate[], outcome: string, names: string, Act][] = [
  ['is sent once takes the next slot', [], '2', 'Tom Rex', (other) => other.create(tom)],
  ['was cut first is stored once', [CUT], '2', 'Tom Rex', (other) => other.create(tom)],
  ['finds its key is a replay', [], '1, replayed', 'Rex', (other) => other.createOnce(rex, KEY)],
  ['finds its key used is refused', [], 'KeyReusedError', 'Tom', (o) => o.createOnce(tom, KEY)],
];

for (const [what, fates, outcome, names, happens] of CONFLICTS) {
  test(`A create that ${what}, if another process took its slot`, async (t) => {
    const life = await open(t);
    const other = await open(t, life.etcd);
    life.fates.push(...fates);
    // By this clock the key of the other process expired less than an hour ago.
    life.clock.timeOfDay = () => other.clock.timeOfDay() + 24.9 * 60 * 60 * 1000;
    life.beforeCreate = async () => {
      if (life.fates.length > 0) return;
      life.beforeCreate = () => undefined;
      await happens(other.store);
    };
    const found = await life.store.createOnce(rex, KEY).then(
      ({ pet, isReplayed }) => `${pet.id}${isReplayed ? ', replayed' : ''}`,
      (error: Error) => error.name,
    );
    assert.equal(found, outcome);
    const { pets } = await other.store.list({ limit: 9 });
    assert.equal(pets.map(({ name }) => name).join(' '), names);
    assert.equal(life.store.stats().conflicts, 1);
  });
}

test('A create that loses its slot for five seconds is refused, and not stored', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  life.beforeCreate = async () => {
    await life.clock.sleep(100);
    await other.store.create(tom);
  };
  const message = /other processes took each slot for 5 seconds/;
  await assert.rejects(life.store.create(rex), message);
  assert.match(life.store.problem() ?? '', message);
  assert.ok(life.clock.now() >= 5_000);
  assert.doesNotMatch(await petsIn(t, life.etcd), /Rex/);
  life.beforeCreate = () => undefined;
  await life.store.create(rex);
  assert.match(life.events.join(), /^Creates fail,other processes[^,]*,Creates are stored again$/);
});

test('While others write faster than a process reads, it refuses all, and says why', async (t) => {
  const life = await open(t);
  const { clock, store, etcd } = life;
  const other = await open(t, etcd, clock);
  const write = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) await other.store.create(tom);
  };
  // Its link carries two commits in the time in which the other process makes three.
  life.readFate = async (commits) => {
    if (commits > 2) return 'too long';
    await clock.sleep(100);
    await write(3);
    return 'answered';
  };
  life.beforeCreate = () => write(10);
  const message = /: The etcd cluster cannot be used: catching up takes more than 5 seconds: other/;
  const create = assert.rejects(store.create(rex), { ...REFUSED, message });
  const read = assert.rejects(async () => store.list({ limit: 1 }), REFUSED);
  const startedAt = clock.now();
  const tooLate = clock.sleep(10_000).then(() => assert.fail('no response'));
  await Promise.race([Promise.all([create, read]), tooLate]);
  assert.ok(clock.now() - startedAt < 6_000, `${clock.now() - startedAt} ms`);
  assert.match(store.problem() ?? '', /catching up takes more than 5 seconds/);
  await clock.sleep(300);
  assert.ok(life.events.includes('The etcd cluster is out of reach'));
  life.beforeCreate = () => undefined;
  life.readFate = () => 'answered';
  while (store.problem() !== undefined) await clock.sleep(100);
  assert.equal((await store.list({ limit: 1 })).pets[0]?.name, 'Tom');
  await store.create(rex);
  await clock.sleep(300);
  const began = ['The etcd cluster is out of reach', 'Creates fail'];
  const events = life.events.filter((event) => !event.includes(': '));
  assert.deepEqual(events.slice(0, 2).sort(), began.sort());
  const ended = ['The etcd cluster answers again', 'Creates are stored again'];
  assert.deepEqual(events.slice(2).sort(), ended.sort());
});

test('A create that waited is not proposed while reads find no cluster', async (t) => {
  const life = await open(t);
  life.readFate = () => CUT;
  // The first is in doubt for seven seconds, in which reads find out that there is no cluster.
  life.fates.push(...always(CUT).slice(0, 18));
  const first = life.store.create(rex);
  await life.clock.sleep(4_500);
  const message = /^Pets cannot be stored: The etcd cluster cannot be used/;
  const refused = assert.rejects(life.store.create(tom), { ...REFUSED, message });
  assert.equal((await first).id, 1n);
  await refused;
  assert.equal(await petsIn(t, life.etcd), STORED);
});

test('In an outage each read is refused after five seconds, and a create at once', async (t) => {
  const life = await open(t);
  const { clock, store } = life;
  life.readFate = () => CUT;
  await clock.sleep(8_000);
  for (const [call, ms] of [
    [async () => store.list({ limit: 1 }), 5_000],
    [() => store.create(rex), 0],
  ] as const) {
    const startedAt = clock.now();
    await assert.rejects(call, REFUSED);
    assert.ok(clock.now() - startedAt >= ms && clock.now() - startedAt < ms + 500);
  }
});

/** What happens while a create is in doubt, and how soon after that it is answered. */
const MEANWHILE: readonly [what: string, withinMs: number, happens: Act][] = [
  ['nothing else happens', 16_000, () => undefined],
  ['a drain begins', 4_000, (store) => store.drain()],
  ['the store closes', 5_000, (store) => store.close()],
  ['another create is refused', 16_000, (store) => assert.rejects(store.create(tom), REFUSED)],
];

for (const [what, withinMs, happens] of MEANWHILE) {
  for (const doubt of ['in doubt', 'whose response never ends']) {
    test(`A create ${doubt} is answered within ${withinMs} ms if ${what}`, async (t) => {
      const life = await open(t);
      const { clock } = life;
      life.fates.push(...always(CUT));
      if (doubt !== 'in doubt') life.beforeCreate = () => clock.sleep(60_000);
      const answered = assert.rejects(life.store.create(rex), UNKNOWN).then(() => clock.now());
      await clock.sleep(10);
      const startedAt = clock.now();
      const tooLate = clock.sleep(withinMs).then(() => assert.fail('no response'));
      await happens(life.store);
      assert.ok(clock.now() - startedAt < 6_000);
      await Promise.race([answered, tooLate]);
    });
  }
}

test('Creates that still wait three seconds after a close began are not sent', async (t) => {
  const life = await open(t);
  // Each commit has one of the pets.
  life.beforeCreate = () => life.clock.sleep(400);
  const long = { ...rex, name: 'x'.repeat(64 << 10) };
  const creates = Array.from({ length: 20 }, () => life.store.create(long));
  await life.clock.sleep(10);
  await life.store.close();
  const ends = await Promise.allSettled(creates);
  const names = ends.map((end) => (end.status === 'rejected' ? end.reason.name : 'stored'));
  // None was on its way when the time was over.
  assert.deepEqual([...new Set(names)], ['stored', REFUSED.name]);
});

test('Creates with one key, of which the first is in doubt, end with it', async (t) => {
  const { store, fates, clock } = await open(t);
  fates.push(...always(CUT));
  const create = (): Promise<void> => assert.rejects(store.createOnce(rex, KEY), UNKNOWN);
  await Promise.all([create(), create(), create()]);
  assert.ok(clock.now() < 16_000, `${clock.now()} ms`);
});

/** What makes a store refuse creates. */
const REFUSING: readonly [what: string, begin: (life: Opened) => Promise<void>][] = [
  ['an outage began', ({ clock }) => clock.sleep(7_000)],
  ['the store closes', async ({ store }) => void store.close()],
];

for (const [what, begin] of REFUSING) {
  test(`A key in doubt is a replay once a read has found it, though ${what}`, async (t) => {
    const life = await open(t);
    const { clock, store, fates } = life;
    fates.push(...always('done, cut'));
    const first = assert.rejects(store.createOnce(rex, KEY), UNKNOWN);
    await clock.sleep(20);
    await store.list({ limit: 1 });
    life.readFate = () => CUT;
    await begin(life);
    assert.notEqual(store.problem(), undefined);
    // If this is refused inside, the process hangs.
    assert.equal((await store.createOnce(rex, KEY)).isReplayed, true);
    await first;
  });
}

test('A key is in doubt until its slot is taken', async (t) => {
  const { store, fates } = await open(t);
  const keyed: readonly Act[] = [
    () => store.createOnce(rex, KEY),
    () => store.createOnce(tom, KEY.replace('0', 'f')),
  ];
  const fail = async (error: object, ...ends: readonly Fate[]): Promise<void> => {
    fates.splice(0, Infinity, ...ends);
    for (const create of keyed) await assert.rejects(async () => create(store), error);
  };
  await fail(UNKNOWN, ...always(CUT));
  await fail(UNKNOWN, 'refused', 'refused');
  fates.length = 0;
  assert.equal((await store.create(rex)).id, 1n);
  await fail(REFUSED, 'refused', 'refused');
});

test('A process keeps a key for 24 hours, though another one may keep it longer', async (t) => {
  const { store, clock } = await open(t);
  const now = clock.now.bind(clock);
  for (const hours of [0, 23.9, 24.1]) {
    clock.now = () => now() + hours * 60 * 60 * 1000;
    assert.equal((await store.createOnce(rex, KEY)).pet.id, hours < 24 ? 1n : 2n);
  }
});

test('Others that take each slot do not count as a catch-up that takes too long', async (t) => {
  const life = await open(t);
  const { clock, store, etcd } = life;
  const other = await open(t, etcd, clock);
  // After five seconds it catches up, which takes a second.
  life.beforeCreate = async () => {
    await clock.sleep(1_000);
    for (let i = 0; i < 10; i += 1) await other.store.create(tom);
  };
  life.readFate = () => clock.sleep(1_000).then(() => 'answered');
  const message = /other processes took each slot for 5 seconds/;
  await assert.rejects(store.create(rex), { ...REFUSED, message });
  await clock.sleep(2_000);
  assert.ok(!life.events.includes('The etcd cluster is out of reach'), life.events.join());
});
