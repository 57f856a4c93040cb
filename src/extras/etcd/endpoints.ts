/**
 * The endpoints of a cluster as this process knows them: which one is in use, which ones have
 * failed, and which cluster they belong to. It sends nothing; etcd-client.ts does.
 *
 *     an endpoint                                          becomes    log event
 *     was configured: the state at first                   working
 *     failed a call, or did not respond to a check;        failed     "fails", once
 *     the next endpoint is used
 *     responded for another cluster; the next is used      strange    "belongs to another cluster"
 *     responded for this cluster, ten seconds or more      working    "works again"
 *     after it became failed or strange
 *
 * The first one is used at first, and each as long as it works. Only a response that a majority of
 * the members has confirmed counts: a member that is cut off from the others could give any other.
 *
 * The cluster is lost when more than half of the endpoints are strange, and the first of them has
 * been so for ten seconds. An endpoint that does not respond changes nothing about that. One that
 * responded for this cluster, and has not failed since, does not count.
 */

import type { Logger, LogLevel } from '../../core/base/logger.ts';
import type { CallResult } from './calls.ts';
import type { EndpointState, Member } from './member.ts';

/** How long the first strange endpoint must have been strange before the cluster is lost. */
const OTHER_CLUSTER_MS = 10_000;
/**
 * The shortest time in the states `failed` and `strange`. It keeps the log short, also if the
 * endpoint is a balancer, and each of its responses may be for another cluster.
 */
const NOT_WORKING_MS = 10_000;

const EVENTS: Readonly<Record<EndpointState, readonly [LogLevel, string]>> = {
  working: ['info', 'An etcd endpoint works again'],
  failed: ['warn', 'An etcd endpoint fails'],
  strange: ['error', 'An etcd endpoint belongs to another cluster'],
};

export class Endpoints {
  /** The cluster of this process: the one that it has joined. */
  clusterId: string | undefined;
  /** The endpoint in use. */
  current: Member;
  readonly #endpoints: readonly Member[];
  readonly #now: () => number;
  readonly #logger: Logger;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(endpoints: readonly Member[], now: () => number, logger: Logger) {
    this.#endpoints = endpoints;
    this.current = endpoints[0]!;
    this.#now = now;
    this.#logger = logger;
  }

  /** True if the cluster is lost: most endpoints belong to another one. */
  get isOtherCluster(): boolean {
    const strange = this.#endpoints.filter(({ state, isChecked }) => {
      return state === 'strange' && !isChecked;
    });
    const since = Math.min(...strange.map(({ since }) => since));
    const isMost = strange.length > this.#endpoints.length / 2;
    return isMost && this.#now() - since >= OTHER_CLUSTER_MS;
  }

  /** Records that the endpoint did not respond. */
  failed(endpoint: Member, cause: string): void {
    this.#enter(endpoint, endpoint.state === 'strange' ? 'strange' : 'failed', cause);
  }

  /** Records a response, and returns it. If it is for another cluster, its call is in doubt. */
  responded(endpoint: Member, result: CallResult): CallResult {
    if (result.kind !== 'answered') return result;
    this.clusterId ??= result.clusterId;
    if (result.clusterId !== this.clusterId) {
      const cause = `${endpoint.url} belongs to another cluster than before`;
      this.#enter(endpoint, 'strange', cause);
      return { kind: 'in doubt', cause };
    }
    endpoint.isChecked = true;
    if (this.#now() - endpoint.since >= NOT_WORKING_MS) this.#enter(endpoint, 'working');
    return result;
  }

  /** After a failure uses the next endpoint, if this one is in use. */
  #enter(endpoint: Member, state: EndpointState, cause?: string): void {
    if (state !== 'working') {
      endpoint.isChecked = false;
      const next = this.#endpoints.indexOf(endpoint) + 1;
      if (endpoint === this.current) this.current = this.#endpoints[next] ?? this.#endpoints[0]!;
    }
    if (endpoint.state === state) return;
    endpoint.state = state;
    endpoint.since = this.#now();
    const details = { endpoint: endpoint.url };
    this.#logger(...EVENTS[state], cause === undefined ? details : { ...details, cause });
  }
}
