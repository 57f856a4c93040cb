/**
 * The endpoints of a cluster as this process knows them: which one is in use, and which ones have
 * failed. It sends nothing; etcd-client.ts does.
 *
 *     an endpoint                                          becomes    log event
 *     was configured: the state at first                   working
 *     failed a call, or did not respond to a check;        failed     "fails", once
 *     the next endpoint is used
 *     responded ten seconds or more after it failed        working    "works again"
 *     responded for another cluster                        strange    "belongs to another cluster"
 *     responded for this cluster again                     working    "works again"
 *
 * The first one is used at first, and each as long as it works. Only a response that a majority of
 * the members has confirmed counts: a member that is cut off from the others could give any other.
 *
 * The cluster is lost when more than half of the endpoints are strange, and the first of them has
 * been so for ten seconds. An endpoint that does not respond changes nothing about that.
 */

import type { Log, LogLevel } from '../../base/log.ts';
import type { EndpointState, Member } from './member.ts';

/** How long the first strange endpoint must have been strange before the cluster is lost. */
const OTHER_CLUSTER_MS = 10_000;
/** The shortest time in the state `failed`: it keeps the log short. */
const FAILED_MS = 10_000;

const EVENTS: Readonly<Record<EndpointState, readonly [LogLevel, string]>> = {
  working: ['info', 'An etcd endpoint works again'],
  failed: ['warn', 'An etcd endpoint fails'],
  strange: ['error', 'An etcd endpoint belongs to another cluster'],
};

export class Endpoints {
  readonly #endpoints: readonly Member[];
  readonly #now: () => number;
  readonly #tell: Log;
  #current: Member;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(endpoints: readonly Member[], now: () => number, tell: Log) {
    this.#endpoints = endpoints;
    this.#current = endpoints[0]!;
    this.#now = now;
    this.#tell = tell;
  }

  /** The endpoint in use. */
  get current(): Member {
    return this.#current;
  }

  /** True if the cluster is lost: most endpoints belong to another one. */
  get isOtherCluster(): boolean {
    const strange = this.#endpoints.filter(({ state }) => state === 'strange');
    const since = Math.min(...strange.map(({ since }) => since));
    const isMost = strange.length > this.#endpoints.length / 2;
    return isMost && this.#now() - since >= OTHER_CLUSTER_MS;
  }

  /** Records that the endpoint did not respond. */
  failed(endpoint: Member, cause: string): void {
    this.#leave(endpoint);
    if (endpoint.state === 'working') this.#enter(endpoint, 'failed', cause);
  }

  /** Records that the endpoint responded for another cluster. */
  strange(endpoint: Member, cause: string): void {
    this.#leave(endpoint);
    this.#enter(endpoint, 'strange', cause);
  }

  /** Records that the endpoint responded for the cluster, and a majority confirmed that. */
  works(endpoint: Member): void {
    const { state, since } = endpoint;
    if (state === 'failed' && this.#now() - since < FAILED_MS) return;
    this.#enter(endpoint, 'working');
  }

  /** Uses the next endpoint if this one is in use. */
  #leave(endpoint: Member): void {
    if (endpoint !== this.#current) return;
    const next = this.#endpoints.indexOf(endpoint) + 1;
    this.#current = this.#endpoints[next] ?? this.#endpoints[0]!;
  }

  #enter(endpoint: Member, state: EndpointState, cause?: string): void {
    if (endpoint.state === state) return;
    endpoint.state = state;
    endpoint.since = this.#now();
    const details = { endpoint: endpoint.url };
    this.#tell(...EVENTS[state], cause === undefined ? details : { ...details, cause });
  }
}
