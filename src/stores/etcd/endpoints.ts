/**
 * The endpoints of a cluster as this process knows them: which one is in use, and which ones have
 * failed. It sends nothing; etcd-client.ts does.
 *
 *     an endpoint                                          becomes    log event
 *     responded for the cluster at first                   working
 *     failed a call, or did not respond to a check;        failed     "fails", once
 *     the next endpoint is used
 *     responded to a check ten seconds after it failed,    working    "works again"
 *     and any endpoint has answered a transaction since
 *     responded for another cluster                        strange    "belongs to another cluster"
 *     responded to a check for this cluster again          working    "works again"
 *
 * All endpoints are checked every fifteen seconds. A check also measures their round trips: if one
 * is much nearer than the one in use, it is used from then on.
 *
 * The cluster is lost when more than half of the endpoints are strange, and the first of them has
 * been so for ten seconds. An endpoint that does not respond changes nothing about that.
 */

import type { Log, LogLevel } from '../../base/log.ts';

/** How long the first strange endpoint must have been strange before the cluster is lost. */
const OTHER_CLUSTER_MS = 10_000;
/** The shortest time in the state `failed`: it keeps the log short. */
const FAILED_MS = 10_000;
/** An endpoint is near enough if its round trip is at most twice the shortest plus this. */
const NEAR_MS = 1;

type State = 'working' | 'failed' | 'strange';

const EVENTS: Readonly<Record<State, readonly [LogLevel, string]>> = {
  working: ['info', 'An etcd endpoint works again'],
  failed: ['warn', 'An etcd endpoint fails'],
  strange: ['error', 'An etcd endpoint belongs to another cluster'],
};

interface Endpoint {
  readonly url: string;
  state: State;
  /** When it entered the state. */
  since: number;
}

export class Endpoints {
  readonly #endpoints: readonly Endpoint[];
  readonly #now: () => number;
  readonly #tell: Log;
  #current = 0;
  #answeredAt = -Infinity;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(urls: readonly string[], now: () => number, tell: Log) {
    this.#endpoints = urls.map((url) => ({ url, state: 'working', since: -Infinity }));
    this.#now = now;
    this.#tell = tell;
  }

  /** The index of the endpoint in use. */
  get current(): number {
    return this.#current;
  }

  /** True if the cluster is lost: most endpoints belong to another one. */
  get isOtherCluster(): boolean {
    const strange = this.#endpoints.filter(({ state }) => state === 'strange');
    const since = Math.min(...strange.map(({ since }) => since));
    const isMost = strange.length > this.#endpoints.length / 2;
    return isMost && this.#now() - since >= OTHER_CLUSTER_MS;
  }

  /** Records that the cluster responded to a transaction, through any endpoint. */
  answered(): void {
    this.#answeredAt = this.#now();
  }

  /** Records that the endpoint did not respond. */
  failed(index: number, cause: string): void {
    this.#leave(index);
    if (this.#endpoints[index]?.state === 'working') this.#enter(index, 'failed', cause);
  }

  /** Records that the endpoint responded for another cluster. */
  strange(index: number, cause: string): void {
    this.#leave(index);
    this.#enter(index, 'strange', cause);
  }

  /** Records that the endpoint responded to a check, for the cluster. */
  works(index: number): void {
    const endpoint = this.#endpoints[index];
    if (endpoint?.state === 'failed') {
      // Members without a majority respond to a check, too.
      const isTooEarly = this.#now() - endpoint.since < FAILED_MS;
      if (isTooEarly || this.#answeredAt < endpoint.since) return;
    }
    this.#enter(index, 'working');
  }

  /** Chooses the nearest endpoint. The round trip of one that did not respond is undefined. */
  chooseNearest(roundTripsMs: readonly (number | undefined)[]): void {
    const known = roundTripsMs.map((ms, index) =>
      this.#endpoints[index]?.state === 'working' ? (ms ?? Infinity) : Infinity,
    );
    const shortest = Math.min(...known);
    const current = known[this.#current] ?? Infinity;
    if (current > 2 * shortest + NEAR_MS) this.#current = known.indexOf(shortest);
  }

  /** Uses the next endpoint if this one is in use. */
  #leave(index: number): void {
    if (index === this.#current) this.#current = (index + 1) % this.#endpoints.length;
  }

  #enter(index: number, state: State, cause?: string): void {
    const endpoint = this.#endpoints[index];
    if (endpoint === undefined || endpoint.state === state) return;
    endpoint.state = state;
    endpoint.since = this.#now();
    const details = { endpoint: endpoint.url };
    this.#tell(...EVENTS[state], cause === undefined ? details : { ...details, cause });
  }
}
