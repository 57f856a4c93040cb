/**
 * Deliberate breaks of the file store, each with the cases that catch it. They test the simulation:
 * it proves nothing if it misses one of them.
 *
 * Without --all a break meets only the faults that are known to catch it.
 */

import { isWhole } from '../support/extent.ts';
import type { Slip } from '../support/slips.ts';
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

/** Looks for a break, and resolves with the complaints of the first case that catches it. */
type Search = () => Promise<readonly string[]>;

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

const FILE = 'core/store/data-file.js';
const REPLACE = 'core/store/replace-file.js';
const START = 'core/store/start.js';
const STORE = 'core/store/file-store.js';
const DISK = 'core/store/disk.js';
const KEYED = 'core/store/keyed-creates.js';
const KEYS = 'core/store/idempotency-keys.js';

/** The sync of a commit, and what follows it. */
const SYNC_LINE = 'await this.#file.sync();\n            const before';
const FOLDER_LINE = 'await disk.syncDirectory(dirname(path))';

function catches(search: Search, slips: Readonly<Record<string, Slip>>) {
  return { search, slips };
}

export const BREAKS = [
  catches(byCrash(liveShortly), {
    'does not sync its file': [FILE, SYNC_LINE, 'const before'],
    'does not sync a new file': [REPLACE, 'await file.sync();', ''],
    'does not sync the folder': [REPLACE, FOLDER_LINE, '', DISK, FOLDER_LINE, 'true'],
    'does not sync the folder above a new one': [DISK, 'folder !== dirname(folder)', 'false'],
    'gives a new file its name before its sync': [
      REPLACE,
      'await file.sync();',
      '',
      REPLACE,
      'file.renamed?.(path);',
      'await file.sync();',
    ],
    'acknowledges a create before the sync': [
      FILE,
      SYNC_LINE,
      'const before',
      FILE,
      'this.#write(bytes, end);',
      'await this.#file.sync(); this.#write(bytes, end);',
    ],
    'does not say that its file is in use': [FILE, "this.#write(firstLine('in use'), 0);", ''],
  }),
  catches(byTornStart, {
    'does not cut off what is torn': [FILE, 'this.identity.sizeBytes > this.sizeBytes', 'false'],
  }),
  catches(byCrash(liveInDoubt), {
    'writes commits without their keys': [STORE, 'creates.map(({ key }) => key)', '[]'],
    'finds no keys': [KEYS, 'held === undefined || held.endsAt <= this.#clock.now()', 'true'],
  }),
  catches(byFault(liveInDoubt, SYNC), {
    'writes a new file without the keys': [KEYS, 'if (endsAt > now)', 'if (false)'],
    'writes a new file without the commit in doubt': [STORE, 'doubt: doubt?.lines,', ''],
  }),
  catches(byFault(liveOnce, SYNC), {
    'retries a failed sync': [
      FILE,
      SYNC_LINE,
      'await this.#file.sync().catch(() => this.#file.sync()); const before',
    ],
  }),
  // The sync fails, and a look at the content, and the new file.
  catches(byFault(liveAndKill, { ...SYNC, lasts: 3 }), {
    'does not write the last commit again': [FILE, 'this.#write(commit, lastCommitAt);', ''],
  }),
  catches(byFault(liveOnce, FOLDER_SYNC), {
    'ignores a failed sync of a folder': [REPLACE, FOLDER_LINE, `${FOLDER_LINE}.catch(() => true)`],
    'retries a failed sync of a folder': [
      REPLACE,
      FOLDER_LINE,
      `${FOLDER_LINE}.catch(() => disk.syncDirectory(dirname(path)))`,
    ],
  }),
  catches(byFault(liveOnce, WRITE), {
    'does not roll back a failed commit': [
      FILE,
      'return this.#rollBack(cause);',
      "return { kind: 'rolled back', cause };",
    ],
    'writes no bracket after a roll-back': [FILE, 'this.#write(FILE_END, this.#chain.end);', ''],
    'does not sync a roll-back': [FILE, 'await this.#file.sync();\n            // If', '// If'],
  }),
  catches(byFault(liveOnce, { ...WRITE, kind: 'half' }), {
    'does not cut off a failed commit': [FILE, 'await this.#file.truncate(this.sizeBytes);', ''],
    'takes half of a commit for all of it': [FILE, 'if (count < bytes.length)', 'if (false)'],
  }),
  catches(byFault(liveShortly, { ...SYNC, lasts: 'for ever' }), {
    'reports a create in doubt as refused': [
      STORE,
      'throw this.#unknown()',
      'throw this.#refused(0)',
    ],
    'reports a create with a key in doubt as refused': [
      KEYED,
      'throw (isRefused ? this.#doubtOf(key) : undefined) ?? error;',
      "throw new StoreUnavailableError('A break');",
    ],
  }),
  catches(byMemory('for ever', true), {
    'says that its file is clean while it has to repair it': [
      FILE,
      'await this.#file.close();',
      'await this.markClean().catch(() => undefined); await this.#file.close();',
    ],
  }),
  catches(by(meddling.startTwice), {
    'does not lock its file': [START, 'await takeLock(deps, file);', ''],
    'does not lock a new file before its name': [START, 'takeLock(deps, newFile),', 'undefined,'],
    'does not compare the file that it has locked with the path': [
      START,
      'isSameFile(disk.stat(path), file.stat())',
      'true',
      FILE,
      'there = disk.stat(path);',
      'there = { ...this.#file.stat(), links: 1 };',
    ],
  }),
  catches(byMeddling('the data file is removed'), {
    'does not look after a sync': [FILE, 'await this.check(next)', "'ours'"],
  }),
  catches(byMeddling('the first pet is changed in its place'), {
    'does not look before a write': [STORE, "await this.#repairUnlessOurs('check');", ''],
    'compares no time': [FILE, 'there.changedAt === this.#known.changedAt', 'true'],
    'counts a changed file as the data file': [FILE, "this.#look() === 'ours'", 'true'],
  }),
  catches(byMeddling('the last pet is changed in its place'), {
    'notes the time too late': [FILE, 'const before = this', 'this.#note(); const before = this'],
    'does not compare the commit that it has written': [FILE, 'this.check(next)', 'this.check()'],
  }),
  catches(byMeddling('the data file is cut'), {
    'does not notice a hole before a commit': [FILE, '!before.equals(mark)', 'false'],
  }),
  catches(byMeddling('the data file is replaced'), {
    'does not look before a rename': [STORE, '(await this.#ourFile(files)) !== there', 'false'],
    'reports pets as saved whose file is not synced': [REPLACE, 'await file.sync();', ''],
    'starts beside a saved file': [START, 'if (saved.length === 0)', 'if (true)'],
    'reports each stop as a success': [
      STORE,
      "return state.name === 'ended' && state.saved !== undefined ? 'saved file' : 'memory'",
      "return 'data file'",
    ],
  }),
  catches(byMemory('once', false), {
    'reserves no memory before it writes': [STORE, 'this.#tables.pets.reserve(commit.pets);', ''],
  }),
];

export async function* searchSoundStore(): Cases {
  for (const { search } of BREAKS) yield search();
}
