/**
 * Import and export of a whole log.
 *
 * An import takes a prefix without any key. Its meta says `importing` with a digest of the imported
 * data, so that services refuse the unfinished log, and the same import can be resumed. The last
 * transaction changes the meta to `ready`. An export is a single catch-up, and so a consistent
 * copy.
 */

import { createHash } from 'node:crypto';
import { PET_SEPARATOR } from '../../model/pet-text.ts';
import { encodeTexts, type CommitKey } from '../commit.ts';
import type { IdempotencyKeys } from '../table/idempotency-keys.ts';
import type { PetTable } from '../table/pet-table.ts';
import { AppliedLog, type LogId } from './applied-log.ts';
import type { StartDeps } from './calls.ts';
import { ifAbsent } from './etcd-json.ts';
import { openLog, openOrMakeLog, putIf, readLog } from './open-log.ts';
import { encodeMeta, encodeValue, LIMITS, LogLostError } from './slots.ts';

export interface ImportedData {
  readonly pets: PetTable;
  readonly keys: IdempotencyKeys;
}

/**
 * Imports pets into an empty prefix. Rejects if it has a log, or another unfinished import, or if
 * a pet is too long for etcd.
 */
export async function importPets(
  deps: StartDeps,
  prefix: string,
  { pets, keys: imported }: ImportedData,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const longest = LIMITS.petBytes + LIMITS.bytesAroundPet;
  for (const { id, text } of pets.pets(0n)) {
    const bytes = Buffer.byteLength(text);
    if (bytes <= longest) continue;
    // Before anything is written: such an import could never be finished.
    throw new Error(`The pet ${id} has ${bytes} bytes: in etcd at most ${longest} fit`);
  }
  const { clock } = deps;
  const keys = [...imported.entries()].map(({ key, id, endsAt }): CommitKey => {
    return { key, id, expiresAt: Math.round(clock.timeOfDay() + endsAt - clock.now()) };
  });
  const content = createHash('sha256');
  for (const chunk of pets.chunks()) content.update(chunk);
  // Without the times, which differ if the same import is resumed.
  for (const { key, id } of keys) content.update(`\n${key} ${id}`);
  const state = `importing ${content.digest('hex').slice(0, 32)}`;
  const { log: found } = await openOrMakeLog(deps, prefix, state);
  if (found.state !== state) {
    throw new LogLostError(
      found.state === 'ready'
        ? `${prefix} already has a log: use another prefix`
        : `Another import into ${prefix} has begun: use another prefix`,
    );
  }
  const log = await readAllOf(deps, found);
  const put = async (key: string, value: Buffer): Promise<void> => {
    const compare = [...log.compares, ifAbsent(log.nextSlot)];
    if ((await putIf(deps, compare, key, value))?.equals(value) === true) return;
    const advice = 'stop it, and run the import again';
    throw new LogLostError(`Another process writes under ${prefix}: ${advice}`);
  };
  let keysDone = keys.filter(({ id }) => id <= log.lastId).length;
  for (const batch of pets.batchesAfter(log.lastId, Infinity, LIMITS.fullCommitBytes)) {
    const firstKey = keysDone;
    while (keysDone < keys.length && keys[keysDone]!.id <= batch.lastId) keysDone += 1;
    const texts = batch.text.replaceAll(PET_SEPARATOR, ',');
    const text = encodeTexts(batch.after, texts, keys.slice(firstKey, keysDone));
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
): Promise<{ readonly pets: PetTable; readonly keys: IdempotencyKeys }> {
  return readAllOf(deps, await openLog(deps, prefix));
}

async function readAllOf(deps: StartDeps, id: LogId): Promise<AppliedLog> {
  const log = new AppliedLog(id, deps);
  await readLog(deps, log);
  return log;
}
