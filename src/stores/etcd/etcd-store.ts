/**
 * The etcd store: the store of log-store.ts over a log that several processes share, in a cluster
 * that survives the loss of a machine. Each process holds all pets in memory.
 *
 * The log is a CommitLog in the slots of the cluster. A commit is a transaction that takes the next
 * slot (etcd-log.ts). A read first catches up with the log (read-barrier.ts). The README of the
 * folder has the drawing.
 */

import { safeLogger, silentLogger } from '../../base/logger.ts';
import { LogStore } from '../log-store.ts';
import { AppliedLog } from './applied-log.ts';
import { etcdClock, type StartDeps } from './calls.ts';
import { EtcdLog } from './etcd-log.ts';
import { DEFAULT_PREFIX, type ClusterOptions } from './etcd-options.ts';
import { joinCluster } from './join-cluster.ts';
import { openLog, readLog } from './open-log.ts';

/** A PetStore over an EtcdLog. */
export type EtcdStore = LogStore<EtcdLog>;

/** How often a long start logs what it does. */
const START_REPORT_MS = 3_000;

/**
 * Opens the store. Rejects if the cluster does not respond, or has no log under the prefix that
 * this release can read: `initEtcd` makes one.
 */
export async function openEtcdStore(options: ClusterOptions): Promise<EtcdStore> {
  const { prefix = DEFAULT_PREFIX, clock = etcdClock } = options;
  const logger = safeLogger(options.log ?? silentLogger);
  let log: AppliedLog | undefined;
  const stopReporting = clock.every(START_REPORT_MS, () => {
    if (log === undefined) logger('info', 'The start waits for the etcd cluster');
    else logger('info', 'The start reads the pets from etcd', { pets: log.pets.length });
  });
  let start: StartDeps | undefined;
  try {
    start = await joinCluster(options);
    log = new AppliedLog(await openLog(start, prefix), start);
    await readLog(start, log);
    const deps = { ...start, log, logger };
    return new LogStore(log, new EtcdLog(deps));
  } catch (error) {
    start?.calls.close();
    throw error;
  } finally {
    stopReporting();
  }
}
