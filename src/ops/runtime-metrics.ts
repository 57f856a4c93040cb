/**
 * Metrics of API keys, connections and the process.
 *
 * The metrics of the process have the names that Prometheus and its dashboards expect.
 */

import type { KeyUse } from '../http/keyring.ts';
import type { ProcessStats } from './process-stats.ts';
import { metric, single } from './prometheus.ts';

/** What the program around an app reports about itself. */
export interface Runtime {
  readonly nodeVersion: string;
  /** The number of open connections. */
  openConnections(): number;
  /** How many connections the server refused, since it had too many. */
  refusedConnections?(): number;
  /** How often a reload of the API keys failed, so that the keys in force stayed. */
  failedKeyReloads?(): number;
  /** What the process uses of its machine. */
  processStats?(): ProcessStats;
}

/** `now` is the time of day in milliseconds since 1970. */
export function encodeKeyUses(uses: readonly KeyUse[], now: number): string {
  // The monotonic clock measures the age of a use, since the time of day may have been corrected.
  const startOfClock = now - performance.now();
  const lastUsed = ({ lastUsedAt }: KeyUse): number =>
    lastUsedAt === 0 ? 0 : Math.floor((startOfClock + lastUsedAt) / 1000);
  return [
    metric(
      'petstore_api_key_requests_total',
      'counter',
      'Requests with a valid API key, by its name, empty for keys without one',
      uses.map((use) => ({ labels: { key: use.name }, value: use.requests })),
    ),
    metric(
      'petstore_api_key_last_used_timestamp_seconds',
      'gauge',
      'When a request with the API key began last, 0 if none did since the start of the process',
      uses.map((use) => ({ labels: { key: use.name }, value: lastUsed(use) })),
    ),
  ].join('');
}

/** Returns the lines of the metrics that the program reports. */
export function encodeRuntime(runtime: Runtime | undefined): string {
  const stats = runtime?.processStats?.();
  return [
    single('petstore_http_connections', 'Open connections', runtime?.openConnections()),
    single(
      'petstore_http_refused_connections_total',
      'Connections that were refused, since too many were open',
      runtime?.refusedConnections?.(),
    ),
    single(
      'petstore_api_key_reload_failures_total',
      'Failed reloads of the API keys, which left the keys in force',
      runtime?.failedKeyReloads?.(),
    ),
    single(
      'process_start_time_seconds',
      'Start time of the process, in seconds since 1970',
      stats?.startTime,
    ),
    single(
      'process_resident_memory_bytes',
      'Resident memory size in bytes',
      stats?.residentMemoryBytes,
    ),
    single(
      'process_cpu_seconds_total',
      'User and system CPU time of the process in seconds',
      stats?.cpuSeconds,
    ),
    single('process_open_fds', 'Open file descriptors', stats?.openFds),
  ].join('');
}
