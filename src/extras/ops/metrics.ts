/**
 * Metrics, for a scraper with an API key.
 *
 * Each request costs a few additions here. All other figures are collected when the metrics are
 * read: the table in `readMetrics` has a row for each, with its type, name, help and value, and the
 * store has rows of its own (`measurements`). The metrics of the process have the names that
 * Prometheus and its dashboards expect.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ServiceView } from '../../core/app/service-options.ts';
import { Histogram, type LabelledSample, type Measurement } from '../../core/base/measurement.ts';
import { VERSION } from '../../core/base/version.ts';
import type { Exchange } from '../../core/http/handle-request.ts';
import { textResponse } from '../../core/http/http-response.ts';
import type { Operation } from '../../core/http/operation.ts';
import { PET_STATUSES } from '../../core/pets/pet.ts';
import type { PetCount, WherePetsAre } from '../../core/pets/pet-store.ts';
import { tryTo, type Runtime } from './runtime.ts';

export interface Metrics {
  /** Counts a response, and the use of the API key. */
  countResponse(exchange: Exchange, seconds: number): void;
  /** Drops the counts of names that no API key in force has. */
  forgetOldKeys(): void;
  /** The operation that shows the metrics. */
  readonly operation: Operation;
  /** Stops measuring the event loop. */
  close(): void;
}

/** The sources of the figures that are not counted here. */
export interface MetricsSources extends Pick<ServiceView, 'store' | 'unreadiness' | 'keyNames'> {
  /** The time of day in milliseconds since 1970. */
  timeOfDay(): number;
  /** What the program around the app reports, if it reports anything. */
  readonly runtime: Runtime | undefined;
}

export function createMetrics(sources: MetricsSources): Metrics {
  const responses: ResponseCounts = { byOperation: new Map(), byKey: new Map(), bytes: 0 };
  const eventLoop = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS });
  eventLoop.enable();
  const delays = new Histogram(DURATION_BOUNDS);
  // Not at a scrape, which would hide the delay from another scraper.
  const timer = setInterval(() => {
    const ms = eventLoop.max / 1e6 - EVENT_LOOP_RESOLUTION_MS;
    eventLoop.reset();
    delays.observe(Math.max(0, ms) / 1000);
  }, EVENT_LOOP_READ_MS).unref();
  return {
    countResponse({ operation = '', keyName, startedAt, status, bodyBytes }, seconds) {
      const { byOperation, byKey } = responses;
      if (keyName !== undefined) {
        const { requests, lastUsedAt } = byKey.get(keyName) ?? UNUSED;
        // A request that began earlier may end later.
        byKey.set(keyName, { requests: requests + 1, lastUsedAt: Math.max(lastUsedAt, startedAt) });
      }
      responses.bytes += bodyBytes;
      let counts = byOperation.get(operation);
      if (counts === undefined) {
        counts = { byStatus: new Map(), duration: new Histogram(DURATION_BOUNDS) };
        byOperation.set(operation, counts);
      }
      counts.duration.observe(seconds);
      counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
    },
    forgetOldKeys() {
      const names = sources.keyNames();
      for (const name of responses.byKey.keys()) if (!names.has(name)) responses.byKey.delete(name);
    },
    operation: {
      name: 'metrics',
      method: 'GET',
      path: '/metrics',
      needsKey: METRICS_RIGHT,
      handle() {
        const metrics = readMetrics(sources, responses, delays);
        return textResponse(200, TEXT_TYPE, metrics.map(encodeMetric).join(''));
      },
    },
    close() {
      clearInterval(timer);
      eventLoop.disable();
    },
  };
}

/** An API key with this right opens the metrics, and nothing else. */
export const METRICS_RIGHT = 'metrics';

const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const EVENT_LOOP_RESOLUTION_MS = 20;
const EVENT_LOOP_READ_MS = 1000;

