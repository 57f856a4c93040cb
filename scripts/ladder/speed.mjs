/** How many creates a second a store acknowledges on a real disk, once it has so many pets. */

import { join } from 'node:path';
import { withTemporaryFolder } from '../temporary-folder.mjs';
import { loadNodeDisk } from './built.mjs';

/**
 * @import { Disk, DiskFile } from '../../src/core/store/disk.ts'
 * @import { OpenStore } from '../../test/ladder/stores.ts'
 */

/** Callers that each create one pet after the other. */
export const CALLERS = 16;
/** Of a burst. A number, not a time: else a fast store would soon have more pets than it says. */
export const CREATES = 64;
const LEAST_BURSTS = 3;
const MOST_BURSTS = 12;
const ENOUGH_MS = 300;
/** The core's queue takes no more at once. */
const MOST_AT_ONCE = 10_000;

/**
 * Resolves with the rates of a few bursts on a new store, in this process, without HTTP.
 * @param {OpenStore} open
 * @param {number} pets
 * @param {string} parent
 */
export function measureCreates(open, pets, parent) {
  return withTemporaryFolder('ladder', parent, async (folder) => {
    const { nodeDisk } = await loadNodeDisk();
    /** @type {DiskFile[]} */
    const files = [];
    /** @type {Disk} */
    const disk = {
      ...nodeDisk,
      async open(...args) {
        const file = await nodeDisk.open(...args);
        files.push(file);
        return file;
      },
    };
    const store = await open(join(folder, 'pets.json'), disk);
    const create = () => store.create({ name: 'Rex', categoryId: 7n });
    for (let left = pets; left > 0; left -= MOST_AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(left, MOST_AT_ONCE) }, create));
    }
    const rates = [];
    const endsAt = performance.now() + ENOUGH_MS;
    for (let burst = 1; burst <= MOST_BURSTS; burst += 1) {
      if (burst > LEAST_BURSTS && performance.now() > endsAt) break;
      rates.push(await rateOf(create));
    }
    // A rung leaves its file open until its process ends. Those that it closed reject.
    await Promise.allSettled(files.map((file) => file.close()));
    return rates;
  });
}

/**
 * Resolves with the creates a second of one burst.
 * @param {() => Promise<unknown>} create
 */
async function rateOf(create) {
  const startedAt = performance.now();
  const call = async () => {
    for (let left = CREATES / CALLERS; left > 0; left -= 1) await create();
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return CREATES / ((performance.now() - startedAt) / 1000);
}
