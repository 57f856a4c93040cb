/**
 * The simulation: lives the scripts on a disk that fails at any operation, ends them at every
 * moment in every way, and starts the store again on what is left; and that start is ended in turn.
 *
 * Many moments leave the same files and the same knowledge. They count as cases, but are tried
 * once. Unless all are asked for, a sample of the starts is tried, and a part of that is ended in
 * turn, both chosen by the seed. A deliberate break is looked for in all starts, by first ends.
 */

import { createHash } from 'node:crypto';
import { isWhole, SEED } from '../support/extent.ts';
import { FOLDER, type DiskImage } from './disk-image.ts';
import { Life, type LifeOptions, type Moment, type Wrap } from './life.ts';
import { Model, type Knowledge } from './model.ts';
import type { Fault } from './simulated-disk.ts';
import { everyEnd, type Ends } from './survival.ts';

export type Script = (life: Life) => Promise<void>;

export interface SimulationOptions {
  readonly wrap?: Wrap;
  /** What the script finds. */
  readonly image?: DiskImage;
  readonly known?: Knowledge;
  readonly ends?: Ends;
  /** Stops at the first complaint, which is enough to catch a lie, and ends no start in turn. */
  readonly stopsEarly?: boolean;
  /** From when on a journal is worth a checkpoint at a start. */
  readonly longJournalBytes?: number;
  /** Whether creates in doubt are told to be refused: one of the deliberate breaks. */
  readonly hidesDoubt?: boolean;
  /** Whether clients take another key for a create in doubt: another one. */
  readonly forgetsDoubt?: boolean;
  /** What other simulations of the same store have tried already. */
  readonly tried?: Tried;
}

/** Starts that were tried, and to which depth. */
export type Tried = Map<string, number>;

export class Simulation {
  cases = 0;
  starts = 0;
  readonly complaints: string[] = [];
  readonly #script: Script;
  readonly #options: SimulationOptions;
  readonly #ends: Ends;
  /** How many times a start after an end is ended in turn. */
  readonly #depth: number;
  /** The depth to which a start was tried. */
  readonly #tried: Tried;
  /** How many cases a moment had. */
  readonly #casesOf: Map<string, number> = new Map();

  constructor(script: Script, options: SimulationOptions = {}) {
    this.#script = script;
    this.#options = options;
    this.#ends = options.ends ?? everyEnd;
    this.#depth = options.stopsEarly === true ? 0 : 1;
    this.#tried = options.tried ?? new Map();
  }

  /** Ends a life on a sound disk before and after each operation. */
  async crashEverywhere(): Promise<void> {
    const life = await this.#live();
    await this.#endAll(life.moments, 'a sound disk', this.#depth);
  }

  /** Lets each operation fail in turn, and ends what follows at every moment. */
  async failEverywhere(kinds: readonly Fault['kind'][], lasts: Fault['lasts']): Promise<void> {
    const { operations } = await this.#live();
    for (const [at, operation] of operations.entries()) {
      for (const kind of kinds) {
        if (kind === 'short' && operation.kind !== 'write') continue;
        const where = `${kind} ${lasts} from operation ${at} (${operation.kind})`;
        const life = await this.#live({ fault: { at, kind, lasts } }, at, where);
        this.cases += 1;
        await this.#endAll(life.moments, where, this.#depth);
      }
    }
  }

  /** Lets each request for memory fail in turn, and ends what follows at every moment. */
  async failMemoryEverywhere(lasts: 'once' | 'for ever'): Promise<void> {
    const { requests } = await this.#live();
    for (let at = 0; at < requests; at += 1) {
      const where = `memory fails ${lasts} from request ${at}`;
      const life = await this.#live({ memoryFault: { at, lasts } }, 0, where);
      this.cases += 1;
      await this.#endAll(life.moments, where, this.#depth);
    }
  }

