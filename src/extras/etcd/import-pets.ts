/**
 * Import and export of a whole log.
 *
 * An import takes a prefix without any key. Its meta says `importing` with a digest of the imported
 * data, so that services refuse the unfinished log, and the same import can be resumed. The last
 * transaction changes the meta to `ready`. If its response is lost, the same import finds a log
 * with the same content, and ends. An export is a single catch-up, and so a consistent copy.
 */

import { createHash } from 'node:crypto';
import { PET_SEPARATOR } from '../../core/pets/pet-text.ts';
import type { PetBatch } from '../../core/store/pet-table.ts';
import type { Tables } from '../../core/store/tables.ts';
import type { StartDeps } from './calls.ts';
import { encodeCommit, FULL_COMMIT_BYTES, MAX_PET_BYTES, type CommitKey } from './commit.ts';
import { ifAbsent } from './etcd-json.ts';
import { openLog, putIf, readLog } from './open-log.ts';
import { encodeMeta, encodeValue, LogLostError, randomHex } from './slots.ts';

/**
 * Imports pets into an empty prefix. Rejects if it has a log, or another unfinished import, or if
 * a pet is too long for etcd.
 */
export async function importPets(
  deps: StartDeps,
  prefix: string,
  imported: Tables,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const { clock } = deps;
  const batches = (): Generator<PetBatch> => imported.pets.batches(Infinity, FULL_COMMIT_BYTES);
  const keys = [...imported.keys.entries()].map(({ key, id, endsAt }): CommitKey => {
    return { key, id, expiresAt: Math.round(clock.timeOfDay() + endsAt - clock.now()) };
  });
  const content = createHash('sha256');
  for (const { lastId, text } of batches()) {
    const bytes = Buffer.byteLength(text);
    // Before anything is written: such an import could never be finished. It is alone in its batch.
    if (bytes > MAX_PET_BYTES) {
      throw new Error(`The pet ${lastId} has ${bytes} bytes: in etcd at most ${MAX_PET_BYTES} fit`);
    }
    // With the end of each batch, so that a resumed import has the same ones.
    content.update(`${text}\n`);
  }
  // Without the times, which differ if the same import is resumed.
  for (const { key, id } of keys) content.update(`\n${key} ${id}`);
  const state = `importing ${content.digest('hex').slice(0, 32)}`;
  const log = await openLog(deps, prefix, { logId: randomHex(), state });
  await readLog(deps, log);
  if (log.meta.state === 'ready') {
    if (isComplete(log, imported)) return;
    throw new LogLostError(`${prefix} already has a log: use another prefix`);
  }
  const put = async (key: string, value: Buffer): Promise<void> => {
    const compare = [...log.compares, ifAbsent(log.nextSlot)];
    if ((await putIf(deps, compare, key, value))?.equals(value) === true) return;
    const advice = 'stop it, and run the import again';
    throw new LogLostError(`Another process writes under ${prefix}: ${advice}`);
  };
  let nextKey = 0;
  for (const { lastId, text } of batches()) {
    const firstKey = nextKey;
    while (nextKey < keys.length && keys[nextKey]!.id <= lastId) nextKey += 1;
    if (lastId <= log.lastId) continue;
    const pets = text.split(PET_SEPARATOR).map((pet) => ({ text: pet }));
    const commit = { after: log.lastId, pets, keys: keys.slice(firstKey, nextKey) };
    const key = log.nextSlot;
    const value = encodeValue(log.digest, encodeCommit(commit));
    await put(key, value);
    log.apply([{ key, value }]);
    onProgress(log.pets.length, imported.pets.length);
  }
  await put(log.layout.meta, encodeMeta({ ...log.meta, state: 'ready' }));
}

/** True if the log has what is imported, and no other pets. */
function isComplete(log: Tables, { pets, keys }: Tables): boolean {
  for (const { id, text } of pets.pets()) if (log.pets.get(id)?.text !== text) return false;
  for (const { key, id } of keys.entries()) if (log.keys.find(key) !== id) return false;
  return log.pets.length === pets.length;
}

/** Resolves with all pets and idempotency keys of a log, as of one moment. */
export async function exportPets(deps: StartDeps, prefix: string): Promise<Tables> {
  const log = await openLog(deps, prefix);
  await readLog(deps, log);
  return log;
}
