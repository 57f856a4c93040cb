/**
 * Deliberate breaks of the file store, each with the cases that catch it. They test the simulation:
 * it proves nothing if it misses one of them.
 *
 * Without --all a break meets only the faults that are known to catch it, and one of them only
 * the ends that are known to.
 */

import zlib from 'node:zlib';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/model/pet-store.ts';
import type { Commit, PendingPet } from '../../src/stores/commit.ts';
import { FileLog } from '../../src/stores/file/file-log.ts';
import { Journal } from '../../src/stores/file/journal.ts';
import { StoreFiles } from '../../src/stores/file/store-files.ts';
import { IdempotencyKeys } from '../../src/stores/table/idempotency-keys.ts';
import { PetTable } from '../../src/stores/table/pet-table.ts';
import { isChosen, isWhole } from '../support/extent.ts';
import { TestClock } from '../support/test-clock.ts';
import * as broken from './broken-disks.ts';
import { inClass, without, type Change, type Search } from './broken-disks.ts';
import { liveInDoubt, liveManyCreates, liveOnce, liveShortly, type Script } from './callers.ts';
import { flipBits, swapDataFiles } from './damage.ts';
import { DATA_FILE, JOURNAL, live, LOCK, type Operation } from './life.ts';
import {
  MEDDLING,
  meddleEverywhere,
  restoreEverywhere,
  stepClockEverywhere,
  takeOverEverywhere,
} from './meddling.ts';
import { complaintsAbout, Simulation, type Cases } from './simulation.ts';
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

/** The faults that are known to catch a break. */
interface KnownFault extends Omit<Fault, 'at'> {
  readonly on: OperationKind;
  readonly path: RegExp;
}

/** By a failure of such operations. */
function byFault(script: Script, { on, path: pattern, kind, lasts }: KnownFault): Search {
  const isKnown = ({ kind, path }: Operation): boolean =>
    isWhole || (kind === on && pattern.test(path));
  return by(() => {
    const simulation = new Simulation(script, { isSearch: true });
    return simulation.failEverywhere([kind], lasts, isKnown);
  });
}

const SYNC: KnownFault = { on: 'sync', path: /journal$/, kind: 'EIO', lasts: 'once' };
const WRITE: KnownFault = { on: 'write', path: /journal$/, kind: 'late', lasts: 'once' };
const FOLDER_SYNC: KnownFault = { on: 'syncDirectory', path: /data$/, kind: 'EIO', lasts: 'once' };

/** Of a data file or a saved file: each line of a journal begins with a CRC. */
const SYNC_OF_DATA_FILE = /^write \S+unfinished\S+ [^0-9a-f][^]*; sync \S+unfinished\S+$/;

/** By other programs that change the file at the path. */
const byMeddling = (path: string): Search =>
  by(async function* () {
    for (const meddling of MEDDLING) if (meddling.path === path) yield* meddleEverywhere(meddling);
  });

/** Creates after which memory failed, and whose outcome is unknown. */
export async function* createsInDoubtByMemory(): Cases {
  const { requests } = await live(liveManyCreates);
  for (let at = 0; at < requests; at += 1) {
    const where = `memory fails at request ${at}`;
    if (!isChosen(where)) continue;
    const { complaints, model } = await live(liveManyCreates, {
      memoryFault: { at, lasts: 'once' },
    });
    const inDoubt = model.unknownCount > 0 ? ['a create is in doubt'] : [];
    yield complaintsAbout(where, [...complaints, ...inDoubt]);
  }
}

/** Writes new journals with another commit in doubt. */
const renewWith = (change: (doubt: Commit) => Commit | undefined): Change =>
  inClass(StoreFiles, 'renew', (renew) => (doubt?: Commit) => renew(doubt && change(doubt)));
const withoutKeys = (doubt: Commit): Commit => ({ ...doubt, keys: [] });
const withoutPets = (doubt: Commit): Commit => ({ ...doubt, pets: [] });

const skipKeysOfCommits = inClass(
  Journal,
  'write',
  (write) => (text: string, owned: () => void) => {
    return write(text.replace(/,"keys":\[.*\]\}$/, '}'), owned);
  },
);

const hideDoubt = inClass(FileLog, 'commit', (commit) => async (creates: readonly PendingPet[]) => {
  const refused = { error: new StoreUnavailableError('A deliberate break') };
  return (await commit(creates)).map((outcome) =>
    'error' in outcome && outcome.error instanceof OutcomeUnknownError ? refused : outcome,
  );
});

