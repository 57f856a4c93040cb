/**
 * Joining a cluster: which one the endpoints belong to, before anything is asked of it.
 *
 *     of the endpoints                                         the start
 *     enough have answered for one cluster, none for another   goes on
 *     two have answered for different clusters                 is refused immediately
 *     one has refused (no rights, a wrong password)            is refused immediately
 *     too few have answered                                    asks again, is refused after 10 s
 *
 * Half of them are enough for a service: one of one or two, two of three, three of five. With fewer
 * a member that was made anew by mistake, and is alone at the time of a start, would be taken for
 * the cluster. With one endpoint, or two, that cannot be told: name all members.
 */

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../base/log.ts';
import { StoreUnavailableError } from '../../model/pet-store.ts';
import { EtcdClient, type ClusterResponse, type EtcdClientDeps } from './etcd-client.ts';
import { retried, systemClock } from './etcd-clock.ts';
import { etcdProblems, type EtcdOptions } from './etcd-options.ts';
import { LogLostError } from './log-lost-error.ts';
import { readCertificates } from './member.ts';
import { noAnswer, START_MS } from './open-log.ts';

/** Throws TypeError for options that are wrong, and Error for a file that cannot be read. */
export function checkEtcdOptions(options: EtcdOptions): void {
  const problems = etcdProblems({ ...options });
  if (problems.length > 0) {
    throw new TypeError(problems.map(({ name, sentence }) => `${name} ${sentence}`).join('; '));
  }
  // A file that is missing, or is not a certificate, would fail only with the first connection.
  try {
    createSecureContext(readCertificates(options));
    if (options.passwordFile !== undefined) readFileSync(options.passwordFile);
  } catch (error) {
    throw new Error(`A file for etcd cannot be read: ${messageOf(error)}`);
  }
}

export interface JoinDeps extends EtcdClientDeps {
  /** Throws if the start is to be given up. */
  throwIfAborted?(): void;
}

/** What the answers of all endpoints come to. */
export type Joining =
  | { readonly kind: 'joined'; readonly clusterId: string }
  | { readonly kind: 'refused'; readonly error: Error }
  | { readonly kind: 'too few'; readonly cause: string };

/**
 * Returns a client of the cluster that the endpoints belong to, of which `needed` have to answer:
 * at least half of them if it is not given. Rejects after ten seconds without enough answers.
 */
export async function joinCluster(
  options: EtcdOptions,
  deps: JoinDeps = {},
  needed: number = Math.ceil(options.endpoints.length / 2),
): Promise<EtcdClient> {
  const { clock = systemClock, throwIfAborted = () => undefined } = deps;
  const client = new EtcdClient(options, deps);
  const startedAt = clock.now();
  try {
    return await retried(clock, async () => {
      throwIfAborted();
      const answers = await client.clusters();
      const joining = joiningOf(options.endpoints, answers, needed);
      if (joining.kind === 'refused') throw joining.error;
      if (joining.kind === 'joined') {
        client.join(joining.clusterId, answers);
        return client;
      }
      if (clock.now() - startedAt >= START_MS) throw noAnswer(joining.cause);
      return undefined;
    });
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Decides what the answers of the endpoints, in their order, come to. */
export function joiningOf(
  endpoints: readonly string[],
  answers: readonly ClusterResponse[],
  needed: number,
): Joining {
  const causes: string[] = [];
  const members = new Map<string, string[]>();
  for (const [index, answer] of answers.entries()) {
    const endpoint = endpoints[index] ?? '';
    if ('clusterId' in answer) {
      members.set(answer.clusterId, [...(members.get(answer.clusterId) ?? []), endpoint]);
    } else if (answer.failure.kind === 'refused') {
      const message = `The etcd cluster refuses: ${answer.failure.cause}`;
      return { kind: 'refused', error: new StoreUnavailableError(message) };
    } else {
      causes.push(answer.failure.cause);
    }
  }
  if (members.size > 1) return { kind: 'refused', error: differ(members) };
  const [[clusterId, { length }] = ['', []] as const] = [...members];
  if (length >= needed) return { kind: 'joined', clusterId };
  const count = `${length} of ${endpoints.length} endpoints have answered, ${needed} must`;
  return { kind: 'too few', cause: [count, ...causes].join('; ') };
}

function differ(members: ReadonlyMap<string, readonly string[]>): LogLostError {
  const [[, first] = ['', []] as const, [, second] = ['', []] as const] = [...members];
  return new LogLostError(
    `The endpoints belong to different clusters, ${first.join(', ')} to one and ` +
      `${second.join(', ')} to another: name the members of one cluster, or add a member that was ` +
      'made anew by etcdctl member add',
  );
}
