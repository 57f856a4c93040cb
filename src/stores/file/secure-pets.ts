/**
 * Securing the pets: what a store does at its end, and when it becomes read-only, so that memory
 * does not have the only copy. One question decides: where are the pets (store-files.ts)?
 */

import { messageOf } from '../../base/log.ts';
import { isSafe, type PetsLocation } from '../../model/pet-store.ts';
import type { StoreDeps } from './store-deps.ts';
import type { StoreFiles } from './store-files.ts';

/** How long a close retries while memory has the only copy, and how often. */
const SECURE_MS = 60_000;
const PAUSE_MS = 1000;

/** Saves the pets to a separate file if memory may have the only copy. */
export async function saveIfNeeded(
  files: StoreFiles,
  { log, pets }: StoreDeps,
): Promise<PetsLocation> {
  await files.recognize().catch(() => undefined);
  const where = files.whereAreThePets();
  if (isSafe(where)) return where;
  try {
    const details = { file: await files.save(), pets: pets.length };
    log(
      'error',
      'Saved all acknowledged pets to a separate file, without idempotency keys',
      details,
    );
  } catch (error) {
    log('error', 'The acknowledged pets could not be saved', { cause: messageOf(error) });
  }
  return files.whereAreThePets();
}

/**
 * Tries `checkpoint`, which is undefined if the store must not write. If the pets are not safe
 * then, saves them to a separate file. Rejects if they are still not safe; the message says where
 * they are.
 */
export async function secureAtClose(
  files: StoreFiles,
  deps: StoreDeps,
  checkpoint: (() => Promise<void>) | undefined,
): Promise<void> {
  const { clock, log, pets, paths } = deps;
  const endsAt = clock.now() + SECURE_MS;
  for (;;) {
    const cause = await checkpoint?.().catch(messageOf);
    const where = await saveIfNeeded(files, deps);
    if (where === 'journal' && cause !== undefined) {
      const journalBytes = files.journal.lengthBytes;
      log('warn', 'A checkpoint failed: the journal stays in use', { cause, journalBytes });
    }
    if (isSafe(where)) return;
    const reason = cause ?? 'the store is read-only';
    if (where === 'cannot be told') {
      throw new Error(`It is unknown where the acknowledged pets are: ${reason}`);
    }
    if (clock.now() >= endsAt) {
      throw new Error(
        `The ${pets.length} acknowledged pets were in memory, and could not be saved: ${reason}. ` +
          `Those that were added after ${paths.snapshot} was written are lost`,
      );
    }
    await clock.sleep(PAUSE_MS);
  }
}
