/**
 * The endpoints of a cluster as this process knows them: which one is asked, which ones have
 * failed, and which ones have answered for another cluster. It sends nothing; etcd-client.ts does.
 *
 *     of one endpoint                                      it is      what is logged
 *     it answered for the cluster                          working
 *     it failed while it was asked, or did not answer a    failed     "fails", once
 *     check: the next one is asked
 *     it answered a check ten seconds after it failed,     working    "works again"
 *     and the cluster a transaction meanwhile
 *     it answered for another cluster                      strange    "belongs to another cluster"
 *
 * A check of all endpoints goes out every fifteen seconds. It also measures their round trips: if
 * one is much nearer than the one that is asked, it is asked from then on.
 *
 * The cluster is lost if more than half of the endpoints have answered for another one, the first
 * of them ten seconds ago. An endpoint that gives no answer changes nothing about that.
 */

import type { Log } from '../../base/log.ts';

/** How long most endpoints must have answered for another cluster before this one is lost. */
const OTHER_CLUSTER_MS = 10_000;
/** How long an endpoint that failed counts as failed at least, so that a log is not flooded. */
const FAILED_MS = 10_000;
/** An endpoint is near enough if its round trip is no longer than this and twice the shortest. */
const NEAR_MS = 1;

interface Endpoint {
  readonly url: string;
  state: 'working' | 'failed' | 'strange';
  /** When it entered the state. */
  since: number;
}

export class Endpoints {
  readonly #endpoints: readonly Endpoint[];
  readonly #now: () => number;
  readonly #tell: Log;
  #current = 0;
  #answeredAt = -Infinity;

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(urls: readonly string[], now: () => number, tell: Log) {
    this.#endpoints = urls.map((url) => ({ url, state: 'working', since: -Infinity }));
    this.#now = now;
    this.#tell = tell;
  }

  /** The index of the endpoint that is asked. */
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

  /** The cluster has answered a transaction, by whichever endpoint. */
  answered(): void {
    this.#answeredAt = this.#now();
  }

  /** The endpoint gave no answer; if it is the one that is asked, the next one is from now on. */
  failed(index: number, cause: string): void {
    if (index === this.#current) this.#current = (index + 1) % this.#endpoints.length;
    const endpoint = this.#endpoints[index];
    if (endpoint?.state !== 'working') return;
    this.#enter(endpoint, 'failed');
    this.#tell('warn', 'An etcd endpoint fails', { endpoint: endpoint.url, cause });
  }

  /** The endpoint answered for another cluster. */
  strange(index: number, cause: string): void {
    if (index === this.#current) this.#current = (index + 1) % this.#endpoints.length;
    const endpoint = this.#endpoints[index];
    if (endpoint === undefined || endpoint.state === 'strange') return;
    this.#enter(endpoint, 'strange');
    this.#tell('error', 'An etcd endpoint belongs to another cluster', {
      endpoint: endpoint.url,
      cause,
    });
  }

  /** The endpoint answered a check, for the cluster. */
  works(index: number): void {
    const endpoint = this.#endpoints[index];
    if (endpoint === undefined || endpoint.state === 'working') return;
    if (endpoint.state === 'failed') {
      // Members without a majority answer a check, too.
      const isTooEarly = this.#now() - endpoint.since < FAILED_MS;
      if (isTooEarly || this.#answeredAt < endpoint.since) return;
    }
    this.#enter(endpoint, 'working');
    this.#tell('info', 'An etcd endpoint works again', { endpoint: endpoint.url });
  }

  /** Chooses the nearest endpoint, by their round trips; undefined for one that did not answer. */
  chooseNearest(roundTripsMs: readonly (number | undefined)[]): void {
    const known = roundTripsMs.map((ms, index) =>
      this.#endpoints[index]?.state === 'working' ? (ms ?? Infinity) : Infinity,
    );
    const shortest = Math.min(...known);
    const current = known[this.#current] ?? Infinity;
    if (current > 2 * shortest + NEAR_MS) this.#current = known.indexOf(shortest);
  }

  #enter(endpoint: Endpoint, state: Endpoint['state']): void {
    endpoint.state = state;
    endpoint.since = this.#now();
  }
}
