/**
 * Joining a cluster: finds out which cluster the endpoints belong to, before anything else.
 *
 *     of the endpoints                                         the start
 *     enough have responded for one cluster, none for another  continues
 *     two have responded for different clusters                is refused immediately
 *     one has refused (no rights, a wrong password)            is refused immediately
 *     too few have responded                                   asks again; is refused after 10 s
 *
 * For a service at least half of them are needed: one of one or two, two of three, three of five.
 * With fewer, a member that was recreated by mistake, and is the only one running, would be taken
 * for the cluster. With one endpoint, or two, the start cannot detect that: name all members. A
 * member under two names counts once.
 */

import { createSecureContext } from 'node:tls';
import { messageOf } from '../../core/base/logger.ts';
import { assertNoErrors } from '../../core/base/option-error.ts';
import { StoreUnavailableError } from '../../core/pets/pet-store.ts';
import { etcdClock, retried, type CallResult, type FailedCall, type StartDeps } from './calls.ts';
import { EtcdClient } from './etcd-client.ts';
import { etcdErrors, type ClusterOptions } from './etcd-options.ts';
import { readCertificates } from './member.ts';
import { LogLostError } from './slots.ts';

/** How long a step of a start may take without progress. */
const START_MS = 10_000;

/**
 * Resolves with a client of the cluster that the endpoints belong to; the caller closes it. Rejects
 * after ten seconds if too few endpoints respond, and immediately if the options are invalid, or a
 * file cannot be read.
 */
export async function joinCluster(
  options: ClusterOptions,
  needed: 'half' | 'all' = 'half',
): Promise<StartDeps> {
  assertNoErrors(etcdErrors(options));
  const { endpoints, clock = etcdClock, signal, calls } = options;
  // A key of another certificate would fail only with the first connection.
  try {
    createSecureContext(readCertificates(options));
  } catch (error) {
    throw new Error(`The certificates for etcd cannot be used: ${messageOf(error)}`);
  }
  if (calls !== undefined) return { calls, clock, signal };
  const neededCount = needed === 'all' ? endpoints.length : Math.ceil(endpoints.length / 2);
  const client = new EtcdClient(options);
  const start = { calls: client, clock, signal };
  try {
    const { clusterId } = await repeatUntilDone(start, async () =>
      joiningOf(endpoints, await client.clusters(), neededCount),
    );
    client.join(clusterId);
    return start;
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * Returns the cluster that the responses of all endpoints are for; or the refusal of one of them;
 * or why they are too few. Throws LogLostError if they are for different clusters.
 */
export function joiningOf(
  endpoints: readonly string[],
  responses: readonly CallResult[],
  needed: number,
): { readonly clusterId: string } | FailedCall {
  const causes: string[] = [];
  /** The endpoint of each member, by cluster. */
  const clusters = new Map<string, Map<string | undefined, string>>();
  for (const [index, response] of responses.entries()) {
    if ('cause' in response) {
      if (response.kind === 'refused') return response;
      causes.push(response.cause);
      continue;
    }
    const { clusterId, memberId } = response;
    const endpoint = endpoints[index]!;
    const members = clusters.get(clusterId) ?? new Map<string | undefined, string>();
    const other = members.get(memberId);
    if (other !== undefined) causes.push(`${endpoint} is the same member as ${other}`);
    clusters.set(clusterId, members.set(memberId, other ?? endpoint));
  }
  const [first, second] = clusters;
  if (first !== undefined && second !== undefined) {
    const [one, other] = [first, second].map(([, members]) => [...members.values()].join(', '));
    throw new LogLostError(
      `The endpoints belong to different clusters, ${one} to one and ${other} to another: name ` +
        'the members of one cluster, or add a recreated member with etcdctl member add',
    );
  }
  const count = first?.[1].size ?? 0;
  if (first !== undefined && count >= needed) return { clusterId: first[0] };
  const few = `${count} of ${responses.length} endpoints have answered, ${needed} must`;
  return { kind: 'unsent', cause: [few, ...causes].join('; ') };
}

/** Repeats a step until it succeeds. Rejects if it is refused, or makes no progress for 10 s. */
export async function repeatUntilDone<Success extends object>(
  { clock, signal }: StartDeps,
  step: () => Promise<Success | FailedCall>,
  progress: () => bigint = () => 0n,
): Promise<Success> {
  let progressAt = clock.now();
  let last = progress();
  return retried(clock, async () => {
    signal?.throwIfAborted();
    const result = await step();
    if (!('cause' in result)) return result;
    if (progress() > last) progressAt = clock.now();
    last = progress();
    if (result.kind === 'refused') {
      throw new StoreUnavailableError(`The etcd cluster refuses: ${result.cause}`);
    }
    if (clock.now() - progressAt < START_MS) return undefined;
    throw new StoreUnavailableError(
      `The etcd cluster could not be used for ${START_MS / 1000} seconds: ${result.cause}`,
    );
  });
}
