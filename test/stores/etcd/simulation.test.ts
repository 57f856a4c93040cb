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
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/model/pet-store.ts';
import type { StoredPet } from '../../../src/model/pet.ts';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { History } from '../../support/etcd/history.ts';
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

class Life {
  readonly history: History = new History();
  readonly clock: VirtualClock = new VirtualClock();
  readonly etcd: SimulatedEtcd = new SimulatedEtcd();
  readonly #random: Random;
  readonly #fault: Fault | undefined;
  readonly #late: (() => void)[] = [];
  readonly #stores: EtcdStore[] = [];
  #calls = 0;
  #ticks = 0;

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
    const store = await openInitialized({ endpoints, calls, clock: this.clock });
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
      const create = async (): Promise<StoredPet | undefined> =>
        (await store?.createOnce({ name, categoryId: 1n }, key))?.pet;
      if (await this.#create(stores, name, create)) return;
      await this.clock.sleep(500);
    }
    assert.fail(`${name} was never acknowledged`);
  }

  /** A client that sends its pet once. */
  async plainClient(stores: readonly EtcdStore[], name: string): Promise<void> {
    const create = async (): Promise<StoredPet | undefined> =>
      stores[0]?.create({ name, categoryId: 1n }).catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) this.history.refused(name);
        throw error;
      });
    await this.#create(stores, name, create);
  }

  /** Lets all late transactions arrive, and checks the history against a new process. */
  async check(stores: readonly EtcdStore[]): Promise<void> {
    for (const arrive of this.#late.splice(0)) arrive();
    const fresh = await this.open();
    const pages = await Promise.all([fresh, ...stores].map((store) => store.list({ limit: 1000 })));
    assert.equal(new Set(pages.map(({ text }) => text)).size, 1, 'the processes differ');
    this.history.check((pages[0]?.pets ?? []).map(({ id, name }) => ({ id: Number(id), name })));
  }

  /** Creates the pet, and reads it from each process. Resolves with true if it is acknowledged. */
  async #create(
    stores: readonly EtcdStore[],
    name: string,
    create: () => Promise<StoredPet | undefined>,
  ): Promise<boolean> {
    const startedAt = this.#tick();
    this.history.sent(name, startedAt);
    const pet = await create().catch((error: unknown) => this.#pass(error));
    if (pet === undefined) return false;
    const id = Number(pet.id);
    this.history.created({ id, name }, startedAt, this.#tick());
    for (const store of stores) {
      const askedAt = this.#tick();
      const found = await store.get(pet.id).catch((error: unknown) => this.#pass(error) ?? null);
      if (found === null) continue;
      const seen = found && { id, name: found.name };
      this.history.got(id, seen, askedAt, this.#tick());
    }
    return true;
  }

  /** The next moment: everything that happens has one. */
  #tick(): number {
    return (this.#ticks += 1);
  }

  /** Throws the error if a fault does not explain it. */
  #pass(error: unknown): undefined {
    const isOpen = error instanceof OutcomeUnknownError || error instanceof StoreUnavailableError;
    if (!isOpen) throw error;
    return undefined;
  }
}

/** Runs two processes and ten clients. Resolves with the number of calls. */
async function live(seed: number, fault?: Fault): Promise<number> {
  const life = new Life(seed, fault);
  try {
    const stores = [await life.open(), await life.open()];
    const clients: Promise<void>[] = [];
    for (let i = 0; i < 5; i += 1) {
      const order = i % 2 === 0 ? stores : [...stores].reverse();
      clients.push(life.keyedClient(order, `keyed ${i}`), life.plainClient(order, `plain ${i}`));
      await life.clock.sleep(3);
    }
    await Promise.all(clients);
    const { calls } = life;
    await life.check(stores);
    return calls;
  } finally {
    await life.close();
  }
}

const FATES: readonly Fate[] = [...new Set([...WRITE_FATES, ...READ_FATES])];

/** With --all the day's, too. */
const SEEDS: readonly number[] = [...new Set([1, SEED])];

for (const seed of SEEDS) {
  for (const fate of FATES) {
    test(`No pet is lost or doubled if 1 or 40 calls are ${fate} (seed ${seed})`, async () => {
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
