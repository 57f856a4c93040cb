/**
 * Other programs: the lock, the journal or the snapshot is removed or replaced before any
 * operation of the store. No pet may be lost, no other program's file may be overwritten, and
 * without the lock nothing may be written.
 */

import { liveAndStop, liveOnce } from './callers.ts';
import { FOLDER, type DiskImage } from './disk-image.ts';
import { DATA_FILE, JOURNAL, live, LOCK, type Life, type Operation, type Wrap } from './life.ts';
import type { OperationKind } from './simulated-disk.ts';
import { plainEnds } from './survival.ts';

/** For each case that was tried, what is wrong with it. */
export type Cases = AsyncGenerator<readonly string[]>;

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
  { what: 'the snapshot is removed', path: DATA_FILE },
  { what: 'the snapshot is replaced', path: DATA_FILE, content: FOREIGN },
];

/** What changes a file. */
const MUTATIONS: readonly OperationKind[] = [
  ...(['write', 'overwrite', 'truncate', 'rename', 'remove', 'create'] as const),
];

export async function* meddleEverywhere({ path, content }: Meddling, wrap?: Wrap): Cases {
  const plain = await live(liveOnce, { wrap });
  const indexOf = (kind: OperationKind, file: string): number =>
    plain.operations.findIndex((operation) => operation.kind === kind && operation.path === file);
  // Before the first commit the store does not serve. After `last` nothing more is written: what
  // another program leaves then is what the next start finds.
  const last = path === DATA_FILE ? indexOf('remove', JOURNAL) : indexOf('unlock', LOCK);
  for (let at = indexOf('write', JOURNAL); at < last; at += 1) {
    const life = await live(liveOnce, { wrap, intrusion: { at, path, content }, keepsFrom: at });
    const complaints = [...life.complaints, ...lossesOf(life)];
    if (path === LOCK && mutationsOf(life, at) > 1) complaints.push('writes without the lock');
    const isKept = content !== FOREIGN || contentsOf(life.disk.image).includes('Foreign');
    // A program that replaces a file between the last stat and the change itself is not noticed.
    if (!isKept && !isBeforeChange(plain, at)) complaints.push('overwrites the file of another');
    yield complaints.map((complaint) => `before ${nameOf(plain.operations, at)}: ${complaint}`);
  }
}

/**
 * The pets that are in no file at some moment. A kill -9 right after the removal of a file loses
 * its pets, but the next create that is acknowledged has noticed the removal.
 */
function* lossesOf({ moments }: Life): Generator<string> {
  const knownBefore = moments[0]!.known.pets.length;
  for (const { before, image, known } of moments) {
    if (known.pets.length <= knownBefore && before !== 'the end') continue;
    const missing = missingFrom(image, known.pets);
    if (missing !== undefined) yield `${before}: lost ${missing}`;
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
 * Removes the lock and another file before any operation, and stops the store. If it reports that
 * the pets are safe, they exist after the worst power failure.
 */
export async function* saveEverywhere(wrap?: Wrap): Cases {
  const { operations } = await live(liveAndStop, { wrap });
  for (const at of operations.keys()) {
    if (at < operations.findIndex(({ path }) => path === JOURNAL)) continue;
    for (const path of [JOURNAL, DATA_FILE]) {
      const intrusion = { at, path, content: undefined, also: LOCK };
      const life = await live(liveAndStop, { wrap, intrusion });
      const complaints: string[] = [];
      for (const { image } of life.isSafe ? plainEnds(life.disk.image) : []) {
        const missing = missingFrom(image, life.model.knowledge().pets);
        if (missing !== undefined) complaints.push(`${path} removed before ${at}: lost ${missing}`);
      }
      yield complaints;
    }
  }
}

/**
 * Before any operation, as if the process was halted there, a next process takes over: the lock is
 * lost, and another file is at the journal's path. The process must leave it alone, and end.
 */
export async function* takeOverEverywhere(wrap?: Wrap): Cases {
  const { operations } = await live(liveAndStop, { wrap });
  for (const at of operations.keys()) {
    if (at < operations.findIndex(({ path }) => path === JOURNAL)) continue;
    const intrusion = { at, path: JOURNAL, content: FOREIGN, also: LOCK };
    const life = await live(liveAndStop, { wrap, intrusion });
    const complaints: string[] = [];
    if (life.isStuck) complaints.push('stays read-only without an end');
    if (mutationsOf(life, at) > 1) complaints.push('writes without the lock');
    yield complaints.map((complaint) => `before ${nameOf(operations, at)}: ${complaint}`);
  }
}

function missingFrom(image: DiskImage, pets: readonly string[]): string | undefined {
  const contents = contentsOf(image);
  return pets.find((pet) => !contents.includes(pet))?.slice(0, 40);
}

/** What all files contain. */
function contentsOf(image: DiskImage): string {
  const ids = [...image.names.values()].filter((id) => id !== FOLDER);
  return ids.map((id) => image.files.get(id)!.cached.toString()).join('\n');
}

export function nameOf(operations: readonly Operation[], at: number): string {
  const { kind, path } = operations[at]!;
  return `${at}, ${kind} ${path}`;
}
