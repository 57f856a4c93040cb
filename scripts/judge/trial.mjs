/**
 * A trial: a store runs, and after each step each state that a crash may leave is tried, by the
 * model of a disk by which the project judges its own store (test/simulation). Each state is laid
 * out in a new folder and opened there by a process of its own.
 */

import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { fail } from '../build.mjs';
import { loadDiskImage, loadLosses, loadShown, loadSurvival } from '../ladder/built.mjs';
import { endingWithThis, withTemporaryFolder } from '../temporary-folder.mjs';
import { ITEMS, LAST_ITEM } from './process.mjs';

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { DiskImage } from '../../test/simulation/disk-image.ts'
 * @import { Survivor } from '../../test/simulation/survival.ts'
 * @import { Loss } from '../../test/ladder/losses.ts'
 * @import { Found, Life } from './process.mjs'
 * @import { Failure, Step } from './recorder.mjs'
 */

export const COLUMNS = /** @type {const} */ ([
  'kill',
  'power failure',
  'short write',
  'failed write',
  'full disk',
  'full, then room',
  'failed sync',
]);

/** @typedef {(typeof COLUMNS)[number]} Column */

/** @typedef {{ tried: number, lost: number, shortest: Loss | undefined }} Cell */

/**
 * The result of a trial. A problem means that the table may be wrong.
 * @typedef {{
 *   cells: Map<Column, Cell>,
 *   problems: readonly string[],
 *   notes: readonly string[],
 * }} Verdict
 */

/**
 * What a life has come to, after some of its steps.
 * @typedef {{
 *   image: DiskImage,
 *   begun: readonly number[],
 *   acknowledged: readonly number[],
 *   shown: readonly string[],
 * }} Moment
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
  try {
    return await withTemporaryFolder('judge', parent, (folder) => {
      return new Trial(module, folder, progress).run();
    });
  } catch (error) {
    if (!(error instanceof NotJudgedError)) throw error;
    progress('');
    return fail(`${module} cannot be judged: ${error.message}`, 2);
  }
}

class Trial {
  /** @type {Map<Column, Cell>} */
  #cells = new Map(COLUMNS.map((column) => [column, { tried: 0, lost: 0, shortest: undefined }]));
  /** @type {Set<string>} */
  #problems = new Set();
  /** @type {Set<string>} */
  #notes = new Set();
  /** @type {Set<string>} */
  #tried = new Set();
  /** By the state's key. @type {Map<string, Promise<Found>>} */
  #reads = new Map();
  /** @type {Readers} */
  #readers;
  #runs = 0;
  #patienceMs = FIRST_PATIENCE_MS;

  /**
   * @param {string} module
   * @param {string} folder
   * @param {(text: string) => void} progress
   */
  constructor(module, folder, progress) {
    this.module = module;
    this.folder = folder;
    this.progress = progress;
    this.#readers = new Readers(module, folder);
  }

  /** @returns {Promise<Verdict>} */
  async run() {
    this.progress('a life without failures');
    const life = await this.#live(undefined);
    this.#patienceMs = Math.max(LEAST_PATIENCE_MS, PATIENCE_RATIO * life.ms);
    const moments = await momentsOf(life.steps);
    if (moments.at(-1)?.acknowledged.length === 0) {
      const said = life.steps.flatMap((step) => (step.op === 'note' ? step.what : []));
      const why = said.find((what) => what !== 'add') ?? 'no add settles';
      throw new NotJudgedError(`its store acknowledges nothing, so it can lose nothing: ${why}`);
    }
    this.#readers.start(this.#patienceMs);
    try {
      await this.#tryMoments(moments);
      // A life is mostly the start of a process.
      const failures = failuresOf(life);
      const next = async () => {
        for (let failure = failures.shift(); failure !== undefined; failure = failures.shift()) {
          await this.#tryFailure(failure);
        }
      };
      await Promise.all(Array.from({ length: availableParallelism() }, next));
    } finally {
      this.#readers.end();
    }
    return { cells: this.#cells, problems: [...this.#problems], notes: [...this.#notes] };
  }

  /** @param {readonly Moment[]} moments */
  async #tryMoments(moments) {
    const { everyEnd } = await loadSurvival();
    for (const [index, moment] of moments.entries()) {
      this.progress(`step ${index + 1} of ${moments.length}`);
      for (const survivor of everyEnd(moment.image)) {
        await this.#end(survivor.how === 'kill -9' ? 'kill' : 'power failure', moment, survivor);
      }
    }
  }

  /** @param {Failure} failure */
  async #tryFailure(failure) {
    const { kind, at } = failure;
    this.progress(`${kind} ${at + 1}`);
    const life = await this.#live(failure).catch((/** @type {Error} */ error) => {
      this.#problems.add(`${kind} ${at + 1}: ${error.message}`);
    });
    if (life === undefined) return;
    const { lostByFailedSync } = await loadLosses();
    const moments = await momentsOf(life.steps);
    for (const [index, moment] of moments.entries()) {
      // What it acknowledges counts, and what it has come to.
      const isNote = life.steps[index]?.op === 'note' || index === moments.length - 1;
      if (isNote) await this.#end(kind, moment, { how: 'kill -9', image: moment.image });
      if (kind !== 'failed sync') continue;
      const image = lostByFailedSync(moment.image);
      await this.#end(kind, moment, { how: 'power failure', image });
    }
  }

  /**
   * Tries one state. Equal ones are tried once in each column.
   * @param {Column} column
   * @param {Moment} moment
   * @param {Survivor} survivor
   */
  async #end(column, moment, { how, image }) {
    const { acknowledged, begun } = moment;
    const state = keyOf(image);
    const key = `${column} ${state} ${acknowledged} ${begun}`;
    if (this.#tried.has(key)) return;
    this.#tried.add(key);
    const read = this.#reads.get(state) ?? this.#readers.read(image);
    this.#reads.set(state, read);
    const found = lossIn(await read, moment);
    const cell = this.#cells.get(column);
    if (cell === undefined) return;
    cell.tried += 1;
    if (found === undefined) return;
    cell.lost += 1;
    if (cell.shortest !== undefined && cell.shortest.steps.length <= moment.shown.length) return;
    const { describeEnd } = await loadShown();
    cell.shortest = { steps: moment.shown, end: describeEnd(how, moment.image, image), found };
  }

  /**
   * @param {Failure | undefined} failure
   * @returns {Promise<Life>}
   */
  async #live(failure) {
    const root = join(this.folder, `life-${(this.#runs += 1)}`);
    mkdirSync(root);
    const child = startChild('live', this.module, { root, failure, patienceMs: this.#patienceMs });
    /** @type {Life} */
    const life = await new Promise((resolve, reject) => {
      child.once('message', (/** @type {Life | { unusable: string }} */ message) => {
        if ('unusable' in message) reject(new NotJudgedError(message.unusable));
        else resolve(message);
      });
      // Unlike the exit, it comes after the last message.
      child.once('disconnect', () =>
        reject(new NotJudgedError(`the process of the store ends early: ${child.errors()}`)),
      );
    });
    rmSync(root, { recursive: true, force: true });
    const where = failure === undefined ? '' : `${failure.kind} ${failure.at + 1}: `;
    for (const text of life.unknown) this.#problems.add(where + text);
    for (const step of life.steps) {
      if (step.op !== 'note' || !/no result|unhandled/.test(step.what)) continue;
      this.#notes.add(`${where}${step.what}`);
    }
    return life;
  }
}

