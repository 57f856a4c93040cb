/** The parts of the ladder that are compiled with the tests. */

import { fail } from '../build.mjs';

/**
 * @import { Row } from '../../test/ladder/variants.ts'
 */

/**
 * @param {string} path
 * @returns {Promise<any>}
 */
const load = (path) => import(new URL(`../../.build/${path}`, import.meta.url).href);

/** @type {() => Promise<typeof import('../../test/ladder/variants.ts')>} */
export const loadVariants = () => load('test/ladder/variants.js');
/** @type {() => Promise<typeof import('../../test/ladder/stores.ts')>} */
export const loadStores = () => load('test/ladder/stores.js');
/** @type {() => Promise<typeof import('../../test/ladder/losses.ts')>} */
export const loadLosses = () => load('test/ladder/losses.js');
/** @type {() => Promise<typeof import('../../test/ladder/lines.ts')>} */
export const loadLines = () => load('test/ladder/lines.js');
/** @type {() => Promise<typeof import('../../test/simulation/disk-image.ts')>} */
export const loadDiskImage = () => load('test/simulation/disk-image.js');
/** @type {() => Promise<typeof import('../../test/simulation/simulated-disk.ts')>} */
export const loadSimulatedDisk = () => load('test/simulation/simulated-disk.js');
/** @type {() => Promise<typeof import('../../src/core/store/node-disk.ts')>} */
export const loadNodeDisk = () => load('src/core/store/node-disk.js');

/**
 * Resolves with the rows of these names, or with all. Ends the process if a row does not exist.
 * @param {readonly string[] | undefined} names
 * @returns {Promise<readonly Row[]>}
 */
export async function rowsOf(names) {
  const { ROWS } = await loadVariants();
  for (const name of names ?? []) {
    if (ROWS.some((row) => row.name === name)) continue;
    const all = ROWS.map((row) => row.name).join(', ');
    fail(`There is no row "${name}". The rows are ${all}`, 2);
  }
  return ROWS.filter((row) => names?.includes(row.name) ?? true);
}
