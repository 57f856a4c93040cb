/**
 * Metrics, for a scraper with an API key.
 *
 * Each request costs a few additions here. All other figures are collected when the metrics are
 * read.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Histogram } from '../base/histogram.ts';
import type { Operation } from '../http/operation.ts';
import { textResponse } from '../http/api-response.ts';
import type { KeyUse } from '../http/keyring.ts';
import type { RequestRecord } from '../http/request-record.ts';
import { PET_STATUSES } from '../model/pet.ts';
import type { PetCount, StoreStats } from '../model/pet-store.ts';
import { encodeHistogram, encodeHistograms, metric, single, type Sample } from './prometheus.ts';
import { encodeKeyUses, encodeRuntime, type Runtime } from './runtime-metrics.ts';

export interface Metrics {
  /** Counts a response, and the use of the API key. */
  countRequest(record: RequestRecord, seconds: number): void;
  /** The operation that shows the metrics. */
  readonly operation: Operation;
  /** Stops measuring the event loop. */
  close(): void;
}

/** The sources of the figures that are not counted here. */
export interface MetricsSources {
  readonly version: string;
  pets(): PetCount;
  /** Returns what the store measures, or undefined if it measures nothing. */
  store(): StoreStats | undefined;
  /** Returns true if a create can be stored, as far as the service knows. */
  canStore(): boolean;
  keyUses(): readonly KeyUse[];
  /** The time of day in milliseconds since 1970. */
  now(): number;
  /** What the program around the app reports, if it reports anything. */
  readonly runtime: Runtime | undefined;
}

export function createMetrics(sources: MetricsSources): Metrics {
  const requests = new RequestCounts();
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
      requests.encode(),
      encodeKeyUses(sources.keyUses(), sources.now()),
      encodePetCounts(sources.pets()),
      single('petstore_store_can_store', CAN_STORE_HELP, sources.canStore() ? 1 : 0),
      encodeStore(sources.store()),
      encodeRuntime(sources.runtime),
      metric(
        'petstore_event_loop_delay_seconds',
        'gauge',
        'Delay of the event loop since the last scrape, by percentile',
        delay,
      ),
      metric('petstore_build_info', 'gauge', 'Always 1; the labels are the versions', [
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
      requests.count(operation, record.status, seconds, record.bodyBytes);
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

/** In seconds: from a read in memory to a create on a slow disk. */
const DURATION_BOUNDS: readonly number[] = [
  0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** The responses of one operation. */
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
        'Responses by operation (empty if the request has none) and HTTP status, except for ' +
          'requests that node:http refuses while it parses them',
        samples,
      ),
      encodeHistograms(
        'petstore_http_request_duration_seconds',
        'Time from the start of a request to its response, by operation; the time in the ' +
          'pipeline queue is not counted',
        durations,
      ),
      single(
        'petstore_http_response_body_bytes_total',
        'Bytes of all response bodies',
        this.#bytes,
      ),
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
  return metric(
    'petstore_pets',
    'gauge',
    'Pets by status, empty for pets without a status',
    samples,
  );
}

/** Returns the lines of what the store measures: a figure that it does not have has no line. */
function encodeStore(stats: StoreStats | undefined): string {
  if (stats === undefined) return '';
  const { calls } = stats;
  return [
    single(
      'petstore_store_refused_creates_total',
      'Creates that the store refused',
      stats.refusedCreates,
    ),
    single(
      'petstore_store_unknown_creates_total',
      'Creates of which nobody knows whether they were stored',
      stats.unknownCreates,
    ),
    single(
      'petstore_store_evicted_idempotency_keys_total',
      'Idempotency keys that were dropped before their time, to make room for newer keys',
      stats.keysEvicted,
    ),
    single('petstore_store_idempotency_keys', 'Idempotency keys in memory', stats.keysHeld),
    single('petstore_store_queue_length', 'Creates that wait for a commit', stats.queueLength),
    single('petstore_store_journal_bytes', 'Length of the journal', stats.journalBytes),
    single('petstore_store_snapshot_bytes', 'Length of the data file', stats.snapshotBytes),
    encodeHistogram('petstore_store_commit_pets', 'Pets in a commit', stats.commitPets),
    encodeHistogram(
      'petstore_store_commit_duration_seconds',
      'Time of a commit, until it is durable',
      stats.commitSeconds,
    ),
    encodeHistogram(
      'petstore_store_sync_duration_seconds',
      'Time of a sync of the journal',
      stats.syncSeconds,
    ),
    calls === undefined
      ? ''
      : metric(
          'petstore_etcd_calls_total',
          'counter',
          'Calls to etcd, by purpose, result and endpoint',
          calls.map(({ value, ...labels }) => ({ labels, value })),
        ),
    single(
      'petstore_etcd_lost_rounds_total',
      'Proposals whose slot another process had already taken',
      stats.conflicts,
    ),
    encodeHistogram(
      'petstore_etcd_barrier_duration_seconds',
      'Time of a catch-up with the cluster, which waiting reads share',
      stats.barrierSeconds,
    ),
  ].join('');
}

const CAN_STORE_HELP =
  '1 while creates can be stored; 0 while they cannot, and for five seconds after a create that ' +
  'could not be stored';
