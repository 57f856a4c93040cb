/**
 * A life: a scripted use of the store, on a disk that may fail, with every moment of it kept.
 *
 * Nobody waits for time here: the clock is part of the script. All reads are made at every
 * operation of the disk, so that a pet that shows too early is known to have been seen.
 */

import { systemMemory, type Memory } from '../../src/base/memory.ts';
import type { NewPet } from '../../src/model/pet.ts';
import {
  isSafe,
  OutcomeUnknownError,
  type CreatedPet,
  type PetStore,
} from '../../src/model/pet-store.ts';
import { createCommit, encodeCommit } from '../../src/stores/commits/commit.ts';
import type { Disk } from '../../src/stores/file/disk.ts';
import { openFileStore, type FileStore } from '../../src/stores/file/file-store.ts';
import { PREFIX_LENGTH } from '../../src/stores/file/journal-line.ts';
import { KeyTable } from '../../src/stores/idempotency/key-table.ts';
import { PetTable } from '../../src/stores/table/pet-table.ts';
import { pendingPet } from '../support/disk/journal-text.ts';
import { requestKey } from '../support/pets/request-keys.ts';
import type { DiskImage } from './disk-image.ts';
import { Model, type KeyedClient, type Knowledge } from './model.ts';
import { SimulatedDisk, type Fault, type OperationKind } from './simulated-disk.ts';
import { SECTOR_BYTES } from './survival.ts';

export const DATA_FILE = '/data/pets.json';
export const JOURNAL: string = `${DATA_FILE}.journal`;
export const LOCK: string = `${DATA_FILE}.lock`;
export const KEYS: string = `${DATA_FILE}.keys`;

const TIME_OF_DAY: number = Date.UTC(2026, 10, 21);

/** How often a client with a key sends its pet before it waits for the next start. */
const TRIES = 2;

/** More than any life has; a table for all that a store keeps would take too long to make. */
const MAX_KEYS = 64;

/** Long enough for any number of a pet. */
const MIN_NAME = 20;

/** What stands between the store and the disk: nothing, or a lie on purpose (broken-disks.ts). */
export type Wrap = (disk: Disk) => Disk;

/** The disk and the knowledge between two operations. */
export interface Moment {
  readonly before: string;
  readonly image: DiskImage;
  readonly known: Knowledge;
}

/** Somebody else removes or replaces a file, before operation `at`. */
export interface Intrusion {
  readonly at: number;
  readonly path: string;
  /** What is put there; undefined for nothing. */
  readonly content: Buffer | undefined;
  /** Another file that is removed with it. */
  readonly also?: string;
}

/** Memory that fails at a request, counted from 0: that one alone, or all from then on. */
export interface MemoryFault {
  readonly at: number;
  readonly lasts: 'once' | 'for ever';
}

/** The time of day is stepped before operation `at`. */
export interface ClockStep {
  readonly at: number;
  readonly ms: number;
}

export interface LifeOptions {
  readonly clockStep?: ClockStep | undefined;
  /** Whether keys age by the time of day: a deliberate break. */
  readonly agesByTimeOfDay?: boolean | undefined;
  /** What is on the disk, and what is known of it; nothing, unless given. */
  readonly image?: DiskImage | undefined;
  readonly model?: Model | undefined;
  readonly fault?: Fault | undefined;
  readonly memoryFault?: MemoryFault | undefined;
  readonly intrusion?: Intrusion | undefined;
  readonly wrap?: Wrap | undefined;
  readonly hidesDoubt?: boolean | undefined;
  /** Whether clients take another key after an unknown outcome: another deliberate break. */
  readonly forgetsDoubt?: boolean | undefined;
  /** The first operation before which a moment is kept. */
  readonly keepsFrom?: number | undefined;
  /** From when on a journal is worth a checkpoint at a start. */
  readonly longJournalBytes?: number | undefined;
}

