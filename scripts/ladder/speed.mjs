/** How many creates a second a store acknowledges on a real disk, once it has so many pets. */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { median } from '../bench/table.mjs';
import { loadNodeDisk } from './built.mjs';

/**
 * @import { Disk, DiskFile } from '../../src/core/store/disk.ts'
 * @import { OpenStore } from '../../test/ladder/stores.ts'
 */

/** Callers that each create one pet after the other. */
export const CALLERS = 16;
const BURSTS = 5;
const BURST_MS = 300;
/** The core's queue takes no more at once. */
const MOST_AT_ONCE = 10_000;

/**
 * Resolves with the median of a few bursts, in this process, without HTTP.
 * @param {OpenStore} open
 * @param {number} pets
 * @param {string} parent
 */
export async function measureCreates(open, pets, parent) {
  const { nodeDisk } = await loadNodeDisk();
  const folder = mkdtempSync(join(parent, 'petstore-ladder-'));
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
  try {
    const store = await open(join(folder, 'pets.json'), disk);
    const create = () => store.create({ name: 'Rex', categoryId: 7n });
    for (let left = pets; left > 0; left -= MOST_AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(left, MOST_AT_ONCE) }, create));
    }
    const rates = [];
    for (let burst = 0; burst < BURSTS; burst += 1) rates.push(await rateOf(create));
    return median(rates);
  } finally {
    // A rung leaves its file open until its process ends. Those that it closed reject.
    await Promise.allSettled(files.map((file) => file.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Resolves with the creates a second of one burst.
 * @param {() => Promise<unknown>} create
 */
async function rateOf(create) {
  const startedAt = performance.now();
  let count = 0;
  const call = async () => {
    while (performance.now() - startedAt < BURST_MS) {
      await create();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return count / ((performance.now() - startedAt) / 1000);
}
