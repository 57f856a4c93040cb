/**
 * What happens to the store from outside, before any of its operations: another program removes,
 * replaces or edits the data file, or moves its folder; another process starts or takes the lock.
 * Each acknowledged pet must be in the data file, in a saved file, or in the file that was moved;
 * no file of another program may be overwritten; and what a stop reports must be true.
 */

import { openFileStore, type FileStore } from '../../src/core/store/file-store.ts';
import { intercept } from '../support/disk/intercept.ts';
import { isChosen, isInSample } from '../support/extent.ts';
import type { Random } from '../support/random.ts';
import { REX } from '../support/pets/rex.ts';
import { TestClock } from '../support/test-clock.ts';
import { liveAndStop, type Script } from './callers.ts';
import { changeNames, FOLDER, type DiskImage } from './disk-image.ts';
import { contentsOf, DATA_FILE, Life, live, type LifeOptions, type Operation } from './life.ts';
import { complaintsAbout, type Cases } from './simulation.ts';
import { SimulatedDisk, systemError, type Fault } from './simulated-disk.ts';
import { worstEnd } from './survival.ts';

type Meddle = (disk: SimulatedDisk) => void;

const FOREIGN = Buffer.from('[{"id":1,"name":"Foreign","categoryId":1}]\n');

const edit =
  (change: (content: Buffer) => Buffer | string): Meddle =>
  (disk) =>
    disk.edit(DATA_FILE, (content) => Buffer.from(change(content)));

/** Makes the category of a pet, which is 7, an 8. */
const changeAt = (content: Buffer, at: number): Buffer =>
  at === -1 ? content : content.fill('8', at + CATEGORY.length, at + CATEGORY.length + 1);
const CATEGORY = '"categoryId":';

export const MEDDLING: Readonly<Record<string, Meddle>> = {
  'the data file is removed': (disk) => disk.intrude(DATA_FILE),
  'the data file is replaced': (disk) => disk.intrude(DATA_FILE, FOREIGN),
  'the data file is replaced by a copy': (disk) => disk.restore(DATA_FILE),
  'the data file is cut': edit((content) => content.subarray(0, content.length - 60)),
  'the data file is emptied': edit(() => ''),
  'the data file gets longer': edit((content) => `${String(content)} `),
  'the first pet is changed in its place': edit((content) =>
    changeAt(content, content.indexOf(CATEGORY)),
  ),
  'the last pet is changed in its place': edit((content) =>
    changeAt(content, content.lastIndexOf(CATEGORY)),
  ),
  'its folder is moved away': (disk) => disk.moveFolder('/data', '/moved'),
  'its folder is removed': (disk) => disk.moveFolder('/data'),
  'its folder is replaced': (disk) => {
    disk.moveFolder('/data', '/moved');
    disk.image = changeNames(disk.image, [['/data', FOLDER]]);
  },
  // Harmless.
  'the data file is touched': edit((content) => content),
  'the data file gets a second name': (disk) => disk.addName(DATA_FILE, '/data/backup.json'),
};
const HARMLESS = /touched|second name/;

/** The second sync of a commit fails: a new file is written. */
export async function failingSync(): Promise<Fault> {
  const { operations } = await live(liveAndStop);
  const isSync = ({ kind, path }: Operation): boolean => kind === 'sync' && path === DATA_FILE;
  const [, second] = [...operations.keys()].filter((at) => isSync(operations[at]!));
  return { at: second!, kind: 'EIO', lasts: 'once' };
}

/** So many operations after a file was touched, the store has compared its content. */
const COMPARED_AFTER = 5;

/**
 * Meddles before each operation of a running service: on a sound disk, around a repair, and right
 * after the file was touched, while the store compares its content. Without --all before one in
 * `oneIn`.
 */
export async function* meddleEverywhere(what: string, oneIn = 1): Cases {
  const touch = MEDDLING['the data file is touched']!;
  for (const [scene, faults] of [[], [await failingSync()], []].entries()) {
    const plain = await live(liveAndStop, { faults });
    const wrote = plain.operations.findIndex(({ kind, path }) => {
      return kind === 'write' && path === DATA_FILE;
    });
    const first = faults[0]?.at ?? wrote;
    for (let at = first; at < lastLookOf(what, plain); at += 1) {
      const where = `${what} before ${at}, scene ${scene}`;
      if (!isChosen(where) || !isInSample(where, oneIn)) continue;
      const happens: LifeOptions['happens'] = ({ disk }, operations) => {
        if (scene === 2 && operations === at - COMPARED_AFTER) touch(disk);
        if (operations === at) MEDDLING[what]!(disk);
      };
      const life = await live(liveAndStop, { faults, happens, keepsFrom: at });
      yield complaintsAbout(where, await judge(life, what, at));
    }
  }
}

