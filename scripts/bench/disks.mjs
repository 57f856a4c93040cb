/**
 * The real disk with a change, to see what the change is worth.
 *
 * It may sync in another way, slowly or not at all; or it may look at the lock once, and so never
 * notice that it was removed or replaced.
 */

import { nodeDisk } from '../../dist/stores/file/node-disk.js';

/** A disk whose files sync in another way: `sync` is given the real file. */
export function diskWithSync(sync, disk = nodeDisk) {
  const open = async (...args) => {
    const file = await disk.open(...args);
    return { ...file, sync: () => sync(file) };
  };
  return { ...disk, open };
}

export async function noSync() {}

/** A disk that looks at the lock once, and so never misses it. The journal's size is compared. */
export function lookOnceDisk() {
  const entries = new Map();
  const stat = (path) => {
    if (!path.endsWith('.lock')) return nodeDisk.stat(path);
    const entry = entries.get(path) ?? nodeDisk.stat(path);
    if (entry !== undefined) entries.set(path, entry);
    return entry;
  };
  return { ...nodeDisk, stat };
}
