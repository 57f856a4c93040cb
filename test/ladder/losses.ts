/**
 * What a store loses on the simulated disk: it runs, ends at any moment, and is started again.
 *
 * A life creates a few pets, and is recorded step by step: each call that changes the disk, and
 * each pet that is acknowledged. The machine may end after every step, and a new process starts on
 * what is left. A pet that was acknowledged and is not there once, unchanged, is a loss; so is a
 * start that fails, and a pet that is created after it and is gone after one more start.
 */

import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import type { NewPet } from '../../src/ladder/1-plain.ts';
import type { Disk } from '../../src/core/store/disk.ts';
import {
  changeNames,
  EMPTY_DISK,
  FOLDER,
  partsOf,
  syncFile,
  syncNames,
  type DiskImage,
} from '../simulation/disk-image.ts';
import { SimulatedDisk, type Fault, type OperationKind } from '../simulation/simulated-disk.ts';
import { everyEnd, worstEnd, type Ends, type Survivor } from '../simulation/survival.ts';
import { intercept } from '../support/disk/intercept.ts';
import { isInSample, isWhole } from '../support/extent.ts';
import { describeCall, describeEnd, firstLineOf, shownPet } from './shown.ts';
import type { LadderStore, OpenStore } from './stores.ts';
import type { Column } from './variants.ts';

export const PATH = '/data/pets.json';

/** A pet is lost: how it came to that, one step a line, and what is wrong. */
export interface Loss {
  readonly steps: readonly string[];
  readonly end: string;
  readonly found: string;
}

/** What was found in a column. */
export interface Cell {
  /** How many different ends were tried. */
  readonly tried: number;
  /** In how many of them a pet is lost. */
  readonly lost: number;
  /** One of the losses after the fewest steps. */
  readonly shortest: Loss | undefined;
}

/** The disk after a step, and what is acknowledged by then. */
export interface Moment {
  readonly steps: readonly string[];
  readonly image: DiskImage;
  readonly acknowledged: readonly string[];
  /** What may be there, too: only the judge asks for it. */
  readonly begun?: readonly string[];
}

/** A folder, which is durable. */
const FOLDER_ONLY: DiskImage = syncNames(
  changeNames(EMPTY_DISK, [[dirname(PATH), FOLDER]]),
  dirname(dirname(PATH)),
);

/** Tries a store in each way of one column. */
export async function tryColumn(column: Column, open: OpenStore): Promise<Cell> {
  const tries = triesOf(open);
  if (column === 'second process') {
    await tries.end(await liveBeside(open), onlyKill);
    return tries;
  }
  const { moments, kinds } = await live(open, []);
  if (column === 'kill') await tries.end(moments, onlyKill);
  if (column === 'power failure') await tries.end(moments, powerFailures);
  for (const [at, kind] of kinds.entries()) {
    for (const fault of faultsOf(column, kind)) {
      const faulty = await live(open, [{ ...fault, at }]);
      await tries.end(faulty.moments, column === 'full disk' ? onlyKill : onlyUnsynced);
    }
  }
  return tries;
}

const SAMPLE = ['once', 'for ever'] as const;
const WHOLE = [...SAMPLE, 'twice'] as const;
/** Without --all, one fault in this many is tried. */
const SAMPLE_FAULTS = 16;

/**
 * Fails each operation of a life in each way, and ends the life after each step in each way; after
 * a kill, the start that follows it, too.
 */
export async function lossesEverywhere(open: OpenStore): Promise<Cell> {
  const tries = triesOf(open);
  const isNew = once(keyOfMoment);
  const isNewStart = once(keyOfMoment);
  const { kinds } = await live(open, []);
  for (const kind of ['EIO', 'ENOSPC', 'half', 'short', 'late'] as const) {
    for (const lasts of isWhole ? WHOLE : SAMPLE) {
      for (const at of kinds.keys()) {
        if (!isInSample(`${kind} ${lasts} ${at}`, SAMPLE_FAULTS)) continue;
        const { moments } = await live(open, [{ kind, lasts, at }]);
        await tries.end(moments.filter(isNew), everyEnd);
        for (const moment of moments.filter(isNewStart)) {
          await tries.end((await startAgain(open, moment)).filter(isNew), everyEnd);
        }
      }
    }
  }
  return tries;
}

/** Returns a filter that lets pass each key once. */
function once<T>(keyOf: (value: T) => string): (value: T) => boolean {
  const seen = new Set<string>();
  return (value) => seen.size < seen.add(keyOf(value)).size;
}

