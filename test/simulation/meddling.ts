/**
 * What happens to the store from outside, before any of its operations: another program removes or
 * replaces the lock, the journal or the data file, or the time of day is stepped. No pet may be
 * lost, no other program's file may be overwritten, without the lock nothing may be written, and no
 * key may be forgotten: a retry would store a second pet.
 */

import { isChosen } from '../support/extent.ts';
import { liveAndStop, liveOnce, type Script } from './callers.ts';
import { FOLDER, type DiskImage } from './disk-image.ts';
import { DATA_FILE, JOURNAL, live, LOCK, type Life, type LifeOptions } from './life.ts';
import { complaintsAbout, isInSample, type Cases } from './simulation.ts';
import { MUTATIONS, type Fault, type OperationKind } from './simulated-disk.ts';
import { plainEnds } from './survival.ts';

export interface Meddling {
  readonly what: string;
  readonly path: string;
  readonly content?: Buffer;
}

const FOREIGN = Buffer.from('[{"id":1,"name":"Foreign","categoryId":1}]\n');

export const MEDDLING: readonly Meddling[] = [
  { what: 'the lock is removed', path: LOCK },
  { what: 'the lock is replaced', path: LOCK, content: Buffer.alloc(0) },
  { what: 'the journal is removed', path: JOURNAL },
  { what: 'the journal is replaced', path: JOURNAL, content: FOREIGN },
  { what: 'the data file is removed', path: DATA_FILE },
  { what: 'the data file is replaced', path: DATA_FILE, content: FOREIGN },
];

/** Returns what happens before operation `at`; undefined if that is not tried. */
type Disturb = (at: number, plain: Life, where: string) => LifeOptions | undefined;

/**
 * Runs the script once for each operation, with what `disturb` returns, and yields what
 * `judge` finds. `where` is the operation as text.
 */
async function* everywhere(
  script: Script,
  disturb: Disturb,
  judge: (life: Life, at: number, plain: Life) => Iterable<string>,
): Cases {
  const plain = await live(script);
  for (const [at, { kind, path }] of plain.operations.entries()) {
    const where = `before ${at}, ${kind} ${path}`;
    if (!isChosen(where)) continue;
    const options = disturb(at, plain, where);
    if (options === undefined) continue;
    const complaints = [...judge(await live(script, { at, ...options }), at, plain)];
    yield complaintsAbout(where, complaints);
  }
}

export function meddleEverywhere({ path, content }: Meddling): Cases {
  // Before the first commit the store does not serve. After the last rename nothing more is
  // written: what another program leaves then is what the next start finds.
  const disturb: Disturb = (at, plain) => {
    const first = indexOf(plain, 'write', JOURNAL);
    const stop = indexOf(plain, 'unlock', LOCK);
    const renames = plain.operations.slice(0, stop).map(({ kind }) => kind);
    const last = path === LOCK ? stop : renames.lastIndexOf('rename');
    const isTried = at >= first && at < last;
    const happens = ({ disk }: Life): void => disk.intrude(path, content);
    return isTried ? { happens, keepsFrom: at } : undefined;
  };
  return everywhere(liveOnce, disturb, function* (life, at, plain) {
    yield* life.complaints;
    yield* lossesOf(life);
    if (path === LOCK && mutationsOf(life, at) > 1) yield 'writes without the lock';
    const isKept = content !== FOREIGN || contentsOf(life.disk.image).includes('Foreign');
    // A program that replaces a file between the last stat and the change itself is not noticed.
    if (!isKept && !isBeforeChange(plain, at)) yield 'overwrites the file of another';
  });
}

function indexOf({ operations }: Life, kind: OperationKind, path: string): number {
  return operations.findIndex((operation) => operation.kind === kind && operation.path === path);
}

/**
 * The pets that are in no file at some moment. A kill -9 right after the removal of a file loses
 * its pets, but the next create that is acknowledged has noticed the removal.
 */
function* lossesOf({ moments }: Life): Generator<string> {
  const knownBefore = moments[0]!.known.pets.length;
  for (const { before, image, known } of moments) {
    if (known.pets.length <= knownBefore && before !== 'the end') continue;
    for (const pet of missingFrom(image, known.pets)) yield `${before}: lost ${pet}`;
  }
}