/**
 * Each write and each sync of a life fails in each way.
 * @param {Life} life
 * @returns {Failure[]}
 */
function failuresOf({ counts }) {
  const writes = COLUMNS.slice(2, -1).flatMap((kind) => {
    return Array.from({ length: counts.writes }, (_, at) => ({ kind, at }));
  });
  const syncs = Array.from({ length: counts.syncs }, (_, at) => ({ kind: 'failed sync', at }));
  return /** @type {Failure[]} */ ([...writes, ...syncs]);
}

/**
 * Makes the steps on the image of a disk, whose root is the folder. Resolves with the moment after
 * each step.
 * @param {readonly Step[]} steps
 * @returns {Promise<readonly Moment[]>}
 */
async function momentsOf(steps) {
  const disk = await loadDiskImage();
  /** @type {Moment[]} */
  const moments = [];
  /** @type {Moment} */
  let last = { image: disk.EMPTY_DISK, begun: [], acknowledged: [], shown: [] };
  for (const step of steps) {
    const { image, text } = makeStep(disk, last.image, step);
    /** @param {string} what */
    const noted = (what) => (step.op === 'note' && step.what === what ? [step.item ?? 0] : []);
    last = {
      image,
      begun: [...last.begun, ...noted('add')],
      acknowledged: [...last.acknowledged, ...noted('acknowledged')],
      shown: [...last.shown, text],
    };
    moments.push(last);
  }
  return moments;
}

/**
 * Returns the image after a step, and the step in words. The images and the recorder both number
 * files in the order of their creation.
 * @param {typeof import('../../test/simulation/disk-image.ts')} disk
 * @param {DiskImage} image
 * @param {Step} step
 * @returns {{ image: DiskImage, text: string }}
 */
