/**
 * The etcd store: the store of log-store.ts over a log that several processes share, in a cluster
 * that continues when one of its machines is lost. Each process holds all pets in memory. This file
 * opens it.
 */

import { safeLog, silent, type Log } from '../../base/log.ts';
import type { StoredPet } from '../../model/pet.ts';
import type { PetPage, PetQuery } from '../../model/pet-store.ts';
import { KeyTable } from '../idempotency/key-table.ts';
import { openLogStore, type LogStore } from '../log-store.ts';
import { PetTable } from '../table/pet-table.ts';
import { AppliedLog } from './applied-log.ts';
import { CallCounts, type EtcdCalls } from './calls.ts';
import { CatchUp } from './catch-up.ts';
import { systemClock, type EtcdClock } from './etcd-clock.ts';
import { EtcdLog } from './etcd-log.ts';
import { DEFAULT_PREFIX, type EtcdOptions } from './etcd-options.ts';
import { checkEtcdOptions, joinCluster } from './join-cluster.ts';
import { openLog, readLog } from './open-log.ts';

/** A PetStore over an EtcdLog, whose reads always wait. */
export type EtcdStore = Omit<LogStore<EtcdLog>, 'list' | 'get'> & {
  list(query: PetQuery): Promise<PetPage>;
  get(id: bigint): Promise<StoredPet | undefined>;
};

export interface EtcdStoreOptions extends EtcdOptions {
  readonly log?: Log | undefined;
  /** For tests: what answers in place of the endpoints. */
  readonly calls?: EtcdCalls | undefined;
  readonly clock?: EtcdClock | undefined;
  /** For tests: from 0 up to 1. */
  readonly random?: (() => number) | undefined;
  /** Gives up a start, with the reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How often a start that takes long says what it does. */
const START_REPORT_MS = 3_000;

/**
 * Opens the store. Rejects if the cluster does not answer, or has no log under the prefix that this
 * release can read: `initEtcd` makes one.
 */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<EtcdStore> {
  checkEtcdOptions(options);
  const { prefix = DEFAULT_PREFIX, clock = systemClock, random = Math.random } = options;
  const counts = new CallCounts();
  const tell = safeLog(options.log ?? silent);
  const throwIfAborted = (): void => options.signal?.throwIfAborted();
  const tables = { pets: new PetTable(), keys: new KeyTable(clock) };
  let log: AppliedLog | undefined;
  const stopReporting = clock.every(START_REPORT_MS, () => {
    if (log === undefined) tell('info', 'The start waits for the etcd cluster');
    else tell('info', 'The start reads the pets from etcd', { pets: log.pets.length });
  });
  let calls: EtcdCalls | undefined;
  try {
    calls = options.calls ?? (await joinCluster(options, { counts, clock, tell, throwIfAborted }));
    const startDeps = { calls, clock, throwIfAborted };
    log = new AppliedLog(await openLog(startDeps, prefix), clock, undefined, tables);
    const catchUp = new CatchUp(calls, log, clock);
    await readLog(startDeps, log, catchUp, 'start');
    const deps = { calls, counts, log, catchUp, clock, random, tell };
    const store = await openLogStore(tables, async (target) => new EtcdLog({ ...deps, target }));
    return store as EtcdStore;
  } catch (error) {
    calls?.close();
    throw error;
  } finally {
    stopReporting();
  }
}
