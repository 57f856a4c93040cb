/**
 * A trial: a store runs, and after each step each state that a crash may leave is tried, by the
 * model of a disk by which the project judges its own store (test/simulation). Each state is laid
 * out in a new folder and opened there by a process of its own.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { fail } from '../build.mjs';
import { loadLosses } from '../ladder/built.mjs';
import { endingWithThis, withTemporaryFolder } from '../temporary-folder.mjs';
import { ITEMS, LAST_ITEM } from './process.mjs';

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { DiskImage } from '../../test/simulation/disk-image.ts'
 * @import { Cell, Moment, Tries } from '../../test/ladder/losses.ts'
 * @import { Found, Life } from './process.mjs'
 * @import { Failure } from './recorder.mjs'
 */

/** @type {readonly Failure['kind'][]} */
const KINDS = ['short write', 'failed write', 'full disk', 'full, then room', 'failed sync'];

/** @typedef {'kill' | 'power failure' | Failure['kind']} Column */

/** @type {readonly Column[]} */
export const COLUMNS = ['kill', 'power failure', ...KINDS];

/**
 * The result of a trial. A problem means that the table may be wrong.
 * @typedef {object} Verdict
 * @property {ReadonlyMap<Column, Cell>} cells
 * @property {ReadonlySet<string>} problems
 * @property {ReadonlySet<string>} notes
 */

const PROCESS = fileURLToPath(new URL('process.mjs', import.meta.url));
/** A life without failures may take this long. The others get a multiple of its time. */
const FIRST_PATIENCE_MS = 60_000;
const PATIENCE_RATIO = 50;
const LEAST_PATIENCE_MS = 2_000;
/** A reader that has opened so many stores is replaced: not each of them frees all it has. */
const READS = 300;

/** A store about which a trial says nothing. */
class NotJudgedError extends Error {}

/**
 * Tries a store. Ends the process with the exit code 2 if its module cannot be loaded, or it
 * acknowledges nothing.
 * @param {string} module The path of a module that exports `open(path)`.
 * @param {(text: string) => void} progress
 * @returns {Promise<Verdict>}
 */
export async function tryStore(module, progress) {
  // States in memory: the model says what a disk would keep.
  const parent = existsSync('/dev/shm') ? '/dev/shm' : undefined;
  const losses = await loadLosses();
  try {
    return await withTemporaryFolder('judge', parent, (folder) => {
      return new Trial(losses, module, folder, progress).run();
    });
  } catch (error) {
    if (!(error instanceof NotJudgedError)) throw error;
    progress('');
    return fail(`${module} cannot be judged: ${error.message}`, 2);
  }
}

class Trial {
  /** @type {Map<Column, Tries>} */
  #cells;
  /** @type {Set<string>} */
  #problems = new Set();
  /** @type {Set<string>} */
  #notes = new Set();
  /** By the state's key. @type {Map<string, Promise<Found>>} */
  #reads = new Map();
  /** Processes that can open a store in a folder. @type {Child[]} */
  #readers = [];
  #patienceMs = FIRST_PATIENCE_MS;

  /**
   * @param {typeof import('../../test/ladder/losses.ts')} losses
   * @param {string} module
   * @param {string} folder
   * @param {(text: string) => void} progress
   */
  constructor(losses, module, folder, progress) {
    this.losses = losses;
    this.module = module;
    this.folder = folder;
    this.progress = progress;
    /** @type {(left: DiskImage, moment: Moment) => Promise<string | undefined>} */
    const findLoss = async (left, moment) => lossIn(await this.#read(left), moment);
    this.#cells = new Map(COLUMNS.map((column) => [column, new losses.Tries(findLoss)]));
  }

  /** @returns {Promise<Verdict>} */
  async run() {
    this.progress('a life without failures');
    const { moments, counts, ms } = await this.#live(undefined);
    this.#patienceMs = Math.max(LEAST_PATIENCE_MS, PATIENCE_RATIO * ms);
    if (moments.at(-1)?.acknowledged.length === 0) {
      const notes = moments.flatMap(({ note }) => note ?? []);
      const why = notes.find((note) => note !== 'add') ?? 'no add settles';
      throw new NotJudgedError(`its store acknowledges nothing, so it can lose nothing: ${why}`);
    }
    for (const [index, moment] of moments.entries()) {
      this.progress(`step ${index + 1} of ${moments.length}`);
      await this.#cells.get('kill')?.end([moment], this.losses.onlyKill);
      await this.#cells.get('power failure')?.end([moment], this.losses.powerFailures);
    }
    const failures = KINDS.flatMap((kind) => {
      const length = kind === 'failed sync' ? counts.syncs : counts.writes;
      return Array.from({ length }, (_, at) => ({ kind, at }));
    }).values();
    // A life is mostly the start of a process.
    const tryFailures = async () => {
      for (const failure of failures) await this.#tryFailure(failure);
    };
    await Promise.all(Array.from({ length: availableParallelism() }, tryFailures));
    for (const child of this.#readers) child.kill('SIGKILL');
    return { cells: this.#cells, problems: this.#problems, notes: this.#notes };
  }

  /** @param {Failure} failure */
  async #tryFailure(failure) {
    const { kind, at } = failure;
    this.progress(`${kind} ${at + 1}`);
    const life = await this.#live(failure).catch((/** @type {Error} */ error) => {
      this.#problems.add(`${kind} ${at + 1}: ${error.message}`);
    });
    if (life === undefined) return;
    const cell = this.#cells.get(kind);
    // What it acknowledges counts, and what it has come to.
    const last = life.moments.at(-1);
    const noted = life.moments.filter((moment) => moment.note !== undefined || moment === last);
    await cell?.end(noted, this.losses.onlyKill);
    if (kind === 'failed sync') await cell?.end(life.moments, this.losses.onlyUnsynced);
  }

