/**
 * Deliberate breaks of the file store, each with the cases that catch it. They test the simulation:
 * it proves nothing if it misses one of them.
 *
 * Without --all a break meets only the faults that are known to catch it.
 */

import { SnapshotText } from '../../src/stores/file/snapshot.ts';
import { KeyTable } from '../../src/stores/idempotency/key-table.ts';
import { PetTable } from '../../src/stores/table/pet-table.ts';
import { isWhole } from '../support/extent.ts';
import { withMethod } from '../support/replaced-method.ts';
import * as broken from './broken-disks.ts';
import { liveInDoubt, liveManyCreates, liveOnce, liveShortly, type Script } from './callers.ts';
import { stepClockEverywhere } from './clock-steps.ts';
import { flipBits, overwriteTails, swapSnapshots } from './damage.ts';
import { DATA_FILE, JOURNAL, live, LOCK, type Wrap } from './life.ts';
import { MEDDLING, meddleEverywhere, saveEverywhere, type Cases } from './meddling.ts';
import { Simulation, type SimulationOptions } from './simulation.ts';
import type { Fault, OperationKind } from './simulated-disk.ts';

export interface Break {
  readonly what: string;
  /** Resolves with the complaints of the first case that catches the break. */
  readonly run: () => Promise<readonly string[]>;
}

async function firstOf(cases: Cases): Promise<readonly string[]> {
  for await (const complaints of cases) if (complaints.length > 0) return complaints;
  return [];
}

/** Caught by an end of a life on a sound disk. */
function byCrash(what: string, script: Script, options: SimulationOptions): Break {
  const run = async (): Promise<readonly string[]> => {
    const simulation = new Simulation(script, { ...options, stopsEarly: true });
    await simulation.crashEverywhere();
    return simulation.complaints;
  };
  return { what, run };
}

/** The faults that are known to catch a break. */
interface KnownFault extends Omit<Fault, 'at'> {
  readonly on: OperationKind;
}

/** Caught if such operations of the journal fail; the first operation of a life has no journal. */
function byFault(
  what: string,
  script: Script,
  options: SimulationOptions,
  { on, kind, lasts }: KnownFault,
): Break {
  const run = async (): Promise<readonly string[]> => {
    const simulation = new Simulation(script, { ...options, stopsEarly: true });
    await simulation.failEverywhere([kind], lasts, (operation) => {
      const isKnown = operation.kind === on && (operation.path === JOURNAL || on === FIRST.on);
      return isWhole || isKnown;
    });
    return simulation.complaints;
  };
  return { what, run };
}

const SYNC: KnownFault = { on: 'sync', kind: 'EIO', lasts: 'once' };
const WRITE: KnownFault = { on: 'write', kind: 'late', lasts: 'once' };
const FIRST: KnownFault = { on: 'makeDirectory', kind: 'EIO', lasts: 'once' };

/** A checkpoint is tried before a copy of the journal. */
export const CHECKPOINTS = { longJournalBytes: -1 };

type BrokenDisk = readonly [what: string, wrap: Wrap];

const CRASHES: readonly BrokenDisk[] = [
  ['does not sync the journal', broken.skipJournalSync],
  ['does not sync the new snapshot', broken.skipSnapshotSync],
  ['does not sync the copy of a journal at a start', broken.skipSyncOfJournalCopy],
  ['does not sync the directory', broken.skipDirectorySync],
  ['does not sync the folder above a new one', broken.skipParentSync],
  ['acknowledges a create before the sync', broken.acknowledgeBeforeSync],
  ['removes the journal before the new snapshot has its name', broken.removeJournalFirst],
];

const ROLL_BACKS: readonly (readonly [...BrokenDisk, KnownFault])[] = [
  ['retries a failed sync', broken.retryFailedSync, SYNC],
  ['does not roll back a failed line', broken.skipRollBack, WRITE],
  ['does not sync a roll-back', broken.skipSyncOfRollBack, WRITE],
];

const COPIES: typeof ROLL_BACKS = [
  ['revives without the line in doubt', broken.skipLineInDoubt, SYNC],
  ['copies another journal', broken.copyAnotherJournal, FIRST],
  ['does not sync the folder after a copy', broken.skipDirectorySyncOfCopy, FIRST],
];

const KEYS_OF_CHECKPOINTS: typeof ROLL_BACKS = [
  ['does not sync the directory between keys and snapshot', broken.skipDirectorySyncOfKeys, SYNC],
  ['renames the idempotency file after the snapshot', broken.renameKeysLast, FIRST],
  ['leaves the keys in doubt out of a checkpoint', broken.skipKeysInDoubt, SYNC],
];

