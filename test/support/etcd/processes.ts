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
