/**
 * Deliberate breaks of the file store, each with the cases that catch it. They test the simulation:
 * it proves nothing if it misses one of them.
 *
 * Without --all a break meets only the faults that are known to catch it.
 */

import type { StoredPet } from '../../src/core/pets/pet.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/core/pets/pet-store.ts';
import { CommitQueue } from '../../src/core/store/commit-queue.ts';
import { DataFile } from '../../src/core/store/data-file.ts';
import { FileStore } from '../../src/core/store/file-store.ts';
import { firstLine, type Chain, type Word } from '../../src/core/store/format.ts';
import { IdempotencyKeys } from '../../src/core/store/idempotency-keys.ts';
import { PetTable } from '../../src/core/store/pet-table.ts';
import { isWhole } from '../support/extent.ts';
import { inClass, type Change } from '../support/replaced-method.ts';
import * as broken from './broken-disks.ts';
import { without, type Search } from './broken-disks.ts';
import {
  liveAndKill,
  liveAndStop,
  liveInDoubt,
  liveOnce,
  liveShortly,
  type Script,
} from './callers.ts';
import type { Operation } from './life.ts';
import * as meddling from './meddling.ts';
import { Simulation, type Cases } from './simulation.ts';
import type { Fault, OperationKind } from './simulated-disk.ts';

function by(casesOf: () => Cases): Search {
  return async () => {
    for await (const complaints of casesOf()) if (complaints.length > 0) return complaints;
    return [];
  };
}

/** By an end of a life on a sound disk. */
const byCrash = (script: Script): Search =>
  by(() => new Simulation(script, { isSearch: true }).crashEverywhere());

/** By a life that begins with a torn commit. */
const byTornStart: Search = by(async function* () {
  yield* new Simulation(liveOnce, {
    ...(await meddling.tornFile()),
    isSearch: true,
  }).crashEverywhere();
});

/** The faults that are known to catch a break. */
interface KnownFault extends Omit<Fault, 'at'> {
  readonly on: OperationKind;
  readonly path: RegExp;
}

/** By a failure of such operations. */
function byFault(script: Script, known: KnownFault): Search {
  const isKnown = ({ kind, path }: Operation): boolean =>
    isWhole || (kind === known.on && known.path.test(path));
  const simulation = (): Simulation => new Simulation(script, { isSearch: true });
  return by(() => simulation().failEverywhere([known.kind], known.lasts, isKnown));
}

const SYNC: KnownFault = { on: 'sync', path: /pets\.json$/, kind: 'EIO', lasts: 'once' };
const WRITE: KnownFault = { on: 'write', path: /pets\.json$/, kind: 'late', lasts: 'once' };
const FOLDER_SYNC: KnownFault = { on: 'syncDirectory', path: /data$/, kind: 'EIO', lasts: 'once' };

/** By memory that fails, perhaps while a new file must be written. */
const byMemory = (lasts: 'once' | 'for ever', inRepair: boolean): Search =>
  by(async function* () {
    const faults = inRepair ? [await meddling.failingSync()] : [];
    const simulation = new Simulation(liveAndStop, { faults, isSearch: true });
    yield* simulation.failMemoryEverywhere(lasts);
  });

/** By another program that does this. */
const byMeddling = (what: string): Search => by(() => meddling.meddleEverywhere(what));

/** Both changes at the same time. */
const both =
  (one: Change, other: Change): Change =>
  (search) =>
    one(() => other(search));

const withoutKeys = inClass(CommitQueue<object, unknown>, 'add', (add) => (item, bytes) => {
  return add({ ...(item as object), key: undefined }, bytes);
});

/** A create whose outcome is unknown is reported as refused. */
const hideDoubt =
  <Args extends unknown[]>(create: (...args: Args) => Promise<unknown>) =>
  (...args: Args): Promise<unknown> =>
    create(...args).catch((error: unknown) => {
      throw error instanceof OutcomeUnknownError ? new StoreUnavailableError('A break') : error;
    });

/**
 * Leaves out looks: by their number in each commit, which begins with room in memory and ends with
 * its write and sync; 0 for those outside of one.
 */
function skipLook(which: number): Change {
  let looks = 0;
  let isCommit = false;
  const reserve = inClass(PetTable, 'reserve', (reserve) => (pets: readonly StoredPet[]) => {
    looks = 0;
    isCommit = true;
    reserve(pets);
  });
  const append = inClass(DataFile, 'append', (append) => async (lines: string) => {
    return append(lines).finally(() => (isCommit = false));
  });
  const check = inClass(DataFile, 'check', (check) => async (end?: Chain) => {
    looks += 1;
    return (isCommit ? looks : 0) === which ? ('ours' as const) : check(end);
  });
  return both(reserve, both(append, check));
}

/** The write of a word into the first line. */
const writeOf = (word: Word): RegExp =>
  new RegExp(`; write \\S+pets\\.json \\${String(firstLine(word))}`);

