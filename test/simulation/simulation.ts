/**
 * The simulation of the file store: it runs a script on a disk on which any operation may fail,
 * ends that life at every moment in every way, and starts the store again on what is left. That
 * start is ended at every moment, too.
 *
 * Many moments leave the same files and the same knowledge: they count as cases, but are tried
 * once. Without --all only a sample is tried, which the seed chooses.
 */

import { createHash } from 'node:crypto';
import { caseOf, isChosen, isInSample } from '../support/extent.ts';
import type { Callers, Script } from './callers.ts';
import { partsOf, type DiskImage } from './disk-image.ts';
import { live, type Life, type LifeOptions, type Moment, type Operation } from './life.ts';
import type { Knowledge } from './model.ts';
import { CHANGES, type Fault } from './simulated-disk.ts';
import { everyEnd, type Ends } from './survival.ts';

/** For each case that was tried, what is wrong with it. */
export type Cases = AsyncGenerator<readonly string[]>;

export interface SimulationOptions extends LifeOptions {
  readonly ends?: Ends;
  /** Looks for a deliberate break: tries all faults and starts, and ends no start. */
  readonly isSearch?: boolean;
  /** What other simulations with the same ends have tried already. */
  readonly tried?: Tried;
}

/** The moments and starts that were tried, for each depth. */
export class Tried {
  readonly moments: Set<string> = new Set();
  readonly starts: Set<string> = new Set();
}

/**
 * Without --all, one in this many is tried: more of the failures of an operation that changes the
 * disk. Ended starts are a part of the tried starts.
 */
const SAMPLE = { changes: 2, faults: 40, requests: 10, moments: 2, starts: 4, endedStarts: 96 };

/** Returns the complaints about a case, each with what chooses it. */
export function complaintsAbout(name: string, complaints: readonly string[]): readonly string[] {
  return complaints.map((complaint) => `${complaint} (${caseOf(name)})`);
}

export class Simulation {
  readonly #script: Script;
  readonly #options: SimulationOptions;
  readonly #tried: Tried;

  constructor(script: Script, options: SimulationOptions = {}) {
    this.#script = script;
    this.#options = options;
    this.#tried = options.tried ?? new Tried();
  }

  /** Ends a life on a sound disk before and after each operation. */
  crashEverywhere(): Cases {
    return this.#endEverywhere('a sound disk', {});
  }

  /**
   * Fails each operation that `fails` accepts in turn, and ends the rest of the life everywhere.
   */
  async *failEverywhere(
    kinds: readonly Fault['kind'][],
    lasts: Fault['lasts'],
    fails: (operation: Operation) => boolean = () => true,
  ): Cases {
    const { operations } = await live(this.#script, { ...this.#options, keepsFrom: Infinity });
    for (const [at, operation] of operations.entries()) {
      if (!fails(operation)) continue;
      for (const kind of kinds) {
        // Only a write can be short.
        const isShort = kind === 'half' || kind === 'short';
        if (isShort && operation.kind !== 'write') continue;
        const where = `${kind} ${lasts} from operation ${at} (${operation.kind})`;
        const oneIn = CHANGES.includes(operation.kind) ? SAMPLE.changes : SAMPLE.faults;
        if (!isChosen(where) || !this.#isTried(where, oneIn)) continue;
        const faults = [{ at, kind, lasts }, ...(this.#options.faults ?? [])];
        yield* this.#endEverywhere(where, { faults, keepsFrom: at });
      }
    }
  }

  /** Fails each request for memory in turn, and ends the rest of the life everywhere. */
  async *failMemoryEverywhere(lasts: 'once' | 'for ever'): Cases {
    const { requests } = await live(this.#script, { ...this.#options, keepsFrom: Infinity });
    for (let at = 0; at < requests; at += 1) {
      const where = `memory fails ${lasts} from request ${at}`;
      if (!isChosen(where) || !this.#isTried(where, SAMPLE.requests)) continue;
      yield* this.#endEverywhere(where, { memoryFault: { at, lasts } });
    }
  }

  #isTried(key: string, oneIn: number): boolean {
    return this.#options.isSearch === true || isInSample(key, oneIn);
  }

  async *#endEverywhere(where: string, fault: LifeOptions): Cases {
    const { complaints, moments } = await live(this.#script, { ...this.#options, ...fault });
    yield complaintsAbout(where, complaints);
    yield* this.#endAll(moments, where, this.#options.isSearch === true ? 0 : 1);
  }

  /** `depth` is how many times a start after an end is ended in turn. */
  async *#endAll(moments: readonly Moment[], where: string, depth: number): Cases {
    const { moments: triedMoments, starts } = this.#tried;
    const { ends = everyEnd } = this.#options;
    for (const { before, image, known } of moments) {
      const moment = `${depth} ${keyOf(image, known)}`;
      if (triedMoments.has(moment) || !this.#isTried(moment, SAMPLE.moments)) continue;
      for (const { how, image: left } of ends(image)) {
        const after = `${where}: ${how} before ${before}`;
        if (!isChosen(after)) continue;
        const key = keyOf(left, known);
        if (starts.has(`${depth} ${key}`)) continue;
        for (let covered = depth; covered >= 0; covered -= 1) starts.add(`${covered} ${key}`);
        if (!this.#isTried(key, SAMPLE.starts)) continue;
        const isEnded = depth > 0 && isInSample(key, SAMPLE.endedStarts);
        const keepsFrom = isEnded ? 0 : Infinity;
        const { disk = {} } = this.#options;
        const life = await live(recover, { image: left, known, keepsFrom, disk });
        yield complaintsAbout(after, complaintsOf(life));
        if (isEnded) yield* this.#endAll(life.moments, `${after}; then`, depth - 1);
      }
      triedMoments.add(moment);
    }
  }
}

/** A start on a sound disk, after which every client sends again, and one more pet is created. */
export async function recover(callers: Callers): Promise<void> {
  const { model } = callers;
  await callers.start();
  const unsaved = model.known.clients.filter(({ members }) => model.countOf(members) === 0);
  const expected = model.petCount + 1 + unsaved.length;
  await Promise.all([callers.retry(), callers.create(3)]);
  if (model.petCount !== expected) callers.complaints.push('cannot create');
  if (model.known.clients.some(({ id }) => id === undefined)) {
    callers.complaints.push('a client gets no response');
  }
}

export function complaintsOf({ stores, startError, complaints }: Life): readonly string[] {
  return stores.length === 0 ? [String(startError)] : complaints;
}

/** The same text for images and knowledge that lead to the same. */
function keyOf(image: DiskImage, known: Knowledge): string {
  const clients = known.clients.map(({ key, id }) => [key, String(id)]);
  const parts = [...partsOf(image), { ...known, clients, sent: [] }];
  return createHash('sha1').update(JSON.stringify(parts)).digest('base64');
}
