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
import * as broken from './broken-disks.ts';
import { liveInDoubt, liveManyCreates, liveOnce, liveShortly, type Script } from './callers.ts';
import { stepClockEverywhere } from './clock-steps.ts';
import { flipEveryByte, overwriteTails, swapSnapshots } from './damage.ts';
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

/** Caught if operations of this kind fail. */
function byFault(
  what: string,
  script: Script,
  options: SimulationOptions,
  { on, path, kind, lasts }: Omit<Fault, 'at'> & { on: OperationKind; path?: string },
): Break {
  const run = async (): Promise<readonly string[]> => {
    const simulation = new Simulation(script, { ...options, stopsEarly: true });
    await simulation.failEverywhere([kind], lasts, (operation) => {
      return isWhole || (operation.kind === on && operation.path === (path ?? operation.path));
    });
    return simulation.complaints;
  };
  return { what, run };
}

const SYNC = { on: 'sync', path: JOURNAL, kind: 'EIO', lasts: 'once' } as const;
const WRITE = { on: 'write', path: JOURNAL, kind: 'late', lasts: 'once' } as const;
/** The first operation of a life: what follows is another life than on a sound disk. */
const FIRST = { on: 'makeDirectory', kind: 'EIO', lasts: 'once' } as const;

/** A checkpoint is tried before a copy of the journal. */
export const CHECKPOINTS = { longJournalBytes: -1 };

const CRASHES: readonly (readonly [what: string, wrap: Wrap])[] = [
  ['does not sync the journal', broken.skipJournalSync],
  ['does not sync the new snapshot', broken.skipSnapshotSync],
  ['does not sync the copy of a journal at a start', broken.skipSyncOfJournalCopy],
  ['does not sync the directory', broken.skipDirectorySync],
  ['does not sync the folder above a new one', broken.skipParentSync],
  ['acknowledges a create before the sync', broken.acknowledgeBeforeSync],
  ['removes the journal before the new snapshot has its name', broken.removeJournalFirst],
];

const FAULTS: readonly Break[] = [
  byFault('retries a failed sync', liveOnce, { wrap: broken.retryFailedSync }, SYNC),
  byFault('does not roll back a failed line', liveOnce, { wrap: broken.skipRollBack }, WRITE),
  byFault('does not sync a roll-back', liveOnce, { wrap: broken.skipSyncOfRollBack }, WRITE),
  byFault(
    'does not sync the directory between keys and snapshot',
    liveInDoubt,
    { wrap: broken.skipDirectorySyncOfKeys, ...CHECKPOINTS },
    SYNC,
  ),
  byFault(
    'renames the idempotency file after the snapshot',
    liveInDoubt,
    { wrap: broken.renameKeysLast, ...CHECKPOINTS },
    FIRST,
  ),
  byFault(
    'leaves the keys in doubt out of a checkpoint',
    liveInDoubt,
    { wrap: broken.skipKeysInDoubt, ...CHECKPOINTS },
    SYNC,
  ),
  byFault('revives without the line in doubt', liveInDoubt, { wrap: broken.skipLineInDoubt }, SYNC),
  byFault('copies another journal', liveInDoubt, { wrap: broken.copyAnotherJournal }, FIRST),
  byFault(
    'does not sync the folder after a copy',
    liveInDoubt,
    { wrap: broken.skipDirectorySyncOfCopy },
    FIRST,
  ),
  byFault(
    'reports a create as refused if its sync failed',
    liveShortly,
    { hidesDoubt: true },
    { ...SYNC, lasts: 'for ever' },
  ),
  byFault(
    'takes a key in doubt for a new one',
    liveInDoubt,
    { forgetsDoubt: true },
    { ...SYNC, lasts: 'twice' },
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
  ['accepts a wrong CRC', () => flipEveryByte(broken.acceptWrongCrc)],
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

/** The break of a class of the store: one of its methods is replaced while the cases run. */
function withMethod<K extends string>(
  prototype: Record<K, (...args: never[]) => unknown>,
  name: K,
  broke: (original: (...args: never[]) => unknown) => (...args: never[]) => unknown,
  { what, run }: Break,
): Break {
  const runBroken = async (): Promise<readonly string[]> => {
    const original = prototype[name];
    prototype[name] = broke(original);
    try {
      return await run();
    } finally {
      prototype[name] = original;
    }
  };
  return { what, run: runBroken };
}

const CLASSES: readonly Break[] = [
  withMethod(PetTable.prototype as never, 'reserve', () => () => undefined, {
    what: 'does not reserve memory before it writes',
    run: () => firstOf(createsInDoubtByMemory()),
  }),
  withMethod(
    KeyTable.prototype as never,
    'entries',
    () => function* () {},
    byCrash('makes a checkpoint without the keys', liveInDoubt, {}),
  ),
  withMethod(
    SnapshotText.prototype as never,
    'chunks',
    (chunks) =>
      function* (this: SnapshotText) {
        for (const chunk of chunks.call(this) as Iterable<Buffer>) {
          if (!/^(\[|,)\n\{/.test(chunk.toString('latin1', 0, 4))) yield chunk;
        }
      },
    byFault('makes a checkpoint without the pets in doubt', liveInDoubt, CHECKPOINTS, SYNC),
  ),
];

export const BREAKS: readonly Break[] = [
  ...CRASHES.map(([what, wrap]) => byCrash(what, liveShortly, { wrap })),
  byCrash('writes no keys into commits', liveInDoubt, { wrap: broken.skipKeysOfCommits }),
  ...FAULTS,
  ...CASES.map(([what, cases]) => ({ what, run: () => firstOf(cases()) })),
  ...CLASSES,
];
