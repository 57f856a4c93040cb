/**
 * The simulation of the file store: it runs a script on a disk on which any operation may fail,
 * ends that life at every moment in every way, and starts the store again on what is left. That
 * start is ended at every moment, too.
 *
 * Many moments leave the same files and the same knowledge: they count as cases, but are tried
 * once. Without --all only a sample is tried, which the seed chooses.
 */

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { isWhole, SEED } from '../support/extent.ts';
import type { Script } from './callers.ts';
import { FOLDER, type DiskImage, type FileImage } from './disk-image.ts';
import { live, type Life, type LifeOptions, type Moment, type Operation } from './life.ts';
import type { Knowledge, Model } from './model.ts';
import type { Fault } from './simulated-disk.ts';
import { everyEnd, type Ends } from './survival.ts';

export interface SimulationOptions extends LifeOptions {
  readonly ends?: Ends;
  /**
   * Looks for a deliberate break: tries all starts until the first complaint, and ends no start.
   */
  readonly stopsEarly?: boolean;
  /** What other simulations with the same ends have tried already. */
  readonly tried?: Tried;
}

/** The moments and starts that were tried, for each depth. */
export class Tried {
  /** By moment: how many cases it has. */
  readonly casesOf: Map<string, number> = new Map();
  readonly starts: Set<string> = new Set();
}

/** Without --all, one in this many is tried. Ended starts are a part of the tried starts. */
const SAMPLE = { faults: 5, moments: 2, starts: 2, endedStarts: 12 };

/** True for one in `oneIn` of the things with different keys, and for all with --all. */
export function isInSample(key: string, oneIn: number): boolean {
  return isWhole || crc32(`${SEED} ${key}`) % oneIn === 0;
}

export class Simulation {
  cases = 0;
  /** How many of the cases lead to files and knowledge that no other case has. */
  starts = 0;
  readonly complaints: string[] = [];
  readonly #script: Script;
  readonly #options: SimulationOptions;
  readonly #ends: Ends;
  readonly #stopsEarly: boolean;
  /** How many times a start after an end is ended in turn. */
  readonly #depth: number;
  readonly #tried: Tried;

  constructor(script: Script, options: SimulationOptions = {}) {
    this.#script = script;
    this.#options = options;
    this.#ends = options.ends ?? everyEnd;
    this.#stopsEarly = options.stopsEarly === true;
    this.#depth = this.#stopsEarly ? 0 : 1;
    this.#tried = options.tried ?? new Tried();
  }

  /** Ends a life on a sound disk before and after each operation. */
  async crashEverywhere(): Promise<void> {
    const life = await this.#live('a sound disk');
    await this.#endAll(life.moments, 'a sound disk', this.#depth);
  }

  /**
   * Fails each operation that `fails` accepts in turn, and ends the rest of the life everywhere.
   */
  async failEverywhere(
    kinds: readonly Fault['kind'][],
    lasts: Fault['lasts'],
    fails: (operation: Operation) => boolean = () => true,
  ): Promise<void> {
    const { operations } = await this.#live('a sound disk', { keepsFrom: Infinity });
    for (const [at, operation] of operations.entries()) {
      if (!fails(operation)) continue;
      for (const kind of kinds) {
        if (kind === 'short' && operation.kind !== 'write') continue;
        const where = `${kind} ${lasts} from operation ${at} (${operation.kind})`;
        await this.#fail(where, { fault: { at, kind, lasts }, keepsFrom: at });
      }
    }
  }

  /** Fails each request for memory in turn, and ends the rest of the life everywhere. */
  async failMemoryEverywhere(lasts: 'once' | 'for ever'): Promise<void> {
    const { requests } = await this.#live('a sound disk', { keepsFrom: Infinity });
    for (let at = 0; at < requests; at += 1) {
      await this.#fail(`memory fails ${lasts} from request ${at}`, { memoryFault: { at, lasts } });
    }
  }

  async #fail(where: string, fault: LifeOptions): Promise<void> {
    if (this.#isOver || !this.#isTried(where, SAMPLE.faults)) return;
    const life = await this.#live(where, fault);
    this.cases += 1;
    await this.#endAll(life.moments, where, this.#depth);
  }

