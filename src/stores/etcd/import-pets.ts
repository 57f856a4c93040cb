/**
 * Import and export of a whole log.
 *
 * An import takes a prefix without any key. Its meta says `importing`, with a token that is the
 * digest of what is brought in, so that a service refuses the half of it, and the same import can
 * be taken up again. The last transaction makes the meta `ready`. An export is one catching up,
 * and so the pets of one moment.
 */

import { createHash } from 'node:crypto';
import { encodeCommit, type CommittedKey } from '../commits/commit.ts';
import type { KeyClock, KeyEntry, KeyTable } from '../idempotency/key-table.ts';
import type { PetTable, TablePet } from '../table/pet-table.ts';
import { AppliedLog } from './applied-log.ts';
import { CatchUp } from './catch-up.ts';
import { ifAbsent, put, range } from './etcd-json.ts';
import { LogLostError } from './log-lost-error.ts';
import {
  findMeta,
  makeMeta,
  openLog,
  proveCompares,
  readLog,
  readMeta,
  transact,
  type StartDeps,
} from './open-log.ts';
import { encodeMeta, encodeValue, layoutOf, newLogId, type Layout } from './slots.ts';

/** A commit has no more pets, and its text no more bytes but for the pet that reaches them. */
const MAX_COMMIT_PETS = 900;
const FULL_COMMIT_BYTES: number = 64 << 10;

/** Keys keep their times: by this clock all have expired, and nothing of them is cut. */
const stoppedClock: KeyClock = { now: () => 0, timeOfDay: () => 2 ** 52 };

export interface ImportedData {
  readonly pets: PetTable;
  /** In ascending order of id. */
  readonly keys: readonly KeyEntry[];
}

/** Told of how many pets of how many are done. */
export type Progress = (done: number, total: number) => void;

/** Brings pets into an empty prefix. Rejects where it is not empty, or holds another import. */
export async function importPets(
  deps: StartDeps,
  prefix: string,
  { pets, keys }: ImportedData,
  onProgress: Progress,
): Promise<void> {
  const layout = layoutOf(prefix);
  const state = `importing ${contentDigestOf(pets, keys)}`;
  const meta = await takePrefix(deps, layout, state);
  const { logId } = readMeta(layout, meta);
  const log = new AppliedLog({ layout, meta, logId }, stoppedClock, 0);
  const catchUp = new CatchUp(deps.calls, log, deps.clock);
  await readLog(deps, log, catchUp, 'import');
  for (const { text, id } of log.pets.pets()) {
    if (pets.get(id)?.text !== text) throw new LogLostError(`${prefix} has another pet ${id}`);
  }
  let done = log.pets.length;
  const keyOf = new Map(keys.map((key) => [key.id, key]));
  for (const batch of batchesOf(pets, log.lastId)) {
    await addCommit(deps, log, batch, keyOf);
    done += batch.length;
    onProgress(done, pets.length);
  }
  await finish(deps, log, encodeMeta({ logId, state: 'ready' }));
}

/** All pets and keys of a log, as of one moment. */
export async function exportPets(
  deps: StartDeps,
  prefix: string,
): Promise<{ readonly pets: PetTable; readonly keys: KeyTable }> {
  const log = new AppliedLog(await openLog(deps, prefix), stoppedClock, 0);
  await readLog(deps, log, new CatchUp(deps.calls, log, deps.clock), 'import');
  return log;
}

/** The same for the same pets and keys. */
function contentDigestOf(pets: PetTable, keys: readonly KeyEntry[]): string {
  const hash = createHash('sha256');
  for (const chunk of pets.chunks()) hash.update(chunk);
  for (const { key, id, expiresAt } of keys) hash.update(`\n${key} ${id} ${expiresAt}`);
  return hash.digest('hex').slice(0, 32);
}

/** The meta of this import, made or found. */
async function takePrefix(deps: StartDeps, layout: Layout, state: string): Promise<Buffer> {
  const own = encodeMeta({ logId: newLogId(), state });
  const meta = (await findMeta(deps, layout)) ?? (await makeMeta(deps, layout, own));
  await proveCompares(deps, layout, meta);
  const found = readMeta(layout, meta);
  if (found.state === state) return meta;
  throw new LogLostError(
    found.state === 'ready'
      ? `There is a log under ${layout.prefix} already: take another prefix`
      : `Another import into ${layout.prefix} was begun: take another prefix`,
  );
}

/** The pets behind the id, in commits. */
function* batchesOf(pets: PetTable, after: bigint): Generator<readonly TablePet[]> {
  let batch: TablePet[] = [];
  let bytes = 0;
  for (const { id, text, status } of pets.pets(after)) {
    batch.push({ id, text, status });
    bytes += Buffer.byteLength(text);
    if (batch.length < MAX_COMMIT_PETS && bytes < FULL_COMMIT_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

async function addCommit(
  deps: StartDeps,
  log: AppliedLog,
  pets: readonly TablePet[],
  keyOf: ReadonlyMap<bigint, CommittedKey>,
): Promise<void> {
  const keys = pets.flatMap(({ id }) => keyOf.get(id) ?? []);
  const commit = { after: log.lastId, pets, keys };
  const value = encodeValue(log.digest, encodeCommit(commit));
  const slot = log.nextSlot;
  const { succeeded, ranges } = await transact(
    deps,
    {
      compare: [...log.compares, ifAbsent(slot)],
      success: [put(slot, value)],
      failure: [range({ key: slot })],
    },
    'import',
  );
  const there = ranges[0]?.keyValues[0];
  if (succeeded || there?.value.equals(value) === true) log.applyOwn(commit, value);
  else throw new LogLostError('Another process writes under the prefix: end it, and begin again');
}

/** Makes the log ready. Sent again after a doubt, it finds that it is. */
async function finish(deps: StartDeps, log: AppliedLog, ready: Buffer): Promise<void> {
  const { layout } = log;
  const { succeeded, ranges } = await transact(
    deps,
    {
      compare: [...log.compares, ifAbsent(log.nextSlot)],
      success: [put(layout.meta, ready)],
      failure: [range({ key: layout.meta })],
    },
    'import',
  );
  if (succeeded || ranges[0]?.keyValues[0]?.value.equals(ready) === true) return;
  throw new LogLostError(`The import into ${layout.prefix} was disturbed`);
}
