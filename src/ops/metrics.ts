/**
 * Metrics, for a scraper that has a key.
 *
 * What happens on each request costs a few additions here; all else is asked of those who know it
 * when somebody reads the metrics.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Histogram } from '../base/histogram.ts';
import type { Operation } from '../http/operation.ts';
import { textResponse } from '../http/api-response.ts';
import type { KeyUse } from '../http/keyring.ts';
import type { RequestRecord } from '../http/request-record.ts';
import { PET_STATUSES } from '../model/pet.ts';
import type { PetCount, StoreStats } from '../model/pet-store.ts';
import { encodeHistogram, encodeHistograms, metric, type Sample } from './prometheus.ts';
import { encodeKeyUses, encodeRuntime, type Runtime } from './runtime-metrics.ts';

export interface Metrics {
  /** Counts a response, and the use of the API key. */
  countRequest(record: RequestRecord, seconds: number): void;
  /** The operation that shows the metrics. */
  readonly operation: Operation;
  /** Stops measuring the event loop. */
  close(): void;
}

/** Where the figures come from that are not counted here. */
export interface MetricsSources {
  readonly version: string;
  pets(): PetCount;
  /** What the store measures; undefined if it measures nothing. */
  store(): StoreStats | undefined;
  /** True while a create can be stored, as far as the service knows. */
  canStore(): boolean;
  keyUses(): readonly KeyUse[];
  /** The time of day in milliseconds since 1970. */
  now(): number;
  /** What the program around the app knows; undefined for what it does not tell. */
  readonly runtime: Runtime | undefined;
}

export function createMetrics(sources: MetricsSources): Metrics {
  const answers = new RequestCounts();
  const eventLoop = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS });
  eventLoop.enable();
  const encode = (): string => {
    const delay: readonly Sample[] = [
      { labels: { percentile: '50' }, value: eventLoop.percentile(50) / 1e9 },
      { labels: { percentile: '99' }, value: eventLoop.percentile(99) / 1e9 },
      { labels: { percentile: '100' }, value: eventLoop.max / 1e9 },
    ];
    eventLoop.reset();
    return [
      answers.encode(),
      encodeKeyUses(sources.keyUses(), sources.now()),
      encodePetCounts(sources.pets()),
      gauge('can_store', CAN_STORE_HELP, sources.canStore() ? 1 : 0),
      encodeStore(sources.store()),
      encodeRuntime(sources.runtime),
      metric(
        'petstore_event_loop_delay_seconds',
        'gauge',
        'Delay of the event loop since the last scrape, by percentile',
        delay,
      ),
      metric('petstore_build_info', 'gauge', 'Always 1; the labels tell what runs', [
        {
          labels: { version: sources.version, node: sources.runtime?.nodeVersion ?? '' },
          value: 1,
        },
      ]),
    ].join('');
  };
  return {
    countRequest(record, seconds) {
      const { keyUse, prepared } = record.facts;
      if (keyUse !== undefined) {
        keyUse.requests += 1;
        keyUse.lastUsedAt = record.startedAt;
      }
      const operation = prepared === undefined ? '' : prepared.operation.name;
      answers.count(operation, record.status, seconds, record.bodyBytes);
    },
    operation: {
      name: 'metrics',
      method: 'GET',
      path: '/metrics',
      needsKey: 'metrics',
      handle: () => textResponse(200, TEXT_TYPE, encode()),
    },
    close: () => eventLoop.disable(),
  };
}

const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const EVENT_LOOP_RESOLUTION_MS = 20;

