/** What the program around an app reports about itself, for the metrics. */

import { readdirSync } from 'node:fs';

export interface Runtime {
  readonly nodeVersion: string;
  /** The number of open connections. */
  openConnections(): number;
  /** How many connections the server refused, since it had too many. */
  refusedConnections?(): number;
  /** How often a reload of the API keys failed, so that the keys in force stayed. */
  failedKeyReloads?(): number;
  /** How many lines of the log were dropped, since its reader had stopped. */
  droppedLogLines?(): number;
  /** What the process uses of its machine. */
  processStats?(): ProcessStats;
}

/** Memory, CPU time and file descriptors. */
export interface ProcessStats {
  /** In seconds since 1970. */
  readonly startTime: number;
  /** Undefined if the system does not tell. */
  readonly residentMemoryBytes: number | undefined;
  /** User and system time. */
  readonly cpuSeconds: number;
  /** Undefined if the system does not list them. */
  readonly openFds: number | undefined;
}

export function readProcessStats(running: NodeJS.Process): ProcessStats {
  const { user, system } = running.cpuUsage();
  return {
    startTime: performance.timeOrigin / 1000,
    // Both open a file, which fails if no descriptor is left.
    residentMemoryBytes: tryTo(() => running.memoryUsage.rss()),
    openFds: tryTo(countOpenFds),
    cpuSeconds: (user + system) / 1e6,
  };
}

/** Linux lists the descriptors of a process, including the one that reads the list. */
function countOpenFds(): number {
  return readdirSync('/proc/self/fd').length - 1;
}

/** Returns undefined if the call throws. */
export function tryTo<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}