  get #isOver(): boolean {
    return this.#options.stopsEarly === true && this.complaints.length > 0;
  }

  async #live(fails: LifeOptions = {}, keepsFrom = 0, where = 'a sound disk'): Promise<Life> {
    const { image, known } = this.#options;
    const life = new Life({
      ...this.#options,
      ...fails,
      image,
      model: new Model(known),
      keepsFrom,
    });
    await this.#script(life);
    life.end();
    this.#complain(where, life);
    return life;
  }

  async #endAll(moments: readonly Moment[], where: string, depth: number): Promise<void> {
    for (const { before, image, known } of moments) {
      const key = `${depth} ${keyOf(image, known)}`;
      const casesBefore = this.cases;
      this.cases += this.#casesOf.get(key) ?? 0;
      if (this.#casesOf.has(key)) continue;
      for (const { how, image: left } of this.#ends(image)) {
        if (this.#isOver) return;
        await this.#restart(left, known, `${where}: ${how} before ${before}`, depth);
      }
      this.#casesOf.set(key, this.cases - casesBefore);
    }
  }

  async #restart(image: DiskImage, known: Knowledge, where: string, depth: number): Promise<void> {
    this.cases += 1;
    const key = keyOf(image, known);
    if ((this.#tried.get(key) ?? -1) >= depth) return;
    this.#tried.set(key, depth);
    if (this.#options.stopsEarly !== true && !isInSample(key, TRIED_SAMPLE)) return;
    this.starts += 1;
    const isEnded = depth > 0 && isInSample(key, ENDED_SAMPLE);
    const keepsFrom = isEnded ? 0 : Infinity;
    const { wrap, longJournalBytes } = this.#options;
    const model = new Model(known);
    const life = new Life({ image, model, wrap, keepsFrom, longJournalBytes });
    await life.start();
    const expected = life.model.petCount + 1 + newlyStored(life.model);
    await Promise.all([life.retry(), life.create(3)]);
    life.end();
    this.#complain(where, life);
    if (!life.isUp) this.complaints.push(`${where}: ${String(life.startError)}`);
    else if (life.model.petCount !== expected) this.complaints.push(`${where}: cannot create`);
    else if (life.model.clients.some(({ id }) => id === undefined)) {
      this.complaints.push(`${where}: a client gets no answer`);
    }
    if (isEnded) await this.#endAll(life.moments, `${where}; then`, depth - 1);
  }

  #complain(where: string, life: Life): void {
    for (const complaint of life.complaints) this.complaints.push(`${where}: ${complaint}`);
  }
}

/** One in so many starts is tried, and one in so many is ended in turn: a multiple of the first. */
const TRIED_SAMPLE = 3;
const ENDED_SAMPLE = 12;

function isInSample(key: string, oneIn: number): boolean {
  if (isWhole) return true;
  return createHash('sha1').update(`${SEED} ${key}`).digest().readUInt32LE() % oneIn === 0;
}

/** How many of the clients' pets a retry will store. */
function newlyStored(model: Model): number {
  return model.clients.filter(({ members }) => model.countOf(members) === 0).length;
}

/** The same for images and knowledge that lead to the same. */
function keyOf(image: DiskImage, known: Knowledge): string {
  const parts: (string | number)[] = [];
  for (const names of [image.names, image.durableNames, ...image.nameChanges]) {
    for (const [path, id] of names) {
      parts.push(path, String(id));
      if (id === undefined || id === FOLDER) continue;
      const { cached, durable, changes } = image.files.get(id)!;
      parts.push(digestOf(cached), digestOf(durable));
      for (const { position, bytes, isDropped } of changes) {
        parts.push(position, bytes === undefined ? '' : digestOf(bytes), String(isDropped));
      }
    }
    parts.push('/');
  }
  // A pet's first characters tell it from all others.
  for (const pets of [known.pets, known.underWay, known.unknown]) {
    parts.push(pets.length, ...pets.map((pet) => pet.slice(0, 50)));
  }
  for (const { key, id } of known.clients) parts.push(key.slice(0, 8), String(id));
  return parts.join(' ');
}

const digests = new WeakMap<Buffer, string>();

function digestOf(bytes: Buffer): string {
  let digest = digests.get(bytes);
  if (digest === undefined) {
    digest = createHash('sha1').update(bytes).digest('base64');
    digests.set(bytes, digest);
  }
  return digest;
}
