/**
 * What is known of a create, and what is answered: each row of the table in commit-writer.ts, on a
 * simulated etcd whose calls end as the test says, with a clock of the test's own.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import {
  simulatedCalls,
  type Fate,
  type SimulatedCalls,
} from '../../support/etcd/simulated-calls.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';

const rex = { name: 'Rex', categoryId: 7n } as const;
const tom = { name: 'Tom', categoryId: 7n } as const;
const KEY = '0123456789abcdef0123456789abcdef';

interface Life {
  readonly etcd: SimulatedEtcd;
  readonly clock: VirtualClock;
  readonly calls: SimulatedCalls;
  readonly store: EtcdStore;
  /** What becomes of the creates and looks to come, in turn; then they are answered. */
  readonly fates: Fate[];
  /** Called before each create is sent. */
  beforeCreate: () => void | Promise<void>;
  /** What becomes of each read. */
  beforeRead: () => Fate;
}

/** A store on a simulated etcd, beside others that may be there. */
async function open(t: TestContext, etcd = new SimulatedEtcd()): Promise<Life> {
  const clock = new VirtualClock();
  const fates: Fate[] = [];
  const calls = simulatedCalls(etcd, async (kind) => {
    // A call takes a millisecond.
    await clock.sleep(1);
    if (kind === 'read') return life.beforeRead();
    if (kind !== 'create' && kind !== 'look') return 'answered';
    if (kind === 'create') await life.beforeCreate();
    return fates.shift() ?? 'answered';
  });
  const endpoints = ['http://127.0.0.1:2379'];
  const store = await openInitialized({ endpoints, calls, clock });
  const beforeRead = (): Fate => 'answered';
  const life: Life = {
    etcd,
    clock,
    calls,
    store,
    fates,
    beforeCreate: () => undefined,
    beforeRead,
  };
  t.after(() => store.close());
  return life;
}

/** What a new process finds. */
async function petsIn(t: TestContext, etcd: SimulatedEtcd): Promise<string> {
  const { store } = await open(t, etcd);
  return (await store.list({ limit: 100 })).text;
}

const STORED = '[{"id":1,"name":"Rex","categoryId":7}]';

const ROWS: readonly {
  readonly what: string;
  readonly fates: readonly Fate[];
  readonly answer: 'stored' | 'refused' | 'unknown';
  readonly atSeconds: readonly [least: number, most: number];
  readonly isThere: boolean;
}[] = [
  { what: 'answered', fates: [], answer: 'stored', atSeconds: [0, 0.1], isThere: true },
  ...(['done, cut', 'not done, cut', 'too long', 'unsent'] as const).map((fate) => ({
    ...{ what: `${fate}, then answered`, fates: [fate], answer: 'stored' as const },
    ...{ atSeconds: [0, 0.1] as const, isThere: true },
  })),
  {
    ...{ what: 'never sent', fates: Array<Fate>(1000).fill('unsent'), answer: 'refused' },
    ...{ atSeconds: [5, 6], isThere: false },
  },
  {
    ...{ what: 'refused', fates: ['refused'], answer: 'refused' },
    ...{ atSeconds: [0, 0.1], isThere: false },
  },
  {
    ...{ what: 'never sent, then refused', fates: ['unsent', 'refused'], answer: 'refused' },
    ...{ atSeconds: [0, 0.2], isThere: false },
  },
  {
    what: 'cut, then refused for ever',
    fates: ['done, cut', ...Array<Fate>(1000).fill('refused')],
    ...{ answer: 'unknown', atSeconds: [15, 16], isThere: true },
  },
  {
    what: 'cut for ever, and never done',
    fates: Array<Fate>(1000).fill('not done, cut'),
    ...{ answer: 'unknown', atSeconds: [15, 16], isThere: false },
  },
  {
    what: 'cut for ever, and done at last',
    fates: [...Array<Fate>(30).fill('not done, cut'), ...Array<Fate>(1000).fill('done, cut')],
    ...{ answer: 'unknown', atSeconds: [15, 16], isThere: true },
  },
  {
    what: 'no space, and not done',
    fates: ['not done, no space', 'answered'],
    ...{ answer: 'refused', atSeconds: [0, 0.1], isThere: false },
  },
  {
    what: 'no space, and done',
    fates: ['done, no space', 'answered'],
    ...{ answer: 'stored', atSeconds: [0, 0.1], isThere: true },
  },
  {
    what: 'no space, and nobody could look at first',
    fates: ['not done, no space', 'unsent', 'not done, no space', 'not done, cut'],
    ...{ answer: 'stored', atSeconds: [0, 0.2], isThere: true },
  },
  {
    what: 'no space for ever, and nobody could look',
    fates: Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? 'done, no space' : 'unsent')),
    ...{ answer: 'unknown', atSeconds: [15, 16], isThere: true },
  },
  {
    what: 'no space, and done, but its slot could not be read, then refused',
    fates: ['done, no space', 'unsent', 'refused'],
    ...{ answer: 'stored', atSeconds: [0, 0.2], isThere: true },
  },
  {
    what: 'cut, then no space and an empty slot',
    fates: ['not done, cut', 'not done, no space', 'answered'],
    ...{ answer: 'stored', atSeconds: [0, 0.2], isThere: true },
  },
];

