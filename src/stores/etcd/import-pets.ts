/**
 * Import and export of a whole log.
 *
 * An import takes a prefix without any key. Its meta says `importing` with a digest of the imported
 * data, so that services refuse the unfinished log, and the same import can be resumed. The last
 * transaction changes the meta to `ready`. An export is a single catch-up, and so a consistent
 * copy.
 */

import { createHash } from 'node:crypto';
import { systemClock } from '../../base/clock.ts';
import { encodeCommit } from '../commit.ts';
import type { KeyEntry, KeyTable } from '../table/key-table.ts';
import type { PetTable, TablePet } from '../table/pet-table.ts';
import { AppliedCommits, type LogId } from './applied-log.ts';
import { ifAbsent } from './etcd-json.ts';
import type { StartDeps } from './join-cluster.ts';
import { openLog, openOrMakeLog, putIf, readLog } from './open-log.ts';
import { encodeMeta, encodeValue, LIMITS, LogLostError } from './slots.ts';

export interface ImportedData {
  readonly pets: PetTable;
  /** In ascending order of id. */
  readonly keys: readonly KeyEntry[];
}

/**
 * Imports pets into an empty prefix. Rejects if it has a log, or another unfinished import, or if
 * a pet is too long for etcd.
 */
export async function importPets(
  deps: StartDeps,
  prefix: string,
  { pets, keys }: ImportedData,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const longest = LIMITS.petBytes + LIMITS.bytesAroundPet;
  for (const { id, text } of pets.pets(0n)) {
    const bytes = Buffer.byteLength(text);
    if (bytes <= longest) continue;
    // Before anything is written: such an import could never be finished.
    throw new Error(`The pet ${id} has ${bytes} bytes: in etcd at most ${longest} fit`);
  }
  const content = createHash('sha256');
  for (const chunk of pets.chunks()) content.update(chunk);
  for (const { key, id, expiresAt } of keys) content.update(`\n${key} ${id} ${expiresAt}`);
  const state = `importing ${content.digest('hex').slice(0, 32)}`;
  const { log: found } = await openOrMakeLog(deps, prefix, state);
  if (found.state !== state) {
    throw new LogLostError(
      found.state === 'ready'
        ? `${prefix} already has a log: use another prefix`
        : `Another import into ${prefix} has begun: use another prefix`,
    );
  }
  const log = await readWhole(deps, found);
  const put = async (key: string, value: Buffer): Promise<void> => {
    const compare = [...log.compares, ifAbsent(log.nextSlot)];
    if ((await putIf(deps, compare, key, value))?.equals(value) === true) return;
    const advice = 'stop it, and run the import again';
    throw new LogLostError(`Another process writes under ${prefix}: ${advice}`);
  };
  const keyOf = new Map(keys.map((key) => [key.id, key]));
  for (const batch of batchesOf(pets, log.lastId)) {
    const batchKeys = batch.flatMap(({ id }) => keyOf.get(id) ?? []);
    const text = encodeCommit({ after: log.lastId, pets: batch, keys: batchKeys });
    const [key, value] = [log.nextSlot, encodeValue(log.digest, text)];
    await put(key, value);
    log.apply([{ key, value }]);
    onProgress(log.pets.length, pets.length);
  }
  await put(log.layout.meta, encodeMeta({ ...found, state: 'ready' }));
}

/** Resolves with all pets and idempotency keys of a log, as of one moment. */
export async function exportPets(
  deps: StartDeps,
  prefix: string,
): Promise<{ readonly pets: PetTable; readonly keys: KeyTable }> {
  return readWhole(deps, await openLog(deps, prefix));
}

async function readWhole(deps: StartDeps, id: LogId): Promise<AppliedCommits> {
  const log = new AppliedCommits(id, systemClock, 0);
  await readLog(deps, log);
  return log;
}

/** Yields the pets after the id, one commit at a time. */
function* batchesOf(pets: PetTable, after: bigint): Generator<readonly TablePet[]> {
  let batch: TablePet[] = [];
  let bytes = 0;
  for (const { id, text, status } of pets.pets(after)) {
    batch.push({ id, text, status });
    bytes += Buffer.byteLength(text);
    if (bytes < LIMITS.fullCommitBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
