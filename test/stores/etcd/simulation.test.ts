/**
 * The simulation: two processes on one simulated etcd live through the same script again and again,
 * and at each call in turn something else goes wrong. Clients send each create with a key until
 * they have an answer.
 *
 * Whatever happens: an answered pet is there once, under its id; a refused one is not; ids have no
 * gap; both processes and a new one agree; and a read that begins after an answer shows its pet.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../../../src/model/pet-store.ts';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { SEED } from '../../support/extent.ts';
import { simulatedCalls, type Fate } from '../../support/etcd/simulated-calls.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { createRandom, type Random } from '../../support/random.ts';

/** What goes wrong, and for how many calls from the chosen one on. */
interface Fault {
  readonly atCall: number;
  readonly calls: number;
  readonly fate: Fate;
}

const WRITE_FATES: readonly Fate[] = [
  ...(['done, cut', 'not done, cut', 'done later, cut', 'unsent', 'refused'] as const),
  ...(['done, no space', 'not done, no space', 'too long'] as const),
];
const READ_FATES: readonly Fate[] = ['not done, cut', 'unsent', 'refused', 'too long'];

/** Everything that is known from answers. */
class Model {
  /** The names of pets whose creates were answered, by id. */
  readonly answered: Map<bigint, string> = new Map();
  readonly refused: Set<string> = new Set();
  readonly unknown: Set<string> = new Set();
}

class Life {
  readonly model: Model = new Model();
  readonly clock: VirtualClock = new VirtualClock();
  readonly etcd: SimulatedEtcd = new SimulatedEtcd();
  readonly #random: Random;
  readonly #fault: Fault | undefined;
  readonly #late: (() => void)[] = [];
  readonly #stores: EtcdStore[] = [];
  #calls = 0;

  constructor(seed: number, fault: Fault | undefined) {
    this.#random = createRandom(seed);
    this.#fault = fault;
  }

  get calls(): number {
    return this.#calls;
  }

  async open(): Promise<EtcdStore> {
    this.clock.random = () => this.#random.below(1000) / 1000;
    const calls = simulatedCalls(this.etcd, async (kind, text) => {
      await this.clock.sleep(1 + this.#random.below(5));
      // What was on its way may arrive at any time.
      if (this.#random.oneIn(3)) this.#late.shift()?.();
      if (kind === 'start') return 'answered';
      this.#calls += 1;
      const fault = this.#fault;
      const isHit =
        fault !== undefined &&
        this.#calls >= fault.atCall &&
        this.#calls < fault.atCall + fault.calls;
      if (!isHit) return 'answered';
      const fates = kind === 'create' ? WRITE_FATES : READ_FATES;
      if (!fates.includes(fault.fate)) return 'answered';
      // A second answer to an operator who wants to know what was sent: nothing of it is shared.
      if (fault.fate === 'done later, cut') {
        this.#late.push(() => void this.etcd.txn(text));
        return 'not done, cut';
      }
      return fault.fate;
    });
    const endpoints = ['http://127.0.0.1:2379'];
    const store = await openInitialized({ endpoints, calls, clock: this.clock });
    this.#stores.push(store);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }

  /** A client that sends its pet with a key, to one process or the other, until it is answered. */
  async keyedClient(stores: readonly EtcdStore[], name: string): Promise<void> {
    const key = Buffer.from(name).toString('hex').padStart(32, '0');
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const store = stores[attempt % stores.length];
      const created = await store
        ?.createOnce({ name, categoryId: 1n }, key)
        .catch((error: unknown) => this.#pass(error));
      if (created !== undefined) {
        await this.#answered(stores, created.pet.id, name);
        return;
      }
      await this.clock.sleep(500);
    }
    assert.fail(`${name} was never answered`);
  }

  /** A client that sends its pet once. */
  async plainClient(stores: readonly EtcdStore[], store: EtcdStore, name: string): Promise<void> {
    try {
      const { id } = await store.create({ name, categoryId: 1n });
      await this.#answered(stores, id, name);
    } catch (error) {
      if (error instanceof OutcomeUnknownError) this.model.unknown.add(name);
      else this.#pass(error);
      if (error instanceof StoreUnavailableError) this.model.refused.add(name);
    }
  }

  /** All that was on its way arrives, and a new process holds everything against the model. */
  async check(stores: readonly EtcdStore[]): Promise<void> {
    for (const arrive of this.#late.splice(0)) arrive();
    const fresh = await this.open();
    const texts = await Promise.all([fresh, ...stores].map((store) => textOf(store)));
    assert.deepEqual(new Set(texts).size, 1, 'the processes differ');
    const { pets } = await fresh.list({ limit: 1000 });
    assert.deepEqual(
      pets.map(({ id }) => id),
      pets.map((_, index) => BigInt(index + 1)),
    );
    const names = pets.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length, 'a pet is there twice');
    for (const [id, name] of this.model.answered) assert.equal(names[Number(id) - 1], name);
    for (const name of this.model.refused) assert.ok(!names.includes(name), `${name} was refused`);
    const answered = new Set(this.model.answered.values());
    for (const name of names) assert.ok(answered.has(name) || this.model.unknown.has(name), name);
  }

  /** What is answered is seen by every process that can read. */
  async #answered(stores: readonly PetStore[], id: bigint, name: string): Promise<void> {
    assert.ok(!this.model.answered.has(id), `the id ${id} was answered twice`);
    this.model.answered.set(id, name);
    for (const store of stores) {
      const pet = await Promise.resolve(store.get(id)).catch((error: unknown) => {
        this.#pass(error);
        return { name };
      });
      assert.equal(pet?.name, name, `a stale read of ${id}`);
    }
  }

  #pass(error: unknown): undefined {
    const isTold = error instanceof OutcomeUnknownError || error instanceof StoreUnavailableError;
    if (!isTold) throw error;
    return undefined;
  }
}

async function textOf(store: PetStore): Promise<string> {
  return (await store.list({ limit: 1000 })).text;
}

/** Two processes and ten clients; how many calls that took. */
async function live(seed: number, fault?: Fault): Promise<number> {
  const life = new Life(seed, fault);
  try {
    return await liveThrough(life);
  } finally {
    await life.close();
  }
}

async function liveThrough(life: Life): Promise<number> {
  const stores = [await life.open(), await life.open()];
  const clients: Promise<void>[] = [];
  for (let i = 0; i < 5; i += 1) {
    const order = i % 2 === 0 ? stores : [...stores].reverse();
    const [first] = order;
    clients.push(life.keyedClient(order, `keyed ${i}`));
    if (first !== undefined) clients.push(life.plainClient(stores, first, `plain ${i}`));
    await life.clock.sleep(3);
  }
  await Promise.all(clients);
  const { calls } = life;
  // What is wrong for ever is over when the script is.
  await life.check(stores);
  return calls;
}

const FATES: readonly Fate[] = [...new Set([...WRITE_FATES, ...READ_FATES])];

/** With --all the day's, too. */
const SEEDS: readonly number[] = [...new Set([1, SEED])];

for (const seed of SEEDS) {
  for (const fate of FATES) {
    test(`At each call, once and for long: ${fate} (seed ${seed})`, async () => {
      const calls = await live(seed);
      assert.ok(calls >= 10, `${calls} calls`);
      for (const length of [1, 40]) {
        for (let atCall = 1; atCall <= calls; atCall += 1) {
          const fault = { atCall, calls: length, fate };
          await live(seed, fault).catch((error: unknown) => {
            throw new Error(`With ${JSON.stringify(fault)}, seed ${seed}`, { cause: error });
          });
        }
      }
    });
  }
}
