/**
 * A life of the file store: callers follow a script on a disk that may fail, and the disk and what
 * is known are kept at every moment.
 *
 * Time does not pass by itself: the clock belongs to the script. Whenever the number of pets
 * changes, a read begins before the next disk operation. Its result comes later, but it shows the
 * pets of that moment, so that the moment knows of each pet that a client could have read.
 */

import { systemMemory } from '../../src/core/base/system.ts';
import type { WherePetsAre } from '../../src/core/pets/pet-store.ts';
import { splitPets } from '../../src/core/pets/pet-text.ts';
import { openFileStore, type FileStore } from '../../src/core/store/file-store.ts';
import { TestClock } from '../support/test-clock.ts';
import { Callers, type Script, type Site } from './callers.ts';
import { FOLDER, type DiskImage } from './disk-image.ts';
import { Model, type Knowledge } from './model.ts';
import { SimulatedDisk, type Fault, type OperationKind } from './simulated-disk.ts';
import { worstEnd } from './survival.ts';

export const DATA_FILE = '/data/pets.json';

/** More than all pets of a life have: to allocate the usual chunks took half of the time. */
const CHUNK_BYTES: number = 1 << 16;

/** The disk and the knowledge between two operations. */
export interface Moment {
  readonly before: string;
  readonly image: DiskImage;
  /** With the pets that a read of this moment shows, as soon as it has ended. */
  known: Knowledge;
}

/** An operation of the disk. */
export interface Operation {
  readonly kind: OperationKind;
  readonly path: string;
}

export interface LifeOptions {
  /** What is on the disk, and what is known of it; nothing by default. */
  readonly image?: DiskImage | undefined;
  readonly known?: Knowledge | undefined;
  readonly faults?: readonly Fault[] | undefined;
  /** The memory fails at a request, counted from 0: at this one only, or from then on. */
  readonly memoryFault?: Omit<Fault, 'kind'> | undefined;
  /** What another program does before an operation, by the number of operations so far. */
  readonly happens?: (life: Life, operations: number) => void;
  /** The first operation before which a moment is kept. */
  readonly keepsFrom?: number | undefined;
  /** What this disk cannot do. */
  readonly disk?: Partial<Pick<SimulatedDisk, 'hasLinks' | 'syncsFolders'>>;
}

/** Runs a script to its end. The memory of the process is that of the life: one life at a time. */
export async function live(script: Script, options: LifeOptions = {}): Promise<Life> {
  const life = new Life(options);
  const memory = { ...systemMemory };
  life.takeMemory();
  await script(life.callers);
  await life.end();
  Object.assign(systemMemory, memory);
  return life;
}

export class Life implements Site {
  readonly disk: SimulatedDisk;
  readonly model: Model;
  readonly callers: Callers;
  readonly clock: TestClock = new TestClock();
  readonly moments: Moment[] = [];
  readonly operations: Operation[] = [];
  readonly startDecides = true;
  readonly tries = 2;
  /** How often memory was requested. */
  requests = 0;
  /** What had the pets after the last stop or end of a store; undefined if it was killed. */
  where: WherePetsAre | undefined;
  /** True if the last stop reported success. */
  isClean = false;
  /** Why the last start failed. */
  startError: unknown;
  #store: FileStore | undefined;
  #lastKnown: Knowledge | undefined;
  /** Ends when all reads have ended that began so far. */
  #reads: Promise<unknown> = Promise.resolve();
  readonly #options: LifeOptions;

  constructor(options: LifeOptions = {}) {
    this.disk = new SimulatedDisk(options.image, (kind, path) => this.#begin(kind, path));
    Object.assign(this.disk, options.disk, { faults: options.faults ?? [] });
    this.model = new Model(options.known);
    this.callers = new Callers(this, this.model);
    this.#options = options;
  }

  get stores(): readonly FileStore[] {
    return this.#store === undefined ? [] : [this.#store];
  }

  /** What contradicts the model. */
  get complaints(): readonly string[] {
    return this.callers.complaints;
  }

  /** Starts the store; tries twice if something may fail. */
  async start(): Promise<void> {
    const { faults = [], memoryFault } = this.#options;
    const tries = faults.length === 0 && memoryFault === undefined ? 1 : 2;
    this.where = undefined;
    for (let tried = 0; tried < tries && this.#store === undefined; tried += 1) {
      try {
        this.#store = await this.#open();
        this.startError = undefined;
      } catch (error) {
        this.startError = error;
      }
    }
  }

  async #open(): Promise<FileStore> {
    const disk = this.disk.startProcess();
    const options = { disk, clock: this.clock.startProcess() };
    const randomBits = (): number => this.#randomBits();
    const store = await openFileStore({ path: DATA_FILE, ...options, randomBits });
    void store.lost.then(() => this.#expectSafe(store));
    return store;
  }

  /** Constant, so that the same files arise again, and unlike those in the names of leftovers. */
  #randomBits(): number {
    const ends = [...this.disk.image.names.keys()].map((path) => path.split('.unfinished-')[1]);
    return Math.max(4711, ...ends.map((end = '0') => parseInt(end, 16) + 1));
  }