/** In seconds: from a read in memory to a create on a slow disk. */
const DURATION_BOUNDS: readonly number[] = [
  0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

const LOCATIONS: readonly WherePetsAre[] = ['data file', 'saved file', 'memory'];

interface ResponseCounts {
  /** The numbers of responses by status, and their times. */
  readonly byOperation: Map<string, { byStatus: Map<number, number>; duration: Histogram }>;
  /** The uses of all API keys with one name. */
  readonly byKey: Map<string, KeyUse>;
  /** Of all bodies. */
  bytes: number;
}

interface KeyUse {
  readonly requests: number;
  /** When the last request began, by performance.now(); 0 before the first. */
  readonly lastUsedAt: number;
}

const UNUSED: KeyUse = { requests: 0, lastUsedAt: 0 };

/** Returns all metrics: those of the service, and what the store measures. */
function readMetrics(
  sources: MetricsSources,
  responses: ResponseCounts,
  delays: Histogram,
): readonly Measurement[] {
  const { runtime } = sources;
  const store = sources.store();
  // A figure that cannot be read is left out: the others must not fail because of it.
  const where = tryTo(() => store.durability?.());
  const running = tryTo(() => runtime?.processStats?.());
  const uses = Array.from(sources.keyNames(), (name) => {
    return { name, ...(responses.byKey.get(name) ?? UNUSED) };
  });
  const operations = [...responses.byOperation];
  // The monotonic clock measures the age of a use, since the time of day may have been corrected.
  const startOfClock = sources.timeOfDay() - performance.now();
  const table: MetricTable = {
    counter: {
      petstore_http_requests_total: [
        'Responses by operation, or none, and HTTP status',
        operations.flatMap(([operation, { byStatus }]) =>
          Array.from(byStatus, ([status, value]) => {
            return { labels: { operation, status: String(status) }, value };
          }),
        ),
      ],
      petstore_http_response_body_bytes_total: ['Bytes of all response bodies', responses.bytes],
      petstore_api_key_requests_total: [
        'Requests with a valid API key, by its name, empty for keys without one',
        uses.map(({ name, requests }) => ({ labels: { key: name }, value: requests })),
      ],
      petstore_http_refused_connections_total: [
        'Connections that were refused, since too many were open',
        tryTo(() => runtime?.refusedConnections?.()),
      ],
      petstore_api_key_reload_failures_total: [
        'Failed key reloads',
        tryTo(() => runtime?.failedKeyReloads?.()),
      ],
      petstore_log_dropped_lines_total: [
        'Lines of the log that its reader or its disk did not take',
        tryTo(() => runtime?.droppedLogLines?.()),
      ],
      process_cpu_seconds_total: ['User and system CPU time of the process', running?.cpuSeconds],
    },
    gauge: {
      petstore_api_key_last_used_timestamp_seconds: [
        'When a request with the API key began last, 0 if none did since the start of the process',
        uses.map(({ name, lastUsedAt }) => ({
          labels: { key: name },
          value: lastUsedAt === 0 ? 0 : Math.floor((startOfClock + lastUsedAt) / 1000),
        })),
      ],
      petstore_pets: [
        'Pets by status, empty for pets without a status',
        petsByStatus(store.count()),
      ],
      petstore_store_can_store: [
        '1 while creates can be stored; 0 while not, and for 5 s after one could not be',
        sources.unreadiness() === undefined ? 1 : 0,
      ],
      petstore_store_pets_location: [
        '1 for what has all acknowledged pets: the data file, a saved file, or only memory',
        where && LOCATIONS.map((at) => ({ labels: { at }, value: at === where ? 1 : 0 })),
      ],
      petstore_http_connections: ['Open connections', tryTo(() => runtime?.openConnections())],
      process_start_time_seconds: ['Start of the process, seconds since 1970', running?.startTime],
      process_resident_memory_bytes: ['Resident memory size', running?.residentMemoryBytes],
      process_open_fds: ['Open file descriptors', running?.openFds],
      petstore_build_info: [
        'Always 1; the labels are the versions',
        [{ labels: { version: VERSION, node: runtime?.nodeVersion ?? '' }, value: 1 }],
      ],
    },
    histogram: {
      petstore_http_request_duration_seconds: [
        'Time of a request until its response, by operation, without its wait in a pipeline',
        operations.map(([operation, { duration }]) => ({ labels: { operation }, value: duration })),
      ],
      petstore_event_loop_delay_seconds: ['The longest delay of each second', delays],
    },
  };
  return [...rowsOf(table), ...(tryTo(() => store.measurements?.()) ?? [])];
}

function petsByStatus({ total, byStatus }: PetCount): readonly LabelledSample[] {
  const withStatus = PET_STATUSES.reduce((sum, status) => sum + byStatus[status], 0);
  const samples = PET_STATUSES.map((status) => ({ labels: { status }, value: byStatus[status] }));
  return [...samples, { labels: { status: '' as const }, value: total - withStatus }];
}

/* The text format of Prometheus, version 0.0.4. */

/** The metrics by type and name. */
type MetricTable = Readonly<Record<Measurement['type'], Readonly<Record<string, Metric>>>>;

/** Undefined: the metric has no lines. */
type Metric = readonly [help: string, value: Measurement['value'] | undefined];

/** Returns a row for each metric that has a value. */
function* rowsOf(table: MetricTable): Generator<Measurement> {
  for (const type of ['counter', 'gauge', 'histogram'] as const) {
    for (const [name, [help, value]] of Object.entries(table[type])) {
      if (value !== undefined) yield { type, name, help, value };
    }
  }
}

/** Returns the lines of a metric. A number or a histogram is one sample without labels. */
function encodeMetric({ type, name, help, value }: Measurement): string {
  const isList = typeof value === 'object' && 'length' in value;
  const samples = isList ? value : [{ labels: {}, value }];
  const lines = samples.map((sample) => encodeSample(name, sample));
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function encodeSample(name: string, { labels, value }: LabelledSample): string {
  const all = encodeLabels(labels);
  if (typeof value !== 'object') return `${name}${all} ${value}\n`;
  let count = 0;
  // The format has cumulative buckets.
  const buckets = [...value.bounds, '+Inf'].map((bound, index) => {
    count += value.counts[index]!;
    return `${name}_bucket${encodeLabels({ ...labels, le: String(bound) })} ${count}\n`;
  });
  return `${buckets.join('')}${name}_sum${all} ${value.sum}\n${name}_count${all} ${count}\n`;
}

function encodeLabels(labels: LabelledSample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    // A backslash, a quote or a line feed.
    return `${name}="${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
