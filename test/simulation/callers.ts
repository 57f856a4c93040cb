/**
 * The callers of a store, and the scripts of what they do. The simulations of the file store and of
 * the etcd store drive the same ones, each with its own faults.
 *
 * Every response and every read is compared with the model. A client with a key sends its pet twice
 * at the same time, to different processes if there are several, and again after a failure.
 */

import type { NewPet, StoredPet } from '../../src/core/pets/pet.ts';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../../src/core/pets/pet-store.ts';
import { formatMembers } from '../../src/core/pets/pet-text.ts';
import { requestKey } from '../support/pets/request-keys.ts';
import type { KeyedClient, Model } from './model.ts';

/** What a simulation gives its callers: the processes of one store, and a clock. */
export interface Site {
  /** The processes that serve: none before a start, and none after a start that failed. */
  readonly stores: readonly PetStore[];
  /** True if no create appears after a start that did not show it. */
  readonly startDecides: boolean;
  /** How often a client with a key sends its pet before it waits for the next start. */
  readonly tries: number;
  start(): Promise<void>;
  /** A clean stop; a process that cannot stop cleanly is killed. */
  stop(): Promise<void>;
  kill(): void;
  /** Lets time pass, until the store has made every attempt that is due. */
  pass(ms: number): Promise<void>;
  /** The texts of all pets, as a read shows them; undefined if there is no response. */
  readAll(store: PetStore): Promise<readonly string[] | undefined>;
}

export type Script = (callers: Callers) => Promise<void>;

/** Longer than the time from one attempt of a store to the next. */
const PAUSE_MS = 1100;

export class Callers {
  readonly model: Model;
  /** What contradicts the model. */
  readonly complaints: string[] = [];
  readonly site: Site;
  #petNumber = 0;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(site: Site, model: Model) {
    this.model = model;
    this.site = site;
  }

  async start(): Promise<void> {
    await this.site.start();
    const [store] = this.site.stores;
    if (store === undefined) return;
    const pets = await this.site.readAll(store);
    if (pets === undefined) return;
    this.check(() => {
      if (this.site.startDecides) this.model.reopened(pets);
      else this.model.read(pets);
    });
  }

  /** Creates pets with names of these lengths, all at the same time. */
  create(...nameLengths: readonly number[]): Promise<void> {
    return this.#sendAll(() => {
      const pets = nameLengths.map((length) => this.#petOf((this.#petNumber += 1), length));
      return pets.map((pet, index) => this.#createOne(this.#storeAt(index), pet));
    });
  }

  /** As `create`, with keys. */
  createOnce(...nameLengths: readonly number[]): Promise<void> {
    return this.#sendAll(() => {
      const clients = nameLengths.map((length) => this.#newClient(length));
      return clients.map((client) => this.#sendUntilAcknowledged(client));
    });
  }

  /** Every client with a key sends its pet again, if it was acknowledged once. */
  retry(): Promise<void> {
    const { clients } = this.model.known;
    return this.#sendAll(() => clients.map((client) => this.#sendUntilAcknowledged(client)));
  }

  /** Compares what a read of this process shows with the model, and resolves with it. */
  async read(store: PetStore): Promise<readonly string[] | undefined> {
    const knownBefore = this.model.petCount;
    const pets = await this.site.readAll(store);
    if (pets !== undefined) this.check(() => this.model.read(pets, knownBefore));
    return pets;
  }

  check(expectation: () => void): void {
    try {
      expectation();
    } catch (error) {
      this.complaints.push((error as Error).message);
    }
  }

  /** Sends all at the same time, if a process serves, and reads from every process. */
  async #sendAll(send: () => readonly Promise<void>[]): Promise<void> {
    if (this.site.stores.length === 0) return;
    await this.site.pass(PAUSE_MS);
    await Promise.all(send());
    for (const store of this.site.stores) await this.read(store);
  }

  /** Creates of one turn share a commit: here the first has its own, and the others the next. */
  #ownTurn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => undefined);
    return this.#lastTurn;
  }

  #storeAt(index: number): PetStore {
    const { stores } = this.site;
    return stores[index % stores.length]!;
  }

  /** A pet unlike all others; with characters of two bytes, so that a torn write may split one. */
  #petOf(number: number, nameLength: number): NewPet {
    // A client of an earlier life may still send its own pet.
    const { petCount, known } = this.model;
    const name = `${petCount}.${known.clients.length}.${number}-`.padEnd(nameLength, 'é');
    const status = (['available', 'pending', 'sold', undefined] as const)[number % 4];
    return { name, categoryId: 7n, status };
  }

  async #createOne(store: PetStore, pet: NewPet): Promise<void> {
    const members = formatMembers(pet);
    this.model.sent(members);
    try {
      await this.#ownTurn();
      const stored = await store.create(pet);
      await this.#acknowledged(store, stored, () => this.model.acknowledged(members, stored));
    } catch (error) {
      this.#failed(members, [error]);
      this.#expectKnown(error);
    }
  }

  #newClient(nameLength: number): KeyedClient {
    const pet = this.#petOf((this.#petNumber += 1), nameLength);
    const members = formatMembers(pet);
    const key = requestKey(1000 * this.model.known.clients.length + this.#petNumber);
    const client = { key, pet, members, id: undefined };
    this.model.addClient(client);
    return client;
  }

  async #sendUntilAcknowledged(client: KeyedClient): Promise<void> {
    for (let tried = 0; tried < this.site.tries; tried += 1) {
      this.model.sent(client.members);
      const atOnce = client.id === undefined ? 2 : 1;
      const sent = Array.from({ length: atOnce }, (_, index) =>
        this.#sendOnce(this.#storeAt(tried + index), client),
      );
      const failures = (await Promise.all(sent)).filter((error) => error !== undefined);
      if (failures.length < atOnce) return;
      this.#failed(client.members, failures);
      await this.site.pass(PAUSE_MS);
    }
  }

  /** Resolves with the error of the create, or with undefined if it was acknowledged. */
  async #sendOnce(store: PetStore, client: KeyedClient): Promise<unknown> {
    try {
      await this.#ownTurn();
      const { pet } = await store.createOnce!(client.pet, client.key);
      await this.#acknowledged(store, pet, () => this.model.acknowledgedOnce(client, pet));
    } catch (error) {
      this.#expectKnown(error);
      return error;
    }
    return undefined;
  }

  /** Every process must show an acknowledged pet from now on. */
  async #acknowledged(store: PetStore, pet: StoredPet, judge: () => void): Promise<void> {
    // The responses of one commit come in any order; a read shows the whole commit.
    const read = Number(pet.id) > this.model.petCount ? this.read(store) : undefined;
    this.check(judge);
    await read;
    for (const other of this.site.stores) if (other !== store) await this.read(other);
  }

  #expectKnown(error: unknown): void {
    const isKnown = error instanceof OutcomeUnknownError || error instanceof StoreUnavailableError;
    if (!isKnown) this.complaints.push(`A create fails with ${String(error)}`);
  }

  #failed(members: string, errors: readonly unknown[]): void {
    const isInDoubt = errors.some((error) => error instanceof OutcomeUnknownError);
    if (isInDoubt) this.model.unknown(members);
    else this.model.ended(members);
  }
}