function makeStep(disk, image, step) {
  /** @param {number} file */
  const nameOf = (file) => {
    const name = [...image.names].find(([, id]) => id === file)?.[0];
    return name?.slice(1) ?? 'a file without a name';
  };
  switch (step.op) {
    case 'create':
      image = disk.createFile(image, `/${step.name}`, 0o600);
      return { image, text: `create ${step.name}` };
    case 'mkdir':
      image = disk.changeNames(image, [[`/${step.name}`, disk.FOLDER]]);
      return { image, text: `make the folder ${step.name}` };
    case 'remove':
      image = disk.changeNames(image, [[`/${step.name}`, undefined]]);
      return { image, text: `remove ${step.name}` };
    case 'rename': {
      const from = `/${step.from}`;
      const id = image.names.get(from);
      image = disk.changeNames(image, [
        [from, undefined],
        [`/${step.name}`, id],
      ]);
      return { image, text: `rename ${step.from} to ${step.name}` };
    }
    case 'link':
      image = disk.changeNames(image, [[`/${step.name}`, image.names.get(`/${step.from}`)]]);
      return { image, text: `link ${step.from} to ${step.name}` };
    case 'write': {
      const bytes = Buffer.from(step.bytes);
      image = disk.changeFile(image, step.file, step.at, bytes);
      const part = step.asked > bytes.length ? `: is made in part, ${bytes.length} bytes` : '';
      const what = `write ${step.asked} bytes to ${nameOf(step.file)} at ${step.at}`;
      return { image, text: what + part };
    }
    case 'truncate':
      image = disk.changeFile(image, step.file, step.size);
      return { image, text: `cut ${nameOf(step.file)} at ${step.size}` };
    case 'sync':
      image = (step.isFailed ? disk.failSyncFile : disk.syncFile)(image, step.file);
      return { image, text: `sync ${nameOf(step.file)}` };
    case 'sync folder':
      image = (step.isFailed ? disk.failSyncNames : disk.syncNames)(image, `/${step.name}`);
      return { image, text: 'sync the folder' };
    case 'failure':
      return { image, text: step.what };
    case 'note': {
      const item = step.item === undefined ? '' : `: item ${step.item}`;
      return { image, text: step.what + item };
    }
  }
}

/** @param {DiskImage} image */
function keyOf({ names, files }) {
  const hash = createHash('sha1');
  for (const [path, id] of [...names].sort()) {
    const content = files.get(id)?.cached;
    hash.update(`${path}\0${content?.length}\0`).update(content ?? '');
  }
  return hash.digest('hex');
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
  const expected = ITEMS.filter(({ id }) => begun.includes(id));
  for (const item of ITEMS.filter(({ id }) => acknowledged.includes(id))) {
    if (!items.some((other) => isDeepStrictEqual(other, item))) return `item ${item.id} is missing`;
  }
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
 * A child process, and what it has written to stderr.
 * @typedef {ChildProcess & { errors(): string }} Child
 */

/**
 * @param {'live' | 'read'} role
 * @param {string} module
 * @param {{ root?: string, failure?: Failure | undefined, patienceMs: number }} given
 * @returns {Child}
 */
function startChild(role, module, given) {
  const env = { ...process.env, JUDGE_ROLE: role };
  const options = /** @type {const} */ ({ env, serialization: 'advanced', silent: true });
  const child = endingWithThis(fork(PROCESS, [module, JSON.stringify(given)], options));
  let errors = '';
  child.stdout?.resume();
  child.stderr?.on('data', (chunk) => (errors = `${errors}${chunk}`.slice(0, 1000)));
  return Object.assign(child, { errors: () => errors });
}

/** @typedef {{ child: Child, reads: number }} Reader */

/** Processes that open a store in the folders that they are sent. */
class Readers {
  /** @type {Reader[]} */
  #idle = [];
  /** @type {((reader: Reader) => void)[]} */
  #waiting = [];
  /** @type {Child[]} */
  #children = [];
  #folders = 0;
  #patienceMs = 0;

  /**
   * @param {string} module
   * @param {string} folder
   */
  constructor(module, folder) {
    this.module = module;
    this.folder = folder;
  }

  /** @param {number} patienceMs How long a reader may take for a state. */
  start(patienceMs) {
    this.#patienceMs = patienceMs;
    for (let count = 0; count < availableParallelism(); count += 1) this.#start();
  }

  #start() {
    const child = startChild('read', this.module, { patienceMs: this.#patienceMs });
    this.#children.push(child);
    child.once('message', () => this.#free({ child, reads: 0 }));
  }

  /** @param {Reader} reader */
  #free(reader) {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(reader);
    else next(reader);
  }

  /**
   * @param {DiskImage} image
   * @returns {Promise<Found>}
   */
  async read(image) {
    /** @type {Reader} */
    const reader = this.#idle.pop() ?? (await new Promise((free) => this.#waiting.push(free)));
    const root = join(this.folder, `state-${(this.#folders += 1)}`);
    mkdirSync(root);
    for (const [path, id] of [...image.names].sort()) {
      const content = image.files.get(id)?.cached;
      if (content === undefined) mkdirSync(join(root, path), { recursive: true });
      else if (existsSync(join(root, dirname(path)))) writeFileSync(join(root, path), content);
    }
    const { child } = reader;
    let isEnded = false;
    /** @type {Found} */
    const found = await new Promise((resolve) => {
      const onEnd = () => {
        isEnded = true;
        resolve({ error: `its process ends: ${child.errors()}` });
      };
      child.once('disconnect', onEnd);
      child.once('message', (/** @type {unknown} */ message) => {
        child.off('disconnect', onEnd);
        resolve(/** @type {Found} */ (message));
      });
      child.send(root);
    });
    child.removeAllListeners('message');
    rmSync(root, { recursive: true, force: true });
    reader.reads += 1;
    if (isEnded || reader.reads === READS) {
      child.kill('SIGKILL');
      this.#start();
    } else this.#free(reader);
    return found;
  }

  end() {
    for (const child of this.#children) child.kill('SIGKILL');
  }
}
