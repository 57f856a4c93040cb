/**
 * Making a new log, for the command `petstore init-etcd` and for other programs.
 *
 * All endpoints have to answer for one cluster. With fewer, an operator whose cluster is half up
 * would not notice that one of the endpoints belongs to another cluster.
 */

import { safeLog, silent, type Log } from '../../base/log.ts';
import type { EtcdCalls } from './calls.ts';
import { systemClock, type EtcdClock } from './etcd-clock.ts';
import { DEFAULT_PREFIX, type EtcdOptions } from './etcd-options.ts';
import { checkEtcdOptions, joinCluster } from './join-cluster.ts';
import { findMeta, makeMeta, readyLog, type StartDeps } from './open-log.ts';
import { encodeMeta, layoutOf, newLogId } from './slots.ts';

export interface InitEtcdOptions extends EtcdOptions {
  readonly log?: Log | undefined;
  /** Gives up, with the reason. */
  readonly signal?: AbortSignal | undefined;
  /** For tests: what answers in place of the endpoints. */
  readonly calls?: EtcdCalls | undefined;
  readonly clock?: EtcdClock | undefined;
}

/**
 * Makes an empty log under the prefix, unless it has a ready log, and resolves with what happened.
 * Rejects if an endpoint does not answer within ten seconds or belongs to another cluster, or if
 * the prefix has other keys.
 */
export async function initEtcd(options: InitEtcdOptions): Promise<'made' | 'found'> {
  checkEtcdOptions(options);
  const { prefix = DEFAULT_PREFIX, clock = systemClock } = options;
  const tell = safeLog(options.log ?? silent);
  const throwIfAborted = (): void => options.signal?.throwIfAborted();
  const { endpoints } = options;
  const calls =
    options.calls ??
    (await joinCluster(options, { clock, tell, throwIfAborted }, endpoints.length));
  try {
    return await makeLog({ calls, clock, throwIfAborted }, prefix);
  } finally {
    calls.close();
  }
}

async function makeLog(deps: StartDeps, prefix: string): Promise<'made' | 'found'> {
  const layout = layoutOf(prefix);
  const own = encodeMeta({ logId: newLogId(), state: 'ready' });
  // A log that exists is found without a put, which a used-up quota would refuse.
  const meta = (await findMeta(deps, layout)) ?? (await makeMeta(deps, layout, own));
  await readyLog(deps, layout, meta);
  return meta.equals(own) ? 'made' : 'found';
}