for (const { what, fates, answer, atSeconds, isThere } of ROWS) {
  test(`A create that was ${what} is ${answer}`, async (t) => {
    const life = await open(t);
    life.fates.push(...fates);
    const startedAt = life.clock.now();
    const create = life.store.create(rex);
    if (answer === 'stored') assert.equal((await create).id, 1n);
    else {
      const name = answer === 'refused' ? 'StoreUnavailableError' : 'OutcomeUnknownError';
      await assert.rejects(create, { name });
    }
    const seconds = (life.clock.now() - startedAt) / 1000;
    assert.ok(seconds >= atSeconds[0] && seconds <= atSeconds[1], `after ${seconds} s`);
    assert.equal(await petsIn(t, life.etcd), isThere ? STORED : '[]');
  });
}

test('A slot that another process took is dead: the pet goes into the next', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  life.beforeCreate = async () => {
    life.beforeCreate = () => undefined;
    await other.store.create(tom);
  };
  assert.equal((await life.store.create(rex)).id, 2n);
  assert.equal(life.store.stats().conflicts, 1);
  assert.match(await petsIn(t, life.etcd), /"id":1,"name":"Tom".*\n.*"id":2,"name":"Rex"/);
});

test('A create that was cut, and lost its slot to another process, is stored once', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  life.fates.push('not done, cut');
  let sent = 0;
  life.beforeCreate = async () => {
    sent += 1;
    if (sent === 2) await other.store.create(tom);
  };
  assert.equal((await life.store.create(rex)).id, 2n);
  assert.equal((await other.store.list({ limit: 9 })).pets.length, 2);
});

test('Bytes that come late can take no slot but their own', async (t) => {
  const life = await open(t);
  life.fates.push(...Array<Fate>(1000).fill('done later, cut'));
  await assert.rejects(life.store.create(rex), { name: 'OutcomeUnknownError' });
  life.fates.length = 0;
  const other = await open(t, life.etcd);
  assert.equal((await other.store.create(tom)).id, 1n);
  for (const arrive of life.calls.late) arrive();
  assert.equal(
    (await life.store.list({ limit: 9 })).text,
    '[{"id":1,"name":"Tom","categoryId":7}]',
  );
  assert.equal((await life.store.create(rex)).id, 2n);
});

test('Who loses for five seconds is refused, and nothing of it is stored', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  let others = 0;
  life.beforeCreate = async () => {
    await life.clock.sleep(100);
    others += 1;
    await other.store.create(tom);
  };
  await assert.rejects(
    life.store.create(rex),
    /other processes took each slot that was tried, and 5 seconds have passed/,
  );
  assert.ok(others >= 10, `${others} rounds`);
  assert.doesNotMatch(await petsIn(t, life.etcd), /Rex/);
});

test('A create in doubt that lost its slot after 15 seconds says how long it took', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  life.fates.push(...Array<Fate>(34).fill('not done, cut'));
  const create = assert.rejects(life.store.create(rex), {
    name: 'StoreUnavailableError',
    message: /other processes took each slot that was tried, and 1[0-9] seconds have passed/,
  });
  await life.clock.sleep(10);
  await other.store.create(tom);
  await create;
});

test('While reads find no cluster no create is proposed, and none is needed to heal', async (t) => {
  const life = await open(t);
  let isCut = true;
  life.beforeRead = () => (isCut ? 'not done, cut' : 'answered');
  await life.clock.sleep(6_500);
  let sent = 0;
  life.beforeCreate = () => void (sent += 1);
  const startedAt = life.clock.now();
  await Promise.all(
    Array.from({ length: 8 }, () =>
      assert.rejects(life.store.create(rex), {
        name: 'StoreUnavailableError',
        message: /^The etcd cluster gives no answer: simulated$/,
      }),
    ),
  );
  assert.equal(life.clock.now(), startedAt, 'refused at once');
  assert.equal(sent, 0);
  isCut = false;
  while (life.store.problem() !== undefined) await life.clock.sleep(100);
  assert.ok(life.clock.now() - startedAt < 2_000);
  assert.equal((await life.store.create(rex)).id, 1n);
});

test('A create that waited is not proposed while reads find no cluster', async (t) => {
  const life = await open(t);
  life.beforeRead = () => 'not done, cut';
  // The first is in doubt for seven seconds, in which reads find out that there is no cluster.
  life.fates.push(...Array<Fate>(18).fill('not done, cut'));
  const first = life.store.create(rex);
  await life.clock.sleep(4_500);
  const second = life.store.create(tom);
  const refused = assert.rejects(second, {
    name: 'StoreUnavailableError',
    message: /^Pets cannot be stored: The etcd cluster gives no answer/,
  });
  assert.equal((await first).id, 1n);
  await refused;
  assert.equal(await petsIn(t, life.etcd), STORED);
});

