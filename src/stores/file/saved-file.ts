/**
 * The saved file: all acknowledged pets in a separate file, `pets.json.saved-<time>`, when the
 * store must not write its data file. It has no idempotency keys.
 *
 * It is written under a name that no other process uses (with `.part` at its end), synced, and then
 * renamed, so that a file with the final name is complete. The store may write it without the lock.
 * A missing folder is made again.
 */

import { dirname } from 'node:path';
import { writePets, type KnownSnapshot } from './checkpoint.ts';
import type { StoreDeps } from './store-deps.ts';

export interface SavedFile extends KnownSnapshot {
  readonly path: string;
}

/** Writes all pets of the table to a new file, whose folder has to be synced afterwards. */
export async function savePets(deps: StoreDeps): Promise<SavedFile> {
  const { disk, paths, clock } = deps;
  const isTaken = (file: string): boolean => disk.stat(file) !== undefined;
  const partOf = (file: string): string => `${file}-${disk.processId}.part`;
  let time = clock.timeOfDay();
  let path = paths.saved(new Date(time));
  while (isTaken(path) || isTaken(partOf(path))) path = paths.saved(new Date((time += 1)));
  await disk.makeDirectory(dirname(path));
  const assertOwned = (): void => {
    if (isTaken(path)) throw new Error(`${path} exists already`);
  };
  return { path, ...(await writePets(deps, { path, tmpPath: partOf(path), assertOwned })) };
}