const FAULTS: readonly Break[] = [
  ...ROLL_BACKS.map(([what, wrap, fault]) => byFault(what, liveOnce, { wrap }, fault)),
  ...COPIES.map(([what, wrap, fault]) => byFault(what, liveInDoubt, { wrap }, fault)),
  ...KEYS_OF_CHECKPOINTS.map(([what, wrap, fault]) =>
    byFault(what, liveInDoubt, { wrap, ...CHECKPOINTS }, fault),
  ),
  byFault(
    'reports a create as refused if its sync failed',
    liveShortly,
    { hidesDoubt: true },
    {
      ...SYNC,
      lasts: 'for ever',
    },
  ),
  byFault(
    'takes a key in doubt for a new one',
    liveInDoubt,
    { forgetsDoubt: true },
    {
      ...SYNC,
      lasts: 'twice',
    },
  ),
];

const BLIND: readonly (readonly [what: string, path: string, wrap: Wrap])[] = [
  ['does not look at its lock', LOCK, broken.blindForLock],
  ['does not look at its journal', JOURNAL, broken.blindForJournal],
  ['does not look at its snapshot', DATA_FILE, broken.blindForSnapshot],
];

async function* meddleWith(path: string, wrap: Wrap): Cases {
  for (const meddling of MEDDLING)
    if (meddling.path === path) yield* meddleEverywhere(meddling, wrap);
}

const CASES: readonly (readonly [what: string, cases: () => Cases])[] = [
  ['accepts a wrong CRC', () => flipBits(broken.acceptWrongCrc)],
  [
    'does not check which snapshot a journal follows',
    () => swapSnapshots(broken.acceptAnySnapshot),
  ],
  ['takes any tail for torn', () => overwriteTails(broken.dropAnyTail)],
  ['reports pets as saved whose file is not synced', () => saveEverywhere(broken.skipSyncOfSaved)],
  ['reports pets as saved of which it wrote half', () => saveEverywhere(broken.writeHalfOfSaved)],
  [
    'ages keys by the time of day',
    () => stepClockEverywhere(liveInDoubt, undefined, { agesByTimeOfDay: true }),
  ],
  ...BLIND.map(([what, path, wrap]) => [what, () => meddleWith(path, wrap)] as const),
];

/** Creates after which memory failed, and whose outcome is unknown. */
export async function* createsInDoubtByMemory(): Cases {
  const { requests } = await live(liveManyCreates);
  for (let at = 0; at < requests; at += 1) {
    const { complaints, model } = await live(liveManyCreates, {
      memoryFault: { at, lasts: 'once' },
    });
    const inDoubt = model.unknownCount > 0 ? [`request ${at} leaves a create in doubt`] : [];
    yield [...complaints, ...inDoubt];
  }
}

const memory: Break = {
  what: 'does not reserve memory before it writes',
  run: () => firstOf(createsInDoubtByMemory()),
};
const keys = byCrash('makes a checkpoint without the keys', liveInDoubt, {});
const pets = byFault(
  'makes a checkpoint without its pets in doubt',
  liveInDoubt,
  CHECKPOINTS,
  SYNC,
);

/** The chunks of a snapshot without those of the pets in doubt. */
function* fewerChunks(chunks: Iterable<Buffer>): Generator<Buffer> {
  for (const chunk of chunks) {
    if (!/^(\[|,)\n\{/.test(chunk.toString('latin1', 0, 4))) yield chunk;
  }
}

const CLASSES: readonly Break[] = [
  { ...memory, run: () => withMethod(PetTable, 'reserve', () => () => undefined, memory.run) },
  {
    ...keys,
    run: () => withMethod(KeyTable, 'entries', () => () => [][Symbol.iterator](), keys.run),
  },
  {
    ...pets,
    run: () =>
      withMethod(
        SnapshotText,
        'chunks',
        (chunks) =>
          function (this: SnapshotText) {
            return fewerChunks(chunks.call(this as never) as Iterable<Buffer>);
          } as never,
        pets.run,
      ),
  },
];

export const BREAKS: readonly Break[] = [
  ...CRASHES.map(([what, wrap]) => byCrash(what, liveShortly, { wrap })),
  byCrash('writes no keys into commits', liveInDoubt, { wrap: broken.skipKeysOfCommits }),
  ...FAULTS,
  ...CASES.map(([what, cases]) => ({ what, run: () => firstOf(cases()) })),
  ...CLASSES,
];