export class Life {
  readonly disk: SimulatedDisk;
  readonly model: Model;
  readonly moments: Moment[] = [];
  /** The kind and the path of each operation. */
  readonly operations: { readonly kind: OperationKind; readonly path: string }[] = [];
  /** How often memory was asked for. */
  requests = 0;
  /** What contradicts the model. */
  readonly complaints: string[] = [];
  /** Whether the last stop said that the pets are safe. */
  isSafe = false;
  /** Why the last start failed. */
  startError: unknown;
  #store: PetStore | undefined;
  /** Where the store has its pets: what it will answer is read here, at once. */
  #pets = new PetTable();
  #now = 0;
  /** What the store has to be called back for. */
  readonly #tickers: Set<() => void | Promise<void>> = new Set();
  /** How far the time of day was stepped. */
  #stepMs = 0;
  #petNumber = 0;
  #lastVersion = -1;
  readonly #options: LifeOptions;

  constructor(options: LifeOptions = {}) {
    const { intrusion, clockStep } = options;
    this.disk = new SimulatedDisk(options.image, (kind, path) => {
      const { operations } = this.disk;
      if (clockStep?.at === operations) this.#stepMs = clockStep.ms;
      if (intrusion?.at === operations) {
        this.disk.intrude(intrusion.path, intrusion.content);
        if (intrusion.also !== undefined) this.disk.intrude(intrusion.also, undefined);
      }
      this.operations.push({ kind, path });
      this.#look(`operation ${operations}, ${kind} ${path}`);
    });
    this.disk.fault = options.fault;
    this.model = options.model ?? new Model();
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#store !== undefined;
  }

  /** Why the store takes no pets; undefined while it does, or is not open. */
  get problem(): string | undefined {
    return this.#store?.problem();
  }

