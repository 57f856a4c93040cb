/**
 * The processes of the judge. One is a life: a store is opened in an empty folder, and gets items.
 * The other reads: it opens the store in each folder that it is sent, as a new process would after
 * a crash. So the store's own code runs only here, and the judge survives what it does.
 */

import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { isMain } from '../build.mjs';
import { startRecording } from './recorder.mjs';

/**
 * @import { Failure, RecordedMoment } from './recorder.mjs'
 */

/**
 * @typedef {{ id: number, text: string }} Item
 * @typedef {{
 *   add(item: Item): unknown,
 *   all(): Iterable<Item> | Promise<Iterable<Item>>,
 *   close?(): unknown,
 * }} JudgedStore
 */

/**
 * What a life was like.
 * @typedef {{
 *   moments: RecordedMoment[],
 *   unknown: Set<string>,
 *   counts: { writes: number, syncs: number },
 *   ms: number,
 * }} Life
 */

/**
 * What a reader has found: the items, and those after one more add and another start.
 * @typedef {{ error?: string, items?: Item[], againError?: string, again?: Item[] }} Found
 */

/** Some fit into one sector of the disk, and some do not. @type {readonly Item[]} */
export const ITEMS = [60, 700, 30, 1500].map((length, index) => {
  return { id: index + 1, text: `item ${index + 1} `.padEnd(length, '.') };
});

/** @type {Item} */
export const LAST_ITEM = { id: 9, text: 'added after the crash' };

/** The store's path in its folder. */
const NAME = 'store';

/**
 * @template T
 * @param {T | Promise<T>} promise
 * @param {number} ms
 * @returns {Promise<T>}
 */
function within(promise, ms) {
  const timeout = sleep(ms, undefined, { ref: false }).then(() => {
    throw new Error(`no result within ${ms} ms`);
  });
  return Promise.race([promise, timeout]);
}

/**
 * Ends the process with what it has found.
 * @param {{ unusable: string } | Life} found
 * @returns {Promise<never>}
 */
function endWith(found) {
  process.send?.(found, () => process.exit());
  return new Promise(() => undefined);
}

/**
 * @param {string} module
 * @param {string} root
 * @param {{ failure?: Failure | undefined, patienceMs: number }} options
 */
async function live(module, root, { failure, patienceMs }) {
  const { moments, unknown, counts, compare, note } = await startRecording(root, failure);
  process.on('unhandledRejection', (error) => note(`unhandled rejection: ${messageOf(error)}`));
  const { open } = await import(pathToFileURL(module).href).catch((error) =>
    endWith({ unusable: `it cannot be loaded: ${messageOf(error)}` }),
  );
  if (typeof open !== 'function') await endWith({ unusable: 'it exports no function open(path)' });
  const startedAt = performance.now();
  try {
    /** @type {JudgedStore} */
    const store = await within(open(join(root, NAME)), patienceMs);
    await compare();
    /** @type {Item[]} */
    const acknowledged = [];
    let isStuck = false;
    /** @param {Item} item */
    const add = async (item) => {
      if (isStuck) return;
      note('add', item.id);
      const startedAt = performance.now();
      try {
        await within(store.add(item), patienceMs);
        note('acknowledged', item.id);
        acknowledged.push(item);
      } catch (error) {
        note(`refused (${messageOf(error)})`, item.id);
        // If nothing fails, one add that never settles says enough.
        isStuck ||= failure === undefined && performance.now() - startedAt >= patienceMs;
      }
    };
    for (const item of ITEMS.slice(0, -2)) {
      await add(item);
      await compare();
    }
    await Promise.all(ITEMS.slice(-2).map(add));
    if (failure === undefined) {
      const items = structuredClone([...(await within(store.all(), patienceMs))]);
      const lost = acknowledged.find((item) => !items.some((one) => isDeepStrictEqual(one, item)));
      // Every item would seem to be lost, whatever fails.
      if (lost !== undefined) {
        const [wanted, found] = [lost, items].map((value) => JSON.stringify(value).slice(0, 150));
        await endWith({ unusable: `all() does not return ${wanted} as it was added: ${found}` });
      }
    }
    if (store.close !== undefined) await within(store.close(), patienceMs);
  } catch (error) {
    note(`open or close fails (${messageOf(error)})`);
  }
  const ms = performance.now() - startedAt;
  // A store may write a little later than it says.
  await sleep(20);
  await compare();
  await endWith({ moments, unknown, counts, ms });
}

/**
 * @param {string} module
 * @param {number} patienceMs
 */
async function read(module, patienceMs) {
  process.on('unhandledRejection', () => undefined);
  const { open } = await import(pathToFileURL(module).href);
  /** Node 26 ends a process that collects an open file as garbage: a store may have no `close`. */
  /** @type {JudgedStore[]} */
  const stores = [];
  /** @param {string} root */
  const start = async (root) => {
    /** @type {JudgedStore} */
    const store = await open(join(root, NAME));
    stores.push(store);
    return { store, items: structuredClone([...(await store.all())]) };
  };
  process.on('message', async (/** @type {string} */ root) => {
    /** @type {Found} */
    const found = {};
    /** @type {'error' | 'againError'} */
    let failed = 'error';
    try {
      const { store, items } = await within(start(root), patienceMs);
      found.items = items;
      // A store may refuse it, if it says so.
      const isAdded = await within(store.add(LAST_ITEM), patienceMs).then(
        () => true,
        () => false,
      );
      await store.close?.();
      if (isAdded) {
        failed = 'againError';
        const again = await within(start(root), patienceMs);
        found.again = again.items;
        await again.store.close?.();
      }
    } catch (error) {
      found[failed] = messageOf(error);
    }
    process.send?.(found);
  });
}

/** @param {unknown} error */
function messageOf(error) {
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n', 1)[0]?.slice(0, 150) ?? '';
}

// The module is also imported, for its items.
if (isMain(import.meta.url)) {
  const [, , module = '', given = ''] = process.argv;
  // The judge has ended, also by kill -9.
  process.once('disconnect', () => process.exit());
  const { root, patienceMs, failure } = JSON.parse(given);
  if (root === undefined) await read(module, patienceMs);
  else await live(module, root, { failure, patienceMs });
}