/** True at a rename or removal, and at each stat right before it. */
function isBeforeChange({ operations }: Life, at: number): boolean {
  const next = operations.slice(at).find(({ kind }) => kind !== 'stat');
  return next?.kind === 'rename' || next?.kind === 'remove';
}

/** How often data file or journal are changed from then on, until the store is closed. */
function mutationsOf({ operations }: Life, from: number): number {
  const end = operations.findIndex(({ kind }, at) => kind === 'unlock' && at > from);
  return operations.slice(from, end).filter(({ kind, path }) => {
    return MUTATIONS.includes(kind) && (path === DATA_FILE || path === JOURNAL);
  }).length;
}

/**
 * Before any operation, as if the process was halted there, it loses its lock, and another file: a
 * next process may have taken over. It must leave the files alone. It must end, or stay read-only
 * with a saved file. If its stop reports that the pets are safe, they exist after the worst power
 * failure.
 */
export async function* takeOverEverywhere(): Cases {
  for (const [path, content] of [[JOURNAL], [DATA_FILE], [JOURNAL, FOREIGN]] as const) {
    const happens = ({ disk }: Life): void => {
      for (const [name, left] of [[path, content], [LOCK]] as const) disk.intrude(name, left);
    };
    const disturb: Disturb = (at, { operations }) => {
      const first = operations.findIndex((operation) => operation.path === JOURNAL);
      return at < first ? undefined : { happens };
    };
    yield* everywhere(liveAndStop, disturb, function* (life, at) {
      const { pets } = life.model.knowledge();
      const mustSave = life.isSafe || life.isStuck;
      for (const { image } of mustSave ? plainEnds(life.disk.image) : []) {
        for (const pet of missingFrom(image, pets)) yield `${path}: lost ${pet}`;
      }
      if (mutationsOf(life, at) > 1) yield 'writes without the lock';
    });
  }
}

/**
 * Before any operation another program puts a copy of the data file in its place, which nobody has
 * synced. A create that began after that is acknowledged only if a power failure keeps the copy.
 */
export function restoreEverywhere(): Cases {
  const disturb: Disturb = (at, plain) => {
    const happens = ({ disk }: Life): void => disk.restore(DATA_FILE);
    return at < indexOf(plain, 'write', JOURNAL) ? undefined : { happens, keepsFrom: at };
  };
  return everywhere(liveOnce, disturb, function* ({ complaints, moments }) {
    yield* complaints;
    const { pets, inProgress } = moments[0]!.known;
    for (const { before, image, known } of moments) {
      if (known.pets.length <= pets.length + inProgress.length) continue;
      const worst = [...plainEnds(image)][1]!;
      for (const pet of missingFrom(worst.image, known.pets)) yield `${before}: lost ${pet}`;
    }
  });
}

/** Without --all, one step of the clock in this many is tried. */
const STEPS_SAMPLE = 24;

/** Steps the time of day by 25 hours, longer than a key is kept; the operation may fail, too. */
export async function* stepClockEverywhere(script: Script, fault?: Omit<Fault, 'at'>): Cases {
  for (const hours of [-25, 25]) {
    const disturb: Disturb = (at, _, where) => {
      const key = `${fault?.kind} ${fault?.lasts} ${hours} hours ${where}`;
      if (!isInSample(key, STEPS_SAMPLE)) return undefined;
      const happens = ({ clock }: Life): void => void (clock.offsetMs += hours * 3_600_000);
      return { happens, fault: fault && { at, ...fault } };
    };
    yield* everywhere(script, disturb, ({ complaints }) => complaints);
  }
}

function missingFrom(image: DiskImage, pets: readonly string[]): readonly string[] {
  const contents = contentsOf(image);
  return pets.filter((pet) => !contents.includes(pet)).map((pet) => pet.slice(0, 40));
}

/** What all files contain. */
function contentsOf(image: DiskImage): string {
  const ids = [...image.names.values()].filter((id) => id !== FOLDER);
  return ids.map((id) => image.files.get(id)!.cached.toString()).join('\n');
}