/** Returns what is wrong after a program has meddled before this operation. */
async function judge(life: Life, what: string, at: number): Promise<readonly string[]> {
  const complaints = [...life.complaints];
  const { operations } = life;
  if (isUnnoticed(what, life, at)) return complaints;
  complaints.push(...lossesOf(life, at), ...(await falseReportsOf(life)));
  if (HARMLESS.test(what) && !life.isClean) complaints.push('ends, though no harm was done');
  // Between the last look and a rename nothing is noticed.
  const next = operations.slice(at).find(({ kind }) => kind !== 'stat');
  const isKept = contentsOf(life.disk.image).includes('Foreign') || next?.kind === 'rename';
  const isForeign = what === 'the data file is replaced';
  if (isForeign && !isKept) complaints.push('overwrites the file of another program');
  return complaints;
}

/**
 * The index of the last look of a stop: behind it, the word is written and the file closed. A stop
 * looks twice, and the second time at the time only.
 */
function lastLookOf(what: string, { operations }: Life): number {
  const kinds = operations.map(({ kind }) => kind);
  const last = kinds.lastIndexOf('stat', kinds.lastIndexOf('write'));
  return what.endsWith('in its place') ? last - 2 : last;
}

/**
 * True from the last look before a write or a cut up to the time that the store notes behind it: an
 * edit that keeps the length is not noticed there.
 */
function isUnnoticed(what: string, { operations }: Life, at: number): boolean {
  const isChange = (index: number): boolean => {
    const kind = operations[index]?.kind;
    return kind === 'write' || kind === 'truncate';
  };
  const isStat = operations[at]?.kind === 'stat';
  const isBehindLook = isChange(at) || (isStat && (isChange(at - 1) || isChange(at + 1)));
  return what.endsWith('in its place') && isBehindLook;
}

/**
 * The pets that are in no file at some moment. A kill -9 right after the removal of a file loses
 * its pets, but the next create that is acknowledged has noticed the removal: the one in progress,
 * unless the store had already looked.
 */
function lossesOf({ moments, operations }: Life, at: number): readonly string[] {
  const sync = operations.findLastIndex(({ kind }, index) => kind === 'sync' && index < at);
  const looks = operations.slice(sync, at).filter(({ kind }) => kind === 'stat');
  const hasLooked = looks.some(({ path }) => path === DATA_FILE);
  const { pets = [], inProgress = [] } = moments[0]?.known ?? {};
  const unsafe = pets.length + (hasLooked ? inProgress.length : 0);
  return moments.flatMap((moment) => {
    if (moment.known.pets.length <= unsafe && moment !== moments.at(-1)) return [];
    const lost = missing(moment.known.pets, worstEnd(moment.image), PETS);
    return lost.map((pet) => `${moment.before}: lost ${pet.slice(0, 40)}`);
  });
}

/** The data file and saved files, also in a folder that was moved. */
const PETS = /pets\.json(\.saved-\w*)?$/;

/** The pets that no file with such a path has. */
function missing(pets: readonly string[], image: DiskImage, paths: RegExp): readonly string[] {
  const content = contentsOf(image, paths);
  // In a file a key may follow, before the brace.
  return pets.filter((pet) => !content.includes(pet.slice(0, -1)));
}

/**
 * What a stop or an end said of its files, and was not so after a power failure. On a disk that
 * fails, too, it is as much as can be said that the pets are in files with these names: the name of
 * a new file, or the end that another program has changed, may not be durable.
 */
async function falseReportsOf(
  { isClean, where, disk, model }: Life,
  isFaulty = false,
): Promise<readonly string[]> {
  const { known } = model;
  const image = worstEnd(disk.image, isFaulty);
  const has = (path: RegExp): boolean => missing(known.pets, image, path).length === 0;
  const complaints: string[] = [];
  if (isClean && !has(/^\/data\/pets\.json$/)) complaints.push('exits with 0 without its pets');
  if (where === 'saved file' && !has(SAVED)) complaints.push('saved not all pets');
  const isSaved = [...image.names.keys()].some((path) => SAVED.test(path));
  if (isFaulty || (!isClean && !isSaved)) return complaints;
  const next = await live(start, { image, known });
  if (isSaved && next.stores.length > 0) complaints.push('starts beside a saved file');
  if (!isSaved && next.stores.length === 0) complaints.push(String(next.startError));
  return [...complaints, ...next.complaints];
}

const SAVED = /^\/data\/pets\.json\.saved-\w+$/;

const start: Script = (callers) => callers.start();