const cleanAtClose = inClass(DataFile, 'close', (close, self) => async () => {
  await self.markClean().catch(() => undefined);
  return close();
});

type Break = readonly [what: string, search: Search];

const searches: Search[] = [];

function catches(search: Search, breaks: Readonly<Record<string, Change>>): readonly Break[] {
  searches.push(search);
  return Object.entries(breaks).map(([what, change]) => [what, () => change(search)]);
}

export const BREAKS: readonly Break[] = [
  ...catches(byCrash(liveShortly), {
    'does not sync its file': without(/; sync \S+pets\.json$/),
    'does not sync a new file': without(/; sync \S+unfinished\S+$/),
    'does not sync the folder': without(/; syncDirectory/),
    'does not sync the folder above a new one': without(/; syncDirectory \/$/),
    'gives a new file its name before its sync': broken.syncLate(/unfinished/, /^(link|rename)$/),
    'acknowledges a create before the sync': broken.syncLate(/pets\.json$/, /^(write|close)/),
    'does not say that its file is in use': without(writeOf('in use')),
  }),
  ...catches(byTornStart, { 'does not cut off what is torn': without(/; truncate/) }),
  ...catches(byCrash(liveInDoubt), {
    'writes commits without their keys': withoutKeys,
    'finds no keys': inClass(IdempotencyKeys, 'find', () => () => undefined),
  }),
  ...catches(byFault(liveInDoubt, SYNC), {
    'writes a new file without the keys': inClass(
      IdempotencyKeys,
      'entries',
      () => function* () {},
    ),
    'writes a new file without the commit in doubt': without(/write \S+unfinished\S+ ,/),
  }),
  ...catches(byFault(liveOnce, SYNC), { 'retries a failed sync': broken.retrying('sync') }),
  // The sync fails, and a look at the content, and the new file.
  ...catches(byFault(liveAndKill, { ...SYNC, lasts: 3 }), {
    'does not write the last commit again at a start': without(/^; write \S+pets\.json /),
  }),
  ...catches(byFault(liveOnce, FOLDER_SYNC), {
    'takes a failed sync of a folder for one that succeeded': broken.ignoreFailedFolderSync,
    'retries a failed sync of a folder': broken.retrying('syncDirectory'),
  }),
  ...catches(byFault(liveOnce, WRITE), {
    'does not roll back a failed commit': without(/; truncate|^truncate \S+; write \S+ \]\n/),
    'does not write the bracket of a roll-back': without(/^truncate \S+; write \S+ \]\n/),
    'does not sync a roll-back': without(/^write \S+pets\.json \]\n; sync/),
  }),
  ...catches(byFault(liveOnce, { ...WRITE, kind: 'half' }), {
    'does not cut off a failed commit': without(/; truncate/),
    'takes half of a commit for all of it': broken.ignoreShortWrites,
  }),
  ...catches(byFault(liveShortly, { ...SYNC, lasts: 'for ever' }), {
    'reports a create as refused if its sync failed': inClass(FileStore, 'create', hideDoubt),
    'reports a create with a key as refused if its sync failed': inClass(
      FileStore,
      'createOnce',
      hideDoubt,
    ),
  }),
  ...catches(byMemory('for ever', true), {
    'says that its file is clean while it has to repair it': cleanAtClose,
  }),
  ...catches(by(meddling.startTwice), {
    'does not lock its file': broken.lockNothing(/pets\.json$/),
    'does not lock a new file before its name': broken.lockNothing(/unfinished/),
    'does not compare the file that it has locked with the path': broken.blindForPath,
  }),
  ...catches(byMeddling('the data file is removed'), { 'does not look after a sync': skipLook(2) }),
  ...catches(byMeddling('the first pet is changed in its place'), {
    'does not look before a write': skipLook(1),
    'compares no time': broken.changeStat({ changedAt: 0n }),
    'counts a changed file as the data file': inClass(DataFile, 'isThere', () => () => true),
  }),
  ...catches(byMeddling('the last pet is changed in its place'), {
    'notes the time behind the sync': broken.noteLate,
    'does not compare the commit that it has just written': inClass(
      DataFile,
      'check',
      (check) => () => check(),
    ),
  }),
  ...catches(byMeddling('the data file is cut'), {
    'does not notice a hole before a commit': broken.ignoreHoles,
  }),
  ...catches(byMeddling('the data file is replaced'), {
    'does not look right before a rename': skipLook(0),
    'reports pets as saved whose file is not synced': without(/; sync \S+unfinished\S+$/),
    'starts beside a saved file': broken.hideSavedFiles,
    'reports each stop as a success': inClass(FileStore, 'durability', () => () => 'data file'),
  }),
  ...catches(byMemory('once', false), {
    'does not reserve memory before it writes': inClass(PetTable, 'reserve', () => () => undefined),
  }),
];

export async function* searchSoundStore(): Cases {
  for (const search of searches) yield search();
}