/** Kills the process. Resolves with the moments of the next one, which reads and creates a pet. */
async function startAgain(open: OpenStore, moment: Moment): Promise<readonly Moment[]> {
  const recorder = new Recorder(moment.image, [...moment.steps, 'kill'], moment.acknowledged);
  const store = await recorder.open(open, recorder.simulated.startProcess());
  if (store !== undefined) {
    await recorder.read(store);
    await recorder.create(store, newPet('Leo'));
  }
  return [...recorder.moments];
}

/** How such an operation fails in a column. */
function faultsOf(column: Column, kind: OperationKind): readonly Omit<Fault, 'at'>[] {
  if (column === 'full disk' && kind === 'write') {
    // The disk is full in the middle of a write: for ever, or until a file was removed.
    return [
      { kind: 'short', lasts: 'for ever' },
      { kind: 'half', lasts: 'once' },
    ];
  }
  const isSync = kind === 'sync' || kind === 'syncDirectory';
  return column === 'failed sync' && isSync ? [{ kind: 'EIO', lasts: 'once' }] : [];
}

export const onlyKill: Ends = (image) => [{ how: 'kill -9', image }];

export function* powerFailures(image: DiskImage): Generator<Survivor> {
  for (const survivor of everyEnd(image)) if (survivor.how !== 'kill -9') yield survivor;
}

/** What is lost by a failed sync alone: a power failure, after everything else was synced. */
export function* onlyUnsynced(image: DiskImage): Generator<Survivor> {
  const folders = [...image.names].filter(([, id]) => id === FOLDER).map(([path]) => path);
  let synced = image;
  for (const id of image.files.keys()) synced = syncFile(synced, id);
  for (const path of ['/', ...folders]) synced = syncNames(synced, path);
  yield { how: 'power failure', image: worstEnd(synced) };
}

/** Resolves with what is wrong with an image that is left of a moment, or with undefined. */
type FindLoss = (left: DiskImage, moment: Moment) => Promise<string | undefined>;

/** Ends a machine at moments, and looks at each different image that is left once. */
export class Tries implements Cell {
  readonly #findLoss: FindLoss;
  readonly #seen: Set<string> = new Set();
  lost = 0;
  shortest: Loss | undefined;

  constructor(findLoss: FindLoss) {
    this.#findLoss = findLoss;
  }

  get tried(): number {
    return this.#seen.size;
  }