  /** Starts the store; where something may fail, with a second try. */
  async start(): Promise<void> {
    const { fault, memoryFault, wrap = (disk: Disk): Disk => disk } = this.#options;
    const tries = fault === undefined && memoryFault === undefined ? 1 : 2;
    for (let tried = 0; tried < tries && this.#store === undefined; tried += 1) {
      const now = (): number => this.#now;
      const disk = wrap(this.disk.startProcess());
      const { longJournalBytes } = this.#options;
      const memory = this.#memory();
      try {
        this.#pets = new PetTable(memory);
        const clock = { now, timeOfDay: (): number => TIME_OF_DAY + this.#now + this.#stepMs };
        const { timeOfDay } = clock;
        const { agesByTimeOfDay } = this.#options;
        const keysClock = agesByTimeOfDay === true ? { now: timeOfDay, timeOfDay } : clock;
        const keys = new KeyTable(keysClock, MAX_KEYS);
        const options = { disk, memory, pets: this.#pets, keys, longJournalBytes, ...clock };
        this.#tickers.clear();
        const timers = { every: this.#every, sleep: this.#sleep };
        const simulated = { ...options, ...timers, randomBits: () => 4711 };
        this.#store = await openFileStore({ path: DATA_FILE, ...simulated });
        this.startError = undefined;
      } catch (error) {
        this.startError = error;
        this.#expectAllClosed();
      }
    }
    if (this.#store === undefined) return;
    this.#check(() => this.model.reopened(readAll(this.#pets)));
    const { text } = await this.#store.list(ALL);
    if (text !== this.#pets.list(ALL).text) this.complaints.push(`The store answers ${text}`);
  }

  /** Lets time pass, until the store has made any try that is due. */
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    for (const tick of [...this.#tickers]) await tick();
  }

  readonly #every = (_ms: number, tick: () => void | Promise<void>): (() => void) => {
    this.#tickers.add(tick);
    return () => void this.#tickers.delete(tick);
  };

  readonly #sleep = async (ms: number): Promise<void> => {
    this.#now += ms;
  };

  /** Creates pets with names of these lengths, all at once. */
  async create(...nameLengths: readonly number[]): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    await this.pass(1100);
    const pets = nameLengths.map((length) => this.#petOf((this.#petNumber += 1), length));
    await Promise.all(pets.map((pet) => this.#createOne(store, pet)));
    this.#read();
  }

  /** As `create`, with keys: each client sends its pet twice at once, and again on a failure. */
  async createOnce(...nameLengths: readonly number[]): Promise<void> {
    if (this.#store === undefined) return;
    await this.pass(1100);
    const clients = nameLengths.map((length) => this.#newClient(length));
    await Promise.all(clients.map((client) => this.#sendUntilAnswered(client)));
    this.#read();
  }

  /** All clients with keys send their pets again, once more if they were answered. */
  async retry(): Promise<void> {
    if (this.#store === undefined) return;
    await this.pass(1100);
    await Promise.all(this.model.clients.map((client) => this.#sendUntilAnswered(client)));
    this.#read();
  }

  /** Reads once more, without any other operation. */
  read(): void {
    this.#read();
  }

  /**
   * Creates a pet whose commit has its line feed first in a sector, so that a power cut can take
   * that byte alone. Its name is as long as it has to be.
   */
  async createUpToSector(): Promise<void> {
    const id = this.disk.image.names.get(JOURNAL);
    const start = id === undefined ? 0 : this.disk.image.files.get(id)!.cached.length;
    const probe = this.#petOf(this.#petNumber + 1, MIN_NAME, 'x');
    const text = encodeCommit(createCommit(BigInt(this.model.petCount), [pendingPet(probe)], 0));
    const lineFeedAt = start + PREFIX_LENGTH + text.length;
    const missing = (SECTOR_BYTES - (lineFeedAt % SECTOR_BYTES)) % SECTOR_BYTES;
    if (this.#store === undefined) return;
    await this.pass(1100);
    await this.#createOne(
      this.#store,
      this.#petOf((this.#petNumber += 1), MIN_NAME + missing, 'x'),
    );
    this.#read();
  }

  /** A clean stop; what cannot be stopped cleanly is killed. */
  async stop(): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    this.isSafe = await store.close().then(
      () => isSafe((store as FileStore).whereAreThePets() ?? 'cannot be told'),
      () => false,
    );
    this.#store = undefined;
    this.#expectAllClosed();
    this.#look('the next start');
  }

  kill(): void {
    this.#store = undefined;
    this.#look('the next start');
  }

  /** To be called when the life is over: keeps the last moment. */
  end(): void {
    this.#look('the end');
  }

  #memory(): Memory {
    const { memoryFault } = this.#options;
    const ask = <T>(allocate: (length: number) => T): ((length: number) => T) => {
      return (length) => {
        const at = this.requests++;
        const fails =
          memoryFault?.lasts === 'once'
            ? at === memoryFault.at
            : at >= (memoryFault?.at ?? Infinity);
        if (fails) throw new RangeError('Array buffer allocation failed');
        return allocate(length);
      };
    };
    return {
      bytes: ask(systemMemory.bytes),
      uint32s: ask(systemMemory.uint32s),
      int64s: ask(systemMemory.int64s),
    };
  }

  /** A pet that no other is like; with characters of two bytes, so that a cut may be in one. */
  #petOf(number: number, nameLength: number, filler = 'é'): NewPet {
    // A client of an earlier life may still come with its own.
    const { petCount, clients } = this.model;
    const name = `${petCount}.${clients.length}.${number}-`.padEnd(nameLength, filler);
    const status = (['available', 'pending', 'sold', undefined] as const)[number % 4];
    return { name, categoryId: 7n, status };
  }

  async #createOne(store: PetStore, pet: NewPet): Promise<void> {
    const { members } = pendingPet(pet);
    this.model.sent(members);
    try {
      const answer = await store.create(pet);
      if (Number(answer.id) > this.model.petCount) this.#read();
      this.#check(() => this.model.answered(members, answer));
    } catch (error) {
      const isInDoubt = error instanceof OutcomeUnknownError && !this.#options.hidesDoubt;
      if (isInDoubt) this.model.unknown(members);
      else this.model.refused(members);
    }
  }

  #newClient(nameLength: number): KeyedClient {
    const pet = this.#petOf((this.#petNumber += 1), nameLength);
    const { members } = pendingPet(pet);
    const key = requestKey(1000 * this.model.clients.length + this.#petNumber);
    const client = { key, pet, members, id: undefined };
    this.model.addClient(client);
    return client;
  }

  async #sendUntilAnswered(client: KeyedClient): Promise<void> {
    let { key } = client;
    for (let tried = 0; tried < TRIES; tried += 1) {
      this.model.sent(client.members);
      // One that was not answered yet may come while the one before is under way.
      const atOnce = client.id === undefined ? 2 : 1;
      const sent = Array.from({ length: atOnce }, () => this.#sendOnce(client, key));
      const failures = (await Promise.all(sent)).filter((error) => error !== undefined);
      if (failures.length < atOnce) return;
      const isInDoubt = failures.some((error) => error instanceof OutcomeUnknownError);
      if (isInDoubt) this.model.unknown(client.members);
      else this.model.refused(client.members);
      if (isInDoubt && this.#options.forgetsDoubt) key = requestKey(-1 - this.#petNumber);
      await this.pass(1100);
    }
  }

  /** Sends the pet; resolves with what it fails with, undefined when it is answered. */
  async #sendOnce(client: KeyedClient, key: string): Promise<unknown> {
    let created: CreatedPet | undefined;
    try {
      created = await this.#store?.createOnce?.(client.pet, key);
    } catch (error) {
      return error;
    }
    if (created === undefined) throw new Error('The store knows no keys');
    const { pet } = created;
    // Answers of one commit may come in any order; reads show all of it.
    if (Number(pet.id) > this.model.petCount) this.#read();
    this.#check(() => this.model.answeredOnce(client, pet));
    return undefined;
  }

  #look(before: string): void {
    // To read all of it at each operation would take too long.
    if (this.#store?.count().total !== this.model.petCount) this.#read();
    if (this.disk.operations < (this.#options.keepsFrom ?? 0)) return;
    const isSame = this.moments.at(-1)?.image === this.disk.image;
    if (isSame && this.#lastVersion === this.model.version) return;
    this.#lastVersion = this.model.version;
    this.moments.push({ before, image: this.disk.image, known: this.model.knowledge() });
  }

  #read(): void {
    if (this.#store === undefined) return;
    this.#check(() => this.model.seen(readAll(this.#pets)));
  }

  #check(expectation: () => void): void {
    try {
      expectation();
    } catch (error) {
      this.complaints.push((error as Error).message);
    }
  }

  #expectAllClosed(): void {
    const { openCount } = this.disk;
    if (openCount > 0) this.complaints.push(`${openCount} files or locks were left open`);
  }
}

const ALL = { limit: 100 };

/** The text of each pet, as both reads show them. */
function readAll(pets: PetTable): readonly string[] {
  const { text } = pets.list(ALL);
  const texts = text === '[]' ? [] : text.slice(1, -1).split(',\n');
  for (const [index, listed] of texts.entries()) {
    const alone = pets.get(BigInt(index + 1))?.text;
    if (alone !== listed) throw new Error(`Reads differ: ${listed} in the list, ${alone} alone`);
  }
  return texts;
}

/** A short life with all that happens in one, but for a long journal. */
export async function liveShortly(life: Life): Promise<void> {
  await life.start();
  await life.create(3);
  await Promise.all([life.create(400), life.createOnce(3, 700)]);
  life.kill();
  await life.start();
  await life.createUpToSector();
  await life.createOnce(300);
  await life.stop();
  await life.start();
  await Promise.all([life.retry(), life.create(3, 3, 3)]);
  await life.createOnce(250);
  life.kill();
  await life.start();
  await life.stop();
  await life.start();
  await Promise.all([life.retry(), life.create(3)]);
}

/** A start, two creates and a stop: what memory, or somebody else, can spoil. */
export async function liveOnce(life: Life): Promise<void> {
  await life.start();
  await life.createOnce(3);
  await life.create(3, 400);
  await life.create(3);
  await life.stop();
  await life.start();
  await Promise.all([life.retry(), life.create(3)]);
}

/** Creates with keys and a kill: what a failure can put in doubt. */
export async function liveInDoubt(life: Life): Promise<void> {
  await life.start();
  await life.createOnce(3);
  await Promise.all([life.create(3), life.createOnce(3, 400)]);
  life.kill();
  await life.start();
  await life.retry();
  await life.createOnce(3);
  await life.stop();
  await life.start();
  await life.retry();
}

/** Leaves a journal that is long enough for a checkpoint at the next start. */
export async function growLongJournal(life: Life): Promise<void> {
  await life.start();
  await life.create(3);
  await life.createOnce(300);
  await life.create(300, 3);
  life.kill();
}

/** A start with a long journal, and what follows. */
export async function liveOnLongJournal(life: Life): Promise<void> {
  await life.start();
  await Promise.all([life.retry(), life.create(3), life.createOnce(3)]);
  await life.stop();
}
