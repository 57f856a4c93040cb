/**
 * Opens the backend: the store that the options of an app name. The etcd store is loaded only if
 * the options name it.
 */

import { pathOf, type AppOptions } from './app-options.ts';
import type { Log } from '../base/log.ts';
import type { PetStore } from '../model/pet-store.ts';
import { openFileStore } from '../stores/file/file-store.ts';
import { createMemoryStore } from '../stores/memory-store.ts';
import { openStartedStore } from '../stores/starting-data.ts';

/** `signal` ends a start that waits for a cluster. */
export async function openBackend(
  { store, etcd, dataFile, memory }: AppOptions,
  log: Log,
  signal: AbortSignal,
): Promise<PetStore> {
  if (store !== undefined) return store;
  if (etcd !== undefined) {
    const { openEtcdStore } = await import('../stores/etcd/etcd-store.ts');
    return openEtcdStore({ ...etcd, log, signal });
  }
  const path = pathOf(typeof memory === 'object' ? memory.dataFile : dataFile);
  if (path === undefined) return createMemoryStore();
  if (memory === undefined) return openFileStore({ path, log });
  return openStartedStore(path);
}