  async end(moments: readonly Moment[], ends: Ends): Promise<void> {
    for (const moment of moments) {
      const { steps, image, acknowledged, begun } = moment;
      for (const { how, image: left } of ends(image)) {
        const key = JSON.stringify([keyOf(left), acknowledged, begun]);
        if (this.#seen.has(key)) continue;
        this.#seen.add(key);
        const found = await this.#findLoss(left, moment);
        if (found === undefined) continue;
        this.lost += 1;
        if (this.shortest !== undefined && this.shortest.steps.length <= steps.length) continue;
        this.shortest = { steps, end: describeEnd(how, image, left), found };
      }
    }
  }
}

function keyOfMoment({ image, acknowledged }: Moment): string {
  return JSON.stringify([partsOf(image), acknowledged]);
}

/** Returns the same for images that a new process cannot tell apart. */
export function keyOf({ names, files }: DiskImage): string {
  const contents = [...names].map(([path, id]) => [path, files.get(id)?.cached.toString('latin1')]);
  return createHash('sha1').update(JSON.stringify(contents.sort())).digest('base64');
}

const triesOf = (open: OpenStore): Tries =>
  new Tries((left, { acknowledged }) => findLoss(open, left, acknowledged));

/** Starts on what is left, twice. Resolves with what is wrong, or with undefined. */
async function findLoss(
  open: OpenStore,
  image: DiskImage,
  acknowledged: readonly string[],
): Promise<string | undefined> {
  const disk = new SimulatedDisk(image);
  const expected = [...acknowledged];
  for (const start of ['', 'after one more start, '] as const) {
    let store: LadderStore;
    try {
      store = await open(PATH, disk.startProcess());
    } catch (error) {
      // A store that has acknowledged nothing loses nothing.
      if (expected.length === 0) return undefined;
      return `${start}the store does not start: ${firstLineOf(error)}`;
    }
    const found = await petsOf(store);
    for (const pet of expected) {
      const count = found.filter((other) => other === pet).length;
      if (count === 0) return `${start}${shownPet(pet)} is missing`;
      if (count > 1) return `${start}${shownPet(pet)} is there ${count} times`;
    }
    expected.push((await store.create(newPet('Last'))).text);
  }
  return undefined;
}

async function petsOf(store: LadderStore): Promise<readonly string[]> {
  const { text } = await store.list({ limit: 1000 });
  return text === '[]' ? [] : text.slice(1, -1).split(',\n');
}

/** Creates one pet, two at a time, a short one, a long one, and keeps each moment. */
async function live(open: OpenStore, faults: readonly Fault[]): Promise<RecordedLife> {
  const recorder = new Recorder(FOLDER_ONLY);
  recorder.simulated.faults = faults;
  const store = await recorder.open(open, recorder.simulated.startProcess());
  if (store !== undefined) {
    await recorder.create(store, newPet('Rex'));
    await Promise.all(['Tom', 'Kit'].map((name) => recorder.create(store, newPet(name, 700))));
    await recorder.create(store, newPet('Ann'));
    await recorder.create(store, newPet('Eve', 700));
  }
  // A store may still call the disk.
  return { moments: [...recorder.moments], kinds: [...recorder.kinds] };
}

interface RecordedLife {
  readonly moments: readonly Moment[];
  /** The operations of the disk. */
  readonly kinds: readonly OperationKind[];
}

/** Two processes have the same file, and each creates three pets. */
async function liveBeside(open: OpenStore): Promise<readonly Moment[]> {
  const recorder = new Recorder(FOLDER_ONLY);
  const processes = [];
  for (const who of ['A: ', 'B: ']) {
    const disk = recorder.simulated.startProcess(true);
    processes.push({ who, store: await recorder.open(open, disk, who) });
  }
  for (const name of ['Rex', 'Tom', 'Kit']) {
    for (const { who, store } of processes) {
      if (store !== undefined) await recorder.create(store, newPet(`${name} of ${who[0]}`), who);
    }
  }
  return [...recorder.moments];
}

/** The name has this length at least: a pet may have more than one sector of the disk. */
function newPet(name: string, length = 0): NewPet {
  return { name: name.padEnd(length, '.'), categoryId: 7n };
}

/** Keeps each moment of a life. */
class Recorder {
  readonly moments: Moment[] = [];
  readonly simulated: SimulatedDisk;
  /** The operations of the disk. */
  readonly kinds: OperationKind[] = [];
  /** The path of the last operation. An open file has the one that leads to it now, or none. */
  #path = '';
  readonly #steps: string[];
  readonly #acknowledged: string[];

  constructor(
    image: DiskImage,
    steps: readonly string[] = [],
    acknowledged: readonly string[] = [],
  ) {
    this.simulated = new SimulatedDisk(image, (kind, path) => {
      this.kinds.push(kind);
      this.#path = path;
    });
    this.#steps = [...steps];
    this.#acknowledged = [...acknowledged];
  }

  /** Resolves with undefined if the store does not start. `who` begins each of its steps. */
  async open(open: OpenStore, disk: Disk, who = ''): Promise<LadderStore | undefined> {
    const recorded = intercept(disk, (call, args, proceed) => {
      const { operations, failures, image } = this.simulated;
      try {
        // The simulated disk has made the call when it returns, also where it returns a promise.
        return proceed(...args);
      } finally {
        const isMade = this.simulated.operations > operations;
        const hasFailed = this.simulated.failures > failures;
        const isPartial = call.operation.startsWith('write') && this.simulated.image !== image;
        const failure = isPartial ? ' is made in part' : ' fails';
        const isIdle = call.operation === 'remove' && this.simulated.image === image;
        const step = isIdle ? undefined : describeCall(call.operation, this.#path, args);
        if (isMade && step !== undefined) this.#keep(who + step + (hasFailed ? `:${failure}` : ''));
      }
    });
    return open(PATH, recorded).catch((error: Error) => {
      this.#keep(`${who}does not start: ${firstLineOf(error)}`);
      return undefined;
    });
  }

  /** A pet that a client has read must not be lost either. */
  async read(store: LadderStore): Promise<void> {
    for (const pet of await petsOf(store)) {
      if (!this.#acknowledged.includes(pet)) this.#acknowledged.push(pet);
    }
    this.#keep('read all pets');
  }

  async create(store: LadderStore, given: NewPet, who = ''): Promise<void> {
    try {
      const { text } = await store.create(given);
      this.#acknowledged.push(text);
      this.#keep(`${who}acknowledge ${shownPet(text)}`);
    } catch (error) {
      this.#keep(`${who}answer with an error: ${firstLineOf(error)}`);
    }
  }

  #keep(step: string): void {
    this.#steps.push(step);
    const { image } = this.simulated;
    this.moments.push({ steps: [...this.#steps], image, acknowledged: [...this.#acknowledged] });
  }
}
