/** What the process uses of its machine: memory, CPU time and file descriptors. */

import { readdirSync } from 'node:fs';

export interface ProcessStats {
  /** In seconds since 1970. */
  readonly startTime: number;
  readonly residentMemoryBytes: number;
  /** User and system time. */
  readonly cpuSeconds: number;
  /** Undefined if the system does not list them. */
  readonly openFds: number | undefined;
}

export function readProcessStats(running: NodeJS.Process): ProcessStats {
  const { user, system } = running.cpuUsage();
  return {
    startTime: performance.timeOrigin / 1000,
    residentMemoryBytes: running.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
    openFds: countOpenFds(),
  };
}

/** Linux lists the descriptors of a process, including the one that reads the list. */
function countOpenFds(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined;
  }
}
