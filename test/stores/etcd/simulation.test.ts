/**
 * The simulation: two processes on one simulated etcd repeat the same script, and another call
 * fails each time. Clients repeat each create with a key until it succeeds.
 *
 * After each run an acknowledged pet is stored once, under its id, and a refused pet is not. Ids
 * have no gap. Both processes and a new one agree. A read that begins after a create was
 * acknowledged shows its pet.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../../../src/model/pet-store.ts';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { rounds, SEED } from '../../support/extent.ts';
import { simulatedCalls, type Fate } from '../../support/etcd/simulated-calls.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { createRandom, type Random } from '../../support/random.ts';

/** How calls fail, and how many of them from the chosen one on. */
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

/** What clients know. */
class Model {
  /** The names of acknowledged pets, by id. */
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
    const random = (): number => this.#random.below(1000) / 1000;
    const calls = simulatedCalls(this.etcd, async (kind, text) => {
      await this.clock.sleep(1 + this.#random.below(5));
      // A late transaction may arrive at any time.
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
      // The transactions that arrive late are those of both processes.
      if (fault.fate === 'done later, cut') {
        this.#late.push(() => void this.etcd.txn(text));
        return 'not done, cut';
      }
      return fault.fate;
    });
    const endpoints = ['http://127.0.0.1:2379'];
    const store = await openInitialized({ endpoints, calls, clock: this.clock, random });
    this.#stores.push(store);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }

  /** A client that sends its pet with a key, to each process in turn, until it is acknowledged. */
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
    assert.fail(`${name} was never acknowledged`);
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

  /** Lets all late transactions arrive, and checks the model against a new process. */
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
    assert.equal(new Set(names).size, names.length, 'a pet is stored twice');
    for (const [id, name] of this.model.answered) assert.equal(names[Number(id) - 1], name);
    for (const name of this.model.refused) assert.ok(!names.includes(name), `${name} was refused`);
    const answered = new Set(this.model.answered.values());
    for (const name of names) assert.ok(answered.has(name) || this.model.unknown.has(name), name);
  }

  /** Each process that can read shows an acknowledged pet. */
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

/** Runs two processes and ten clients. Resolves with the number of calls. */
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
  // A fault without an end ends with the script.
  await life.check(stores);
  return calls;
}

const FATES: readonly Fate[] = [...new Set([...WRITE_FATES, ...READ_FATES])];

/** With --all the day's, too. */
const SEEDS: readonly number[] = [...new Set([1, SEED])];

for (const seed of SEEDS) {
  for (const fate of FATES) {
    test(`No pet is lost or doubled if a call is ${fate}, or 40 calls are (seed ${seed})`, async () => {
      const calls = await live(seed);
      assert.ok(calls >= 10, `${calls} calls`);
      for (const length of [1, 40]) {
        // In the sample a long fault begins at each second call.
        const step = length === 1 ? 1 : rounds(2, 1);
        for (let atCall = 1; atCall <= calls; atCall += step) {
          const fault = { atCall, calls: length, fate };
          await live(seed, fault).catch((error: unknown) => {
            throw new Error(`With ${JSON.stringify(fault)}, seed ${seed}`, { cause: error });
          });
        }
      }
    });
  }
}