/** A file that is in use, with a torn commit at its end. */
export async function tornFile(): Promise<Required<Pick<LifeOptions, 'image' | 'known'>>> {
  const { disk, model } = await live(async (callers) => {
    await callers.start();
    await callers.create(30, 3);
    await callers.createOnce(3);
  });
  const { known } = model;
  const tail = Buffer.from(`,{"id":${known.pets.length + 1},"name":"${'x'.repeat(300)}`);
  disk.edit(DATA_FILE, (content) => Buffer.concat([content.subarray(0, -2), tail]));
  return { image: disk.image, known };
}

/** Turns of the microtask queue before the second start begins. Without --all, one in this many. */
const TURNS = 200;
const TURNS_SAMPLE = 10;

/**
 * A second process starts at any time during the start of a first one, or while that replaces its
 * file since a sync has failed. One of them is let in, and no acknowledged pet is lost.
 */
export async function* startTwice(): Cases {
  const { disk } = await live(liveAndStop);
  const { image: torn } = await tornFile();
  const found = { nothing: undefined, 'a clean file': disk.image, 'a torn file': torn };
  for (const [what, image] of Object.entries(found)) {
    for (const first of ['start', 'repair'] as const) {
      for (const hasLinks of [true, false]) {
        for (let turns = 0; turns < TURNS; turns += 1) {
          const where = `${first} with ${what}, links ${hasLinks}, ${turns} turns`;
          if (!isChosen(where) || !isInSample(where, TURNS_SAMPLE)) continue;
          const two = new TwoProcesses(image, hasLinks);
          await two.run(first === 'repair', turns);
          yield complaintsAbout(where, await two.judge(first === 'start' && image === undefined));
        }
      }
    }
  }
}

class TwoProcesses {
  readonly #disk: SimulatedDisk;
  readonly #stores: FileStore[] = [];
  readonly #acknowledged: string[] = [];
  #bits = 4711;
  #failsSync = false;

  constructor(image: DiskImage | undefined, hasLinks: boolean) {
    this.#disk = new SimulatedDisk(image);
    this.#disk.hasLinks = hasLinks;
  }

  async run(repairs: boolean, turns: number): Promise<void> {
    const first = this.#open();
    if (repairs) await first;
    this.#failsSync = repairs;
    const creating = repairs ? this.#create() : undefined;
    for (let turn = 0; turn < turns; turn += 1) await undefined;
    await Promise.all([first, creating, this.#open()]);
    await this.#create();
    for (const store of this.#stores) await store.close().catch(() => undefined);
  }

  /** On a file system without links, a second first start is noticed by the next create. */
  judge(isFirstStart: boolean): readonly string[] {
    const mayBoth = isFirstStart && !this.#disk.hasLinks;
    const complaints = missing(this.#acknowledged, worstEnd(this.#disk.image), PETS);
    const count = this.#stores.length;
    return count === 1 || (count === 2 && mayBoth) ? complaints : [`${count} processes are let in`];
  }

  async #open(): Promise<void> {
    const disk = intercept(this.#disk.startProcess(true), ({ operation }, args, proceed) => {
      if (operation !== 'sync' || !this.#failsSync) return proceed(...args);
      this.#failsSync = false;
      return Promise.reject(systemError('EIO', DATA_FILE));
    });
    const randomBits = (): number => (this.#bits += 1);
    const options = { path: DATA_FILE, disk, clock: new TestClock().options, randomBits };
    await openFileStore(options).then(
      (store) => this.#stores.push(store),
      () => undefined,
    );
  }

  async #create(): Promise<void> {
    for (const store of this.#stores) {
      const created = await store.create(REX).catch(() => undefined);
      if (created !== undefined) this.#acknowledged.push(created.text);
    }
  }
}

/** Another program meddles with a running service at any operation, perhaps while others fail. */
export async function meddleAtRandom(
  left: LifeOptions,
  random: Random,
  faults: readonly Fault[],
): Promise<readonly string[]> {
  const what = random.pick(Object.keys(MEDDLING));
  const at = 25 + random.below(60);
  let isTried = false;
  const happens: LifeOptions['happens'] = ({ disk, stores }, operations) => {
    isTried ||= operations === at && stores.length > 0 && disk.image.names.has(DATA_FILE);
    if (isTried && operations === at) MEDDLING[what]!(disk);
  };
  const last = lastLookOf(what, await live(liveAndStop, { ...left, faults }));
  const life = await live(liveAndStop, { ...left, faults, happens });
  const isSeen = at < last && !isUnnoticed(what, life, at);
  const reports = isTried && isSeen ? await falseReportsOf(life, faults.length > 0) : [];
  return [...life.complaints, ...reports.map((report) => `${what} before ${at}: ${report}`)];
}