  get #isOver(): boolean {
    return this.#stopsEarly && this.complaints.length > 0;
  }

  #isTried(key: string, oneIn: number): boolean {
    return this.#stopsEarly || isInSample(key, oneIn);
  }

  async #live(where: string, fault: LifeOptions = {}): Promise<Life> {
    const life = await live(this.#script, { ...this.#options, ...fault });
    this.#complain(where, life);
    return life;
  }

  async #endAll(moments: readonly Moment[], where: string, depth: number): Promise<void> {
    const { casesOf } = this.#tried;
    for (const { before, image, known } of moments) {
      const key = `${depth} ${keyOf(image, known)}`;
      const casesBefore = this.cases;
      this.cases += casesOf.get(key) ?? 0;
      if (casesOf.has(key) || !this.#isTried(key, SAMPLE.moments)) continue;
      for (const { how, image: left } of this.#ends(image)) {
        if (this.#isOver) return;
        await this.#restart(left, known, `${where}: ${how} before ${before}`, depth);
      }
      casesOf.set(key, this.cases - casesBefore);
    }
  }

  async #restart(image: DiskImage, known: Knowledge, where: string, depth: number): Promise<void> {
    this.cases += 1;
    const key = keyOf(image, known);
    const { starts } = this.#tried;
    if (starts.has(`${depth} ${key}`)) return;
    for (let covered = depth; covered >= 0; covered -= 1) starts.add(`${covered} ${key}`);
    if (!this.#isTried(key, SAMPLE.starts)) return;
    this.starts += 1;
    const isEnded = depth > 0 && isInSample(key, SAMPLE.endedStarts);
    const { longJournalBytes } = this.#options;
    const keepsFrom = isEnded ? 0 : Infinity;
    let expected = 0;
    const script: Script = async (callers) => {
      await callers.start();
      expected = callers.model.petCount + 1 + newPetsOf(callers.model);
      await Promise.all([callers.retry(), callers.create(3)]);
    };
    const life = await live(script, { image, known, keepsFrom, longJournalBytes });
    this.#complain(where, life);
    const { stores, startError, model } = life;
    if (stores.length === 0) this.complaints.push(`${where}: ${String(startError)}`);
    else if (model.petCount !== expected) this.complaints.push(`${where}: cannot create`);
    else if (model.clients.some(({ id }) => id === undefined)) {
      this.complaints.push(`${where}: a client gets no response`);
    }
    if (isEnded) await this.#endAll(life.moments, `${where}; then`, depth - 1);
  }

  #complain(where: string, life: Life): void {
    for (const complaint of life.complaints) this.complaints.push(`${where}: ${complaint}`);
  }
}

/** How many of the clients' pets a retry will store. */
function newPetsOf(model: Model): number {
  return model.clients.filter(({ members }) => model.countOf(members) === 0).length;
}

/** The same text for images and knowledge that lead to the same. */
function keyOf(image: DiskImage, known: Knowledge): string {
  const parts: (string | number)[] = [];
  for (const names of [image.names, image.durableNames, ...image.nameChanges]) {
    for (const [path, id] of names) {
      const isFile = id !== undefined && id !== FOLDER;
      parts.push(path, isFile ? `${id} ${keyOfFile(image.files.get(id)!)}` : String(id));
    }
    parts.push('/');
  }
  // The first characters of a pet are unlike those of all others.
  for (const pets of [known.pets, known.inProgress, known.unknown]) {
    parts.push(pets.length, ...pets.map((pet) => pet.slice(0, 50)));
  }
  for (const { key, id } of known.clients) parts.push(key.slice(0, 8), String(id));
  return parts.join(' ');
}

const keyOfFile = remembered(({ cached, durable, changes }: FileImage) => {
  const parts = [digestOf(cached), digestOf(durable)];
  for (const { position, bytes, isDropped } of changes) {
    parts.push(`${position} ${bytes === undefined ? '' : digestOf(bytes)} ${isDropped}`);
  }
  return parts.join(' ');
});

const digestOf = remembered((bytes: Buffer) => {
  return createHash('sha1').update(bytes).digest('base64');
});

/** Returns a function that calls `keyOf` once for each object, which must not change. */
function remembered<T extends object>(keyOf: (object: T) => string): (object: T) => string {
  const keys = new WeakMap<T, string>();
  return (object) => {
    let key = keys.get(object);
    if (key === undefined) keys.set(object, (key = keyOf(object)));
    return key;
  };
}
