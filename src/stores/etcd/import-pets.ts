/**
 * Import and export of a whole log.
 *
 * An import takes a prefix without any key. Its meta says `importing` with a digest of the imported
 * data, so that services refuse the unfinished log, and the same import can be resumed. The last
 * transaction changes the meta to `ready`. An export is a single catch-up, and so a consistent
 * copy.
 */

import { createHash } from 'node:crypto';
import { encodeCommit } from '../commits/commit.ts';
import { KeyTable, type KeyClock, type KeyEntry } from '../idempotency/key-table.ts';
import { PetTable, type TablePet } from '../table/pet-table.ts';
import { AppliedLog, type LogId } from './applied-log.ts';
import { CatchUp } from './catch-up.ts';
import { ifAbsent } from './etcd-json.ts';
import { LogLostError } from './log-lost-error.ts';
import { openLog, openOrMakeLog, putIf, readLog, type StartDeps } from './open-log.ts';
import { encodeMeta, encodeValue } from './slots.ts';

/** The most pets in a commit, and the most bytes of its text except for the pet that exceeds it. */
const MAX_COMMIT_PETS = 900;
const FULL_COMMIT_BYTES: number = 64 << 10;

/** By this clock all idempotency keys have expired, so that none of their times is shortened. */
const stoppedClock: KeyClock = { now: () => 0, timeOfDay: () => 2 ** 52 };

export interface ImportedData {
  readonly pets: PetTable;
  /** In ascending order of id. */
  readonly keys: readonly KeyEntry[];
}

/** Imports pets into an empty prefix. Rejects if it has a log, or another unfinished import. */
export async function importPets(
  deps: StartDeps,
  prefix: string,
  { pets, keys }: ImportedData,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const state = `importing ${contentDigestOf(pets, keys)}`;
  const { log: found } = await openOrMakeLog(deps, prefix, state);
  if (found.state !== state) {
    throw new LogLostError(
      found.state === 'ready'
        ? `There is a log under ${prefix} already: take another prefix`
        : `Another import into ${prefix} was begun: take another prefix`,
    );
  }
  const log = await readWhole(deps, found);
  for (const { text, id } of log.pets.pets()) {
    if (pets.get(id)?.text !== text) throw new LogLostError(`${prefix} has another pet ${id}`);
  }
  let done = log.pets.length;
  const keyOf = new Map(keys.map((key) => [key.id, key]));
  for (const batch of batchesOf(pets, log.lastId)) {
    const batchKeys = batch.flatMap(({ id }) => keyOf.get(id) ?? []);
    const commit = { after: log.lastId, pets: batch, keys: batchKeys };
    const value = encodeValue(log.digest, encodeCommit(commit));
    if (!(await putNext(deps, log, log.nextSlot, value))) {
      throw new LogLostError(
        `Another process writes under ${prefix}: stop it, and run the import again`,
      );
    }
    log.applyOwn(commit, value);
    done += batch.length;
    onProgress(done, pets.length);
  }
  const ready = encodeMeta({ logId: found.logId, state: 'ready' });
  if (!(await putNext(deps, log, found.layout.meta, ready))) {
    throw new LogLostError(`Another process changed ${prefix} during the import`);
  }
}

/** Resolves with all pets and idempotency keys of a log, as of one moment. */
export async function exportPets(
  deps: StartDeps,
  prefix: string,
): Promise<{ readonly pets: PetTable; readonly keys: KeyTable }> {
  return readWhole(deps, await openLog(deps, prefix));
}

async function readWhole(deps: StartDeps, id: LogId): Promise<AppliedLog> {
  const tables = { pets: new PetTable(), keys: new KeyTable(stoppedClock) };
  const log = new AppliedLog(id, tables, stoppedClock, 0);
  await readLog(deps, log, new CatchUp(deps.calls, log, deps.clock), 'import');
  return log;
}

/** Returns the same digest for the same pets and keys. */
function contentDigestOf(pets: PetTable, keys: readonly KeyEntry[]): string {
  const hash = createHash('sha256');
  for (const chunk of pets.chunks()) hash.update(chunk);
  for (const { key, id, expiresAt } of keys) hash.update(`\n${key} ${id} ${expiresAt}`);
  return hash.digest('hex').slice(0, 32);
}

/** Yields the pets after the id, one commit at a time. */
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

/** Puts a value if no other process has changed the log. Resolves with whether the key has it. */
async function putNext(
  deps: StartDeps,
  log: AppliedLog,
  key: string,
  value: Buffer,
): Promise<boolean> {
  const compare = [...log.compares, ifAbsent(log.nextSlot)];
  return (await putIf(deps, compare, key, value, 'import'))?.equals(value) === true;
}
