/**
 * Making a new log, for the command `petstore init-etcd` and for other programs.
 *
 * All endpoints must respond for one cluster. With fewer, an operator whose cluster is half up
 * would not notice that one of the endpoints belongs to another cluster.
 */

import { DEFAULT_PREFIX, type ClusterOptions } from './etcd-options.ts';
import { joinCluster } from './join-cluster.ts';
import { assertReady, openOrMakeLog } from './open-log.ts';

export type InitEtcdOptions = ClusterOptions;

/**
 * Makes an empty log under the prefix, unless it has a ready log, and resolves with what happened.
 * Rejects if an endpoint does not respond within ten seconds or belongs to another cluster, or if
 * the prefix has other keys.
 */
export async function initEtcd(options: InitEtcdOptions): Promise<'made' | 'found'> {
  const deps = await joinCluster(options, 'all');
  try {
    const { log, isNew } = await openOrMakeLog(deps, options.prefix ?? DEFAULT_PREFIX, 'ready');
    assertReady(log);
    return isNew ? 'made' : 'found';
  } finally {
    deps.calls.close();
  }
}