/** All that happens to a store. */
export async function liveShortly(callers: Callers): Promise<void> {
  await callers.start();
  await callers.create(3);
  await Promise.all([callers.create(400), callers.createOnce(3, 700)]);
  callers.site.kill();
  await callers.start();
  await callers.createOnce(300);
  await callers.site.stop();
  await callers.start();
  await Promise.all([callers.retry(), callers.create(3, 3, 3)]);
  await callers.createOnce(250);
  await callers.create(5);
  callers.site.kill();
  await callers.start();
  await callers.site.stop();
  await callers.start();
  await Promise.all([callers.retry(), callers.create(3)]);
}

/** A start, a few creates and a stop. */
export async function liveAndStop(callers: Callers): Promise<void> {
  await callers.start();
  await callers.createOnce(3);
  await callers.create(3, 400);
  await callers.create(3);
  await callers.site.stop();
}

/** Two commits and a kill, right after the second one, whatever became of it. */
export async function liveAndKill(callers: Callers): Promise<void> {
  await callers.start();
  await callers.create(3);
  await callers.create(3);
  callers.site.kill();
  await callers.start();
  await callers.create(3);
}

/** The same and a next start: enough for another program's changes. */
export async function liveOnce(callers: Callers): Promise<void> {
  await liveAndStop(callers);
  await callers.start();
  await Promise.all([callers.retry(), callers.create(3)]);
}

/** Creates with keys and a kill: what a failure can leave in doubt. */
export async function liveInDoubt(callers: Callers): Promise<void> {
  await callers.start();
  await callers.createOnce(3);
  await Promise.all([callers.create(3), callers.createOnce(3, 400)]);
  callers.site.kill();
  await callers.start();
  await callers.retry();
  await callers.createOnce(3);
  await callers.site.stop();
  await callers.start();
  await callers.retry();
}

/** Ten callers at the same time, with and without keys. */
export async function liveTogether(callers: Callers): Promise<void> {
  await callers.start();
  await Promise.all([callers.create(3, 3, 3, 3, 3), callers.createOnce(3, 3, 3, 3, 3)]);
}