const ageByTimeOfDay = inClass(TestClock, 'startProcess', (start) => () => {
  const clock = start();
  return { ...clock, now: clock.timeOfDay };
});

const acceptAnyCrc = inClass({ prototype: zlib }, 'crc32', () => () => 0);

type Break = readonly [what: string, search: Search];

function catches(search: Search, breaks: Readonly<Record<string, Change>>): readonly Break[] {
  return Object.entries(breaks).map(([what, change]) => [what, () => change(search)]);
}

export const BREAKS: readonly Break[] = [
  ...catches(byCrash(liveShortly), {
    'does not sync the journal': without(/; sync \S+\.journal$/),
    'does not sync a new data file': without(SYNC_OF_DATA_FILE),
    'does not sync a new journal': without(/^write \S+unfinished\S+ [0-9a-f][^]*; sync \S+unf\S+$/),
    'does not sync the folder': without(/; syncDirectory/),
    'does not sync the folder above a new one': without(/; syncDirectory \/$/),
    'does not sync the folder after a new journal': without(/^rename \S+ \S+nal; syncDirectory/),
    'acknowledges a create before the sync': broken.syncLate,
    'removes the journal before the new data file has its name': broken.removeJournalFirst,
  }),
  ...catches(byCrash(liveInDoubt), {
    'writes no keys into commits': skipKeysOfCommits,
    'writes a new journal without the keys': inClass(
      IdempotencyKeys,
      'entries',
      () => function* () {},
    ),
    'finds no keys': inClass(IdempotencyKeys, 'find', () => () => undefined),
  }),
  ...catches(byFault(liveOnce, SYNC), { 'retries a failed sync': broken.retrying('sync') }),
  ...catches(byFault(liveOnce, FOLDER_SYNC), {
    'takes a failed sync of a folder for one that succeeded': broken.ignoreFailedFolderSync,
    'retries a failed sync of a folder': broken.retrying('syncDirectory'),
  }),
  ...catches(byFault(liveOnce, WRITE), {
    'does not roll back a failed line': without(/; truncate \S+\.journal$/),
    'does not sync a roll-back': without(/^truncate (\S+\.journal); sync \1$/),
  }),
  ...catches(byFault(liveOnce, { on: 'write', path: /unfinished/, kind: 'half', lasts: 'once' }), {
    'takes half of a write for all of it': broken.ignoreShortWrites,
  }),
  ...catches(byFault(liveInDoubt, SYNC), {
    'writes a new journal without the commit in doubt': renewWith(() => undefined),
    'writes a new journal without the pets in doubt': renewWith(withoutPets),
    'writes a new journal without the keys in doubt': renewWith(withoutKeys),
  }),
  ...catches(byFault(liveShortly, { ...SYNC, lasts: 'for ever' }), {
    'reports a create as refused if its sync failed': hideDoubt,
  }),
  ...catches(by(flipBits), {
    'accepts a wrong CRC': acceptAnyCrc,
    'takes any tail for torn': broken.dropAnyTail,
  }),
  ...catches(by(swapDataFiles), {
    'does not check which data file a journal follows': acceptAnyCrc,
  }),
  ...catches(by(takeOverEverywhere), {
    'reports pets as saved whose file is not synced': without(SYNC_OF_DATA_FILE),
    'reports pets as saved of which it wrote half': without(/^write (\S+unf\S+) \[[^]*; write \1/),
    'does not look at its lock when it finds another journal': broken.blindFor(LOCK),
  }),
  ...catches(by(restoreEverywhere), {
    'relies on a copy of the data file that nobody has synced': without(/; sync \S+pets\.json$/),
  }),
  ...catches(
    by(() => stepClockEverywhere(liveInDoubt)),
    { 'ages keys by the time of day': ageByTimeOfDay },
  ),
  ...catches(byMeddling(LOCK), { 'does not look at its lock': broken.blindFor(LOCK) }),
  ...catches(byMeddling(JOURNAL), {
    'does not look at its journal': broken.blindFor(JOURNAL, 'rename'),
  }),
  ...catches(byMeddling(DATA_FILE), {
    'does not look at its data file': broken.blindFor(DATA_FILE, 'rename'),
  }),
  ...catches(by(createsInDoubtByMemory), {
    'does not reserve memory before it writes': inClass(PetTable, 'reserve', () => () => undefined),
  }),
];