test('A create in doubt is answered three seconds after a drain begins', async (t) => {
  const life = await open(t);
  life.fates.push(...Array<Fate>(1000).fill('not done, cut'));
  const create = assert.rejects(life.store.create(rex), { name: 'OutcomeUnknownError' });
  await life.clock.sleep(10);
  const startedAt = life.clock.now();
  life.store.drain();
  await create;
  assert.ok(life.clock.now() - startedAt < 4_000);
  assert.equal(life.store.problem()?.includes('simulated'), true, 'it serves reads on');
});

test('Creates behind one in doubt are refused after five seconds', async (t) => {
  const life = await open(t);
  life.fates.push(...Array<Fate>(1000).fill('not done, cut'));
  const first = assert.rejects(life.store.create(rex), { name: 'OutcomeUnknownError' });
  await life.clock.sleep(10);
  const startedAt = life.clock.now();
  await assert.rejects(life.store.create(tom), { name: 'StoreUnavailableError' });
  assert.ok(life.clock.now() - startedAt < 6_000);
  await first;
});

test('A store that closes does not wait fifteen seconds for one in doubt', async (t) => {
  const life = await open(t);
  life.fates.push(...Array<Fate>(1000).fill('not done, cut'));
  const create = assert.rejects(life.store.create(rex), { name: 'OutcomeUnknownError' });
  await life.clock.sleep(10);
  const startedAt = life.clock.now();
  await life.store.close();
  await create;
  assert.ok(life.clock.now() - startedAt < 5_000);
});

test('A key that another process stored meanwhile is answered with its pet', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  life.beforeCreate = async () => {
    life.beforeCreate = () => undefined;
    await other.store.createOnce(rex, KEY);
  };
  const { pet, isReplayed } = await life.store.createOnce(rex, KEY);
  assert.deepEqual([pet.id, isReplayed], [1n, true]);
  assert.equal(await petsIn(t, life.etcd), STORED);
});

test('A key that another process used for another pet meanwhile is refused', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  life.beforeCreate = async () => {
    life.beforeCreate = () => undefined;
    await other.store.createOnce(tom, KEY);
  };
  await assert.rejects(life.store.createOnce(rex, KEY), { name: 'KeyReusedError' });
});

test('A key that another process stored, and that expires before the outcome, is created anew', async (t) => {
  const life = await open(t);
  const other = await open(t, life.etcd);
  // For this process, a key that the other one stores now expires in 50 ms: a key is kept for 24
  // hours, and one more for clocks that differ.
  life.clock.timeOfDay = () => other.clock.timeOfDay() + 25 * 60 * 60 * 1000 - 50;
  life.beforeCreate = async () => {
    life.beforeCreate = () => undefined;
    await other.store.createOnce(rex, KEY);
    // The proposal loses its slot; what is left of the commit is stored after more than 50 ms.
    life.fates.push('answered', ...Array<Fate>(8).fill('unsent'));
  };
  const creates = [life.store.create(tom), life.store.createOnce(rex, KEY)] as const;
  const [pet, keyed] = await Promise.all(creates);
  assert.equal(pet.id, 2n);
  assert.deepEqual([keyed.pet.id, keyed.isReplayed], [3n, false]);
  assert.ok(life.clock.now() < 5_000);
});

for (const fate of ['done, cut', 'not done, cut', 'done later, cut'] as const) {
  test(`A retry with the key of a create in doubt (${fate}) finds its pet once`, async (t) => {
    const life = await open(t);
    life.fates.push(...Array<Fate>(1000).fill(fate));
    await assert.rejects(life.store.createOnce(rex, KEY), { name: 'OutcomeUnknownError' });
    life.fates.length = 0;
    assert.equal((await life.store.createOnce(rex, KEY)).pet.id, 1n);
    for (const arrive of life.calls.late) arrive();
    assert.equal(await petsIn(t, life.etcd), STORED);
  });
}

test('A retry of a create in doubt that is refused is still in doubt', async (t) => {
  const life = await open(t);
  life.fates.push(...Array<Fate>(1000).fill('not done, cut'));
  await assert.rejects(life.store.createOnce(rex, KEY), { name: 'OutcomeUnknownError' });
  life.fates.length = 0;
  life.fates.push('refused', 'refused');
  await assert.rejects(life.store.createOnce(rex, KEY), { name: 'OutcomeUnknownError' });
  await assert.rejects(life.store.create(tom), { name: 'StoreUnavailableError' });
  assert.equal((await life.store.createOnce(rex, KEY)).isReplayed, false);
});