/** Seconds: from a read out of memory to a create on a slow disk. */
const DURATION_BOUNDS: readonly number[] = [
  0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** What was answered for one operation. */
interface OperationCounts {
  readonly byStatus: Map<number, { value: number }>;
  readonly seconds: Histogram;
}

class RequestCounts {
  readonly #byOperation: Map<string, OperationCounts> = new Map();
  #bytes = 0;

  count(operation: string, status: number, seconds: number, bytes: number): void {
    let counts = this.#byOperation.get(operation);
    if (counts === undefined) {
      counts = { byStatus: new Map(), seconds: new Histogram(DURATION_BOUNDS) };
      this.#byOperation.set(operation, counts);
    }
    let count = counts.byStatus.get(status);
    if (count === undefined) counts.byStatus.set(status, (count = { value: 0 }));
    count.value += 1;
    counts.seconds.observe(seconds);
    this.#bytes += bytes;
  }

  encode(): string {
    const operations = [...this.#byOperation];
    const samples = operations.flatMap(([operation, { byStatus }]) =>
      [...byStatus].map(([status, { value }]): Sample => ({
        labels: { operation, status: String(status) },
        value,
      })),
    );
    const durations = operations.map(([operation, { seconds }]) => ({
      labels: { operation },
      histogram: seconds,
    }));
    return [
      metric(
        'petstore_http_requests_total',
        'counter',
        'Answered requests by operation, empty where there was none, and HTTP status; without ' +
          'those that node:http refuses while it reads them',
        samples,
      ),
      encodeHistograms(
        'petstore_http_request_duration_seconds',
        'Time from the turn of a request on its connection to its answer, by operation',
        durations,
      ),
      metric('petstore_http_response_body_bytes_total', 'counter', 'Bytes of all bodies answered', [
        { value: this.#bytes },
      ]),
    ].join('');
  }
}

function encodePetCounts({ total, byStatus }: PetCount): string {
  const samples: Sample[] = PET_STATUSES.map((status) => ({
    labels: { status },
    value: byStatus[status],
  }));
  const withStatus = samples.reduce((sum, { value }) => sum + value, 0);
  samples.push({ labels: { status: '' }, value: total - withStatus });
  return metric('petstore_pets', 'gauge', 'Pets by status, empty for those without one', samples);
}

function encodeCommon(stats: StoreStats, commitHelp: string): string {
  return [
    counter('refused_creates', 'Creates that the store refused', stats.refusedCreates),
    counter(
      'unknown_creates',
      'Creates of which nobody can tell whether they were stored',
      stats.unknownCreates,
    ),
    counter(
      'evicted_idempotency_keys',
      'Idempotency keys that were forgotten before their time, to make room for newer ones',
      stats.keysEvicted,
    ),
    gauge('idempotency_keys', 'Idempotency keys that are held', stats.keysHeld),
    gauge('queue_length', 'Creates that wait for a commit', stats.queueLength),
    encodeHistogram('petstore_store_commit_pets', 'Pets in a commit', stats.commitPets),
    encodeHistogram('petstore_store_commit_duration_seconds', commitHelp, stats.commitSeconds),
  ].join('');
}

function encodeStore(stats: StoreStats | undefined): string {
  if (stats === undefined) return '';
  const { syncSeconds, journalBytes = 0, snapshotBytes = 0 } = stats;
  if (syncSeconds === undefined) return encodeEtcd(stats);
  return [
    encodeCommon(stats, 'Time of a commit: one write and one sync'),
    gauge('journal_bytes', 'Length of the journal', journalBytes),
    gauge('snapshot_bytes', 'Length of the snapshot', snapshotBytes),
    encodeHistogram(
      'petstore_store_sync_duration_seconds',
      'Time of a sync of the journal',
      syncSeconds,
    ),
  ].join('');
}

function encodeEtcd(stats: StoreStats): string {
  const { conflicts = 0, barrierSeconds } = stats;
  const calls = (stats.calls ?? []).map(({ call, outcome, endpoint, value }) => ({
    labels: { call, outcome, endpoint },
    value,
  }));
  return [
    encodeCommon(stats, 'Time of a commit, from its first transaction until it is settled'),
    metric(
      'petstore_etcd_calls_total',
      'counter',
      'Calls to etcd, by what for, how they ended, and the endpoint',
      calls,
    ),
    metric(
      'petstore_etcd_lost_rounds_total',
      'counter',
      'Commits that found their place taken by another process, and took the next',
      [{ value: conflicts }],
    ),
    barrierSeconds === undefined
      ? ''
      : encodeHistogram(
          'petstore_etcd_barrier_duration_seconds',
          'Time of a catching up with the cluster, which the reads that wait share',
          barrierSeconds,
        ),
  ].join('');
}

function counter(name: string, help: string, value: number): string {
  return metric(`petstore_store_${name}_total`, 'counter', help, [{ value }]);
}

function gauge(name: string, help: string, value: number): string {
  return metric(`petstore_store_${name}`, 'gauge', help, [{ value }]);
}

const CAN_STORE_HELP =
  '1 while creates can be stored; 0 in each state in which none can, and for five seconds after ' +
  'one that could not be';
