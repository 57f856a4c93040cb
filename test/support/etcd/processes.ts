/**
 * The processes that share one log, as a site of test/simulation/callers.ts. The simulation opens
 * them on a simulated etcd, and the random test on real members.
 *
 * The model judges each response and each read, of any process and at the end of a new one. A read
 * that begins after a response must show its pet.
 */

import assert from 'node:assert/strict';
import { StoreUnavailableError, type PetStore } from '../../../src/core/pets/pet-store.ts';
import type { EtcdStore } from '../../../src/extras/etcd/etcd-store.ts';
import { Callers, type Site } from '../../simulation/callers.ts';
import { Model } from '../../simulation/model.ts';
import { textsOf } from '../pets/next-start.ts';

/** In doubt, a create may wait for 15 s, and a read for 5 s; they end at the next tick. */
const CREATE_MS = 16_000;
const READ_MS = 5_500;

export interface LogProcess {
  readonly store: EtcdStore;
  /** From now on nothing that the process sends arrives. */
  cutOff(): void;
}

interface Options<One> {
  /** How many processes serve, and how another one is opened. */
  readonly count: number;
  open(): Promise<One>;
  pass(ms: number): Promise<void>;
  now(): number;
  /** How many times as long as the README promises a call may take, by the clock `now`. */
  readonly slack: number;
}

export class Processes<One extends LogProcess> implements Site {
  readonly callers: Callers = new Callers(this, new Model(undefined, false));
  readonly startDecides = false;
  readonly tries = 50;
  all: readonly One[] = [];
  readonly #options: Options<One>;
  readonly #ended: Promise<void>[] = [];

  constructor(options: Options<One>) {
    this.#options = options;
  }

  get stores(): readonly EtcdStore[] {
    return this.all.map(({ store }) => store);
  }

  pass(ms: number): Promise<void> {
    return this.#options.pass(ms);
  }

  /** Opens a process in addition. */
  async #open(): Promise<EtcdStore> {
    const one = await this.#options.open();
    this.#watch(one.store);
    this.all = [...this.all, one];
    return one.store;
  }

  async start(): Promise<void> {
    while (this.all.length < this.#options.count) await this.#open();
  }

  async stop(): Promise<void> {
    const { stores } = this;
    this.all = [];
    await Promise.all(stores.map((store) => store.close()));
  }

  kill(): void {
    for (const { cutOff } of this.all) cutOff();
    this.#ended.push(this.stop());
  }

  /** Complains of a call that takes longer than the README promises. */
  #watch(store: EtcdStore): void {
    const { now, slack } = this.#options;
    const limits = {
      create: CREATE_MS,
      // A client may wait for its other create with the same key first.
      createOnce: 2 * CREATE_MS,
      list: READ_MS,
    };
    for (const [name, limitMs] of Object.entries(limits)) {
      const methods = store as unknown as Record<string, (...args: unknown[]) => unknown>;
      const run = methods[name]!.bind(store);
      methods[name] = async (...args) => {
        const startedAt = now();
        try {
          // A closed store lists at once, without a promise.
          return await run(...args);
        } finally {
          const tookMs = now() - startedAt;
          if (tookMs > slack * limitMs) this.callers.complaints.push(`${name}: ${tookMs} ms`);
        }
      };
    }
  }

  /** Kills a process. Resolves when another one has taken its place. */
  async replace(old: One): Promise<void> {
    this.all = this.all.filter((one) => one !== old);
    old.cutOff();
    this.#ended.push(old.store.close());
    await this.start();
  }

  async readAll(store: PetStore): Promise<readonly string[] | undefined> {
    // A closed store still serves reads, but a killed process does not.
    if (!this.all.some((one) => one.store === store)) return undefined;
    try {
      const texts = await textsOf(store);
      const alone = await store.get(BigInt(texts.length));
      assert.equal(alone?.text, texts.at(-1), 'get and list differ');
      return texts;
    } catch (error) {
      const { complaints } = this.callers;
      if (!(error instanceof StoreUnavailableError)) complaints.push(`A read fails: ${error}`);
      else if (store.unreadiness?.() === undefined) {
        complaints.push(`A read is refused by a store that is ready: ${error.message}`);
      }
      return undefined;
    }
  }

  /** Ends the script: every process shows what a new one shows, and each client has its pet. */
  async finish(): Promise<readonly string[]> {
    const { callers } = this;
    try {
      const last = await this.#open();
      let pets = await this.readAll(last);
      for (let tries = 0; pets === undefined && tries < this.tries; tries += 1) {
        await this.pass(1_000);
        pets = await this.readAll(last);
      }
      callers.check(() => callers.model.reopened(pets ?? []));
      for (const store of this.stores) await callers.read(store);
      const unanswered = callers.model.known.clients.filter(({ id }) => id === undefined).length;
      if (unanswered > 0) callers.complaints.push(`${unanswered} clients got no response`);
      return callers.complaints;
    } finally {
      this.#ended.push(this.stop());
      await Promise.all(this.#ended);
    }
  }
}
