/**
 * A life: a scripted use of the store, on a disk that may fail, with every moment of it kept.
 *
 * Nobody waits for time here: the clock is part of the script. All reads are made at every
 * operation of the disk, so that a pet that shows too early is known to have been seen.
 */

import type { Disk } from '../../src/storage/disk.ts';
import { encodeCommit } from '../../src/storage/commit.ts';
import { openFileStore } from '../../src/storage/file-store.ts';
import { encodeNewPet, type EncodedNewPet } from '../../src/model/encoded-pet.ts';
import type { PetPage, PetStore } from '../../src/model/pet-store.ts';
import type { DiskImage } from './disk-image.ts';
import { Model, type Knowledge } from './model.ts';
import { SimulatedDisk, type Fault, type OperationKind } from './simulated-disk.ts';
import { SECTOR_BYTES } from './survival.ts';

export const DATA_FILE = '/data/pets.json';
export const JOURNAL: string = `${DATA_FILE}.journal`;

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

export interface LifeOptions {
  /** What is on the disk, and what is known of it; nothing, unless given. */
  readonly image?: DiskImage | undefined;
  readonly model?: Model | undefined;
  readonly fault?: Fault | undefined;
  readonly wrap?: Wrap | undefined;
  /** The first operation before which a moment is kept. */
  readonly keepsFrom?: number | undefined;
  /** The room that a journal takes beyond its commits; none, unless given. */
  readonly reserveBytes?: number | undefined;
}

export class Life {
  readonly disk: SimulatedDisk;
  readonly model: Model;
  readonly moments: Moment[] = [];
  /** The kind of each operation. */
  readonly operations: OperationKind[] = [];
  /** What contradicts the model. */
  readonly complaints: string[] = [];
  /** Why the last start failed. */
  startError: unknown;
  #store: PetStore | undefined;
  #now = 0;
  #petNumber = 0;
  #lastVersion = -1;
  readonly #wrap: Wrap;
  readonly #keepsFrom: number;
  readonly #reserveBytes: number;

  constructor({ image, model, fault, wrap, keepsFrom = 0, reserveBytes = 0 }: LifeOptions = {}) {
    this.disk = new SimulatedDisk(image, (kind, path) => {
      this.operations.push(kind);
      this.#look(`operation ${this.disk.operations}, ${kind} ${path}`);
    });
    this.disk.fault = fault;
    this.model = model ?? new Model();
    this.#wrap = wrap ?? ((disk) => disk);
    this.#keepsFrom = keepsFrom;
    this.#reserveBytes = reserveBytes;
  }

  get isUp(): boolean {
    return this.#store !== undefined;
  }

  /** Starts the store; on a disk that may fail, with a second try. */
  async start(): Promise<void> {
    const tries = this.disk.fault === undefined ? 1 : 2;
    for (let tried = 0; tried < tries && this.#store === undefined; tried += 1) {
      const now = (): number => this.#now;
      const disk = this.#wrap(this.disk.startProcess());
      try {
        const journalReserveBytes = this.#reserveBytes;
        this.#store = await openFileStore({ path: DATA_FILE, disk, now, journalReserveBytes });
        this.startError = undefined;
      } catch (error) {
        this.startError = error;
        this.#expectAllClosed();
      }
    }
    const store = this.#store;
    if (store !== undefined) this.#check(() => this.model.reopened(readAll(store)));
  }

  /** Creates pets with names of these lengths, all at once. */
  async create(...nameLengths: readonly number[]): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    this.#now += 1100;
    const pets = nameLengths.map((length) => this.#petOf((this.#petNumber += 1), length));
    await Promise.all(pets.map((pet) => this.#createOne(store, pet)));
    this.#read();
  }

  /**
   * Creates a pet whose commit has its line feed first in a sector, so that a power cut can take
   * that byte alone. Its name is as long as it has to be.
   */
  async createUpToSector(): Promise<void> {
    const id = this.disk.image.names.get(JOURNAL);
    const journal = id === undefined ? '' : `${this.disk.image.files.get(id)!.cached}`;
    const start = journal.replace(/\0+$/, '').length;
    const probe = this.#petOf(this.#petNumber + 1, MIN_NAME);
    const { line } = encodeCommit(BigInt(this.model.petCount), [probe]);
    const lineFeedAt = start + line.length - 1;
    await this.create(MIN_NAME + ((SECTOR_BYTES - (lineFeedAt % SECTOR_BYTES)) % SECTOR_BYTES));
  }

  /** A clean stop; what cannot be stopped cleanly is killed. */
  async stop(): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    await store.close().catch(() => undefined);
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

  /** A pet that no other is like. */
  #petOf(number: number, nameLength: number): EncodedNewPet {
    const name = `${this.model.petCount}.${number}-`.padEnd(nameLength, 'x');
    const status = (['available', 'pending', 'sold', undefined] as const)[number % 4];
    return encodeNewPet({ name, categoryId: 7n, ...(status && { status }) });
  }

  async #createOne(store: PetStore, pet: EncodedNewPet): Promise<void> {
    this.model.sent(pet);
    try {
      const answer = await store.create(pet);
      this.#check(() => this.model.answered(pet, answer));
    } catch {
      this.model.failed(pet);
    }
  }

  #look(before: string): void {
    // To read all of it at each operation would take too long.
    if (this.#store?.count().total !== this.model.petCount) this.#read();
    if (this.disk.operations < this.#keepsFrom) return;
    const isSame = this.moments.at(-1)?.image === this.disk.image;
    if (isSame && this.#lastVersion === this.model.version) return;
    this.#lastVersion = this.model.version;
    this.moments.push({ before, image: this.disk.image, known: this.model.knowledge() });
  }

  #read(): void {
    const store = this.#store;
    if (store !== undefined) this.#check(() => this.model.seen(readAll(store)));
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

/** The text of each pet, as both reads show them; the file store answers at once. */
export function readAll(store: PetStore): readonly string[] {
  const { json } = store.list({ limit: 100 }) as PetPage;
  const pets = json === '[]' ? [] : json.slice(1, -1).split(',\n');
  for (const [index, pet] of pets.entries()) {
    const alone = String(store.get(BigInt(index + 1)));
    if (alone !== pet) throw new Error(`Reads differ: ${pet} in the list, ${alone} alone`);
  }
  return pets;
}

/** A short life with all that happens in one, but for a long journal. */
export async function liveShortly(life: Life): Promise<void> {
  await life.start();
  await life.create(3);
  await life.create(3, 400, 700);
  life.kill();
  await life.start();
  await life.createUpToSector();
  await life.create(600);
  await life.stop();
  await life.start();
  await life.create(3, 3, 3);
  await life.create(500);
  life.kill();
  await life.start();
  await life.stop();
  await life.start();
  await life.create(3);
  await life.stop();
}

/** Leaves a journal that is long enough for a checkpoint at the next start. */
export async function growLongJournal(life: Life): Promise<void> {
  await life.start();
  await life.create(3);
  await life.create(1 << 19);
  await life.create(1 << 19, 3);
  life.kill();
}

/** A start with a long journal, and what follows. */
export async function liveOnLongJournal(life: Life): Promise<void> {
  await life.start();
  await life.create(3, 3);
  await life.stop();
}