  /**
   * Lets the store live in a new folder. Resolves with its life, each moment with all steps so far.
   * @param {Failure | undefined} failure
   */
  async #live(failure) {
    const root = mkdtempSync(join(this.folder, 'life-'));
    const child = startChild(this.module, { root, failure, patienceMs: this.#patienceMs });
    /** @type {Life | { unusable: string } | undefined} */
    const life = await nextMessage(child);
    if (life === undefined) {
      throw new NotJudgedError(`the process of the store ends early: ${child.errors()}`);
    }
    if ('unusable' in life) throw new NotJudgedError(life.unusable);
    rmSync(root, { recursive: true, force: true });
    const where = failure === undefined ? '' : `${failure.kind} ${failure.at + 1}: `;
    for (const text of life.unknown) this.#problems.add(where + text);
    for (const { note = '' } of life.moments) {
      if (/no result|unhandled/.test(note)) this.#notes.add(where + note);
    }
    const texts = life.moments.map(({ text }) => text);
    const moments = life.moments.map((moment, index) => {
      return { ...moment, steps: texts.slice(0, index + 1) };
    });
    return { ...life, moments };
  }

  /**
   * Resolves with what a new process finds. Equal states are read once.
   * @param {DiskImage} image
   */
  #read(image) {
    const state = this.losses.keyOf(image);
    const read = this.#reads.get(state) ?? this.#readAnew(image);
    this.#reads.set(state, read);
    return read;
  }

  /**
   * @param {DiskImage} image
   * @returns {Promise<Found>}
   */
  async #readAnew(image) {
    const root = mkdtempSync(join(this.folder, 'state-'));
    for (const [path, id] of [...image.names].sort()) {
      const content = image.files.get(id)?.cached;
      if (content === undefined) mkdirSync(join(root, path), { recursive: true });
      else if (existsSync(join(root, dirname(path)))) writeFileSync(join(root, path), content);
    }
    const reader = this.#readers.pop() ?? startChild(this.module, { patienceMs: this.#patienceMs });
    const message = nextMessage(reader);
    reader.send(root);
    /** @type {Found | undefined} */
    const found = await message;
    rmSync(root, { recursive: true, force: true });
    reader.reads += 1;
    if (found === undefined || reader.reads === READS) reader.kill('SIGKILL');
    else this.#readers.push(reader);
    return found ?? { error: `its process ends: ${reader.errors()}` };
  }
}

/**
 * Returns what is wrong with what a reader has found, or undefined.
 * @param {Found} found
 * @param {Moment} moment
 */
function lossIn({ error, items = [], again, againError }, { acknowledged, begun }) {
  if (error !== undefined) {
    // Nobody relies on a store that has acknowledged nothing.
    return acknowledged.length === 0 ? undefined : `nothing can be read: ${error}`;
  }
  for (const item of ITEMS.filter(({ id }) => acknowledged.includes(`${id}`))) {
    if (!items.some((other) => isDeepStrictEqual(other, item))) return `item ${item.id} is missing`;
  }
  const expected = ITEMS.filter(({ id }) => begun?.includes(`${id}`));
  for (const item of items) {
    if (!expected.some((other) => isDeepStrictEqual(other, item))) {
      return `there is ${JSON.stringify(item)?.slice(0, 40)}, which was never added`;
    }
    const count = items.filter((other) => other.id === item.id).length;
    if (count > 1) return `item ${item.id} is there ${count} times`;
  }
  const then = 'after one more add and another start';
  if (againError !== undefined) return `${then} nothing can be read: ${againError}`;
  if (again === undefined) return undefined;
  const isWhole = [...items, LAST_ITEM].every((item) => {
    return again.some((other) => isDeepStrictEqual(other, item));
  });
  return isWhole && again.length === items.length + 1 ? undefined : `${then} items are missing`;
}

/**
 * A child process, what it has written to stderr, its end, and how many stores it has opened.
 * @typedef {ChildProcess & { errors(): string, ended: Promise<unknown[]>, reads: number }} Child
 */

/**
 * Starts a life in a folder, or without one a process that opens a store in each folder that it is
 * sent.
 * @param {string} module
 * @param {{ root?: string, failure?: Failure | undefined, patienceMs: number }} given
 * @returns {Child}
 */
function startChild(module, given) {
  const options = /** @type {const} */ ({ serialization: 'advanced', silent: true });
  const child = endingWithThis(fork(PROCESS, [module, JSON.stringify(given)], options));
  let errors = '';
  child.stdout?.resume();
  child.stderr?.on('data', (chunk) => (errors = `${errors}${chunk}`.slice(0, 1000)));
  // Unlike the exit, it comes after the last message.
  const ended = once(child, 'disconnect');
  return Object.assign(child, { errors: () => errors, ended, reads: 0 });
}

/**
 * Resolves with the next message of a child, or with undefined if it ends before.
 * @param {Child} child
 * @returns {Promise<any>}
 */
async function nextMessage(child) {
  const [message] = await Promise.race([once(child, 'message'), child.ended]);
  return message;
}
