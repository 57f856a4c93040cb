/**
 * Metrics of what is around the pets: who uses which API key, connections and the process.
 *
 * Those of the process have the names that Prometheus and its dashboards expect of any process.
 */

import type { KeyUse } from '../http/keyring.ts';
import type { ProcessStats } from './process-stats.ts';
import { metric } from './prometheus.ts';

/** What the program around an app tells of itself. */
export interface Runtime {
  readonly nodeVersion: string;
  /** How many connections the server has. */
  openConnections(): number;
  /** How many connections it refused, since it had too many. */
  refusedConnections?(): number;
  /** How often the API keys were to be read again, and were left as they were. */
  failedKeyReloads?(): number;
  /** What the process takes. */
  processStats?(): ProcessStats;
}

/** `now` is the time of day in milliseconds since 1970. */
export function encodeKeyUses(uses: readonly KeyUse[], now: number): string {
  // From the monotonic clock, since the time of day may have been corrected since.
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

/** Leaves out what the program does not tell. */
export function encodeRuntime(runtime: Runtime | undefined): string {
  const stats = runtime?.processStats?.();
  return [
    encode('petstore_http_connections', 'gauge', 'Open connections', runtime?.openConnections()),
    encode(
      'petstore_http_refused_connections_total',
      'counter',
      'Connections that were refused, since too many were open',
      runtime?.refusedConnections?.(),
    ),
    encode(
      'petstore_api_key_reload_failures_total',
      'counter',
      'How often the API keys could not be read again, and were left as they were',
      runtime?.failedKeyReloads?.(),
    ),
    encode(
      'process_start_time_seconds',
      'gauge',
      'Start time of the process, in seconds since 1970',
      stats?.startTime,
    ),
    encode(
      'process_resident_memory_bytes',
      'gauge',
      'Resident memory size in bytes',
      stats?.residentMemoryBytes,
    ),
    encode(
      'process_cpu_seconds_total',
      'counter',
      'User and system CPU time of the process in seconds',
      stats?.cpuSeconds,
    ),
    encode('process_open_fds', 'gauge', 'Open file descriptors', stats?.openFds),
  ].join('');
}

function encode(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  value: number | undefined,
): string {
  return value === undefined ? '' : metric(name, type, help, [{ value }]);
}