  pass(ms: number): Promise<void> {
    return this.clock.pass(ms);
  }

  async stop(): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    this.isClean = await store.close().then(
      () => true,
      () => false,
    );
    await this.#expectSafe(store);
    if (this.isClean && this.where !== 'data file') this.#complain('exits with 0, and lost pets');
    this.#store = undefined;
    this.#keep('the next start');
  }

  kill(): void {
    this.#store = undefined;
    this.#keep('the next start');
  }

  /** Ends the life, and keeps its last moment. Memory alone leaves no create in doubt. */
  async end(): Promise<void> {
    const { faults = [], memoryFault } = this.#options;
    const isMemoryOnly = memoryFault !== undefined && faults.length === 0;
    if (isMemoryOnly && this.model.unknownCount > 0) this.#complain('memory causes a doubt');
    this.#keep('the end');
    await this.#reads;
  }

  async readAll(): Promise<readonly string[]> {
    return splitPets((await this.#store?.list({ limit: 1000 }))?.text ?? '[]');
  }

  /** Before each operation of the disk. */
  #begin(kind: OperationKind, path: string): void {
    const { operations } = this.disk;
    this.#options.happens?.(this, operations);
    this.operations.push({ kind, path });
    this.#keep(`operation ${operations}, ${kind} ${path}`);
  }

  /** Counts the requests for memory, and lets some fail. */
  takeMemory(): void {
    const { at = Infinity, lasts } = this.#options.memoryFault ?? {};
    const request = <T>(allocate: (length: number) => T): ((length: number) => T) => {
      return (length) => {
        const number = this.requests++;
        const fails = lasts === 'once' ? number === at : number >= at;
        if (fails) throw new RangeError('Array buffer allocation failed');
        return allocate(length);
      };
    };
    const { bytes, uint32s } = systemMemory;
    systemMemory.bytes = request((length) => bytes(Math.min(length, CHUNK_BYTES)));
    systemMemory.uint32s = request(uint32s);
  }

  #keep(before: string): void {
    // To read everything at each operation would take too long.
    const store = this.#store;
    const isRead = store === undefined || store.count().total === this.model.petCount;
    const read = isRead ? undefined : this.callers.read(store);
    this.#reads = Promise.all([this.#reads, read]);
    if (this.disk.operations < (this.#options.keepsFrom ?? 0)) return;
    const isSame = this.moments.at(-1)?.image === this.disk.image;
    const { known } = this.model;
    if (isSame && isRead && this.#lastKnown === known) return;
    this.#lastKnown = known;
    const moment = { before, image: this.disk.image, known };
    this.moments.push(moment);
    void read?.then((pets = []) => (moment.known = withRead(moment.known, pets)));
  }

  /** After a stop, and before an exit, each pet is where the store says, whatever happens then. */
  async #expectSafe(store: FileStore): Promise<void> {
    this.where = store.durability();
    // Another program may change files between the last look at them and an exit.
    if (this.#options.happens !== undefined || this.where === 'memory') return;
    const pattern = this.where === 'data file' ? /pets\.json$/ : /saved-[^.]*$/;
    const content = contentsOf(worstEnd(this.disk.image, !this.disk.syncsFolders), pattern);
    const lost = (await this.readAll()).filter((pet) => !content.includes(pet.slice(0, -1)));
    for (const pet of lost) this.#complain(`The ${this.where} does not have ${pet}`);
  }

  #complain(what: string): void {
    this.callers.complaints.push(what);
  }
}

/** What is known of a moment at which a read has shown these pets. */
function withRead(known: Knowledge, pets: readonly string[]): Knowledge {
  return { ...known, pets: [...pets, ...known.pets.slice(pets.length)] };
}

/** What all files with such names contain. */
export function contentsOf(image: DiskImage, pattern = /./): string {
  const files = [...image.names].filter(([path, id]) => id !== FOLDER && pattern.test(path));
  return files.map(([, id]) => image.files.get(id)!.cached.toString()).join('\n');
}
