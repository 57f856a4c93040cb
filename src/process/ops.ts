/** The settings for `extras/ops`, and what its metrics report of the process. */

import type { Server } from 'node:http';
import { connectionsOf } from '../core/http/http-server.ts';
import type { OpsOptions } from '../extras/ops/ops.ts';
import { readProcessStats, type Runtime } from '../extras/ops/runtime.ts';
import { onOrOff, urls, type GivenSettings, type Setting } from './setting.ts';

export const ACCESS_LOG: Setting<boolean> = {
  option: 'accessLog',
  variable: 'PETSTORE_ACCESS_LOG',
  flag: 'access-log',
  parser: onOrOff,
  default: false,
  help: 'log each response',
};

export const CORS_ORIGINS: Setting<readonly string[]> = {
  option: 'corsOrigins',
  variable: 'PETSTORE_CORS_ORIGIN',
  flag: 'cors-origin',
  parser: urls,
  default: [],
  help: 'origins of web pages to admit, or *',
};

export function readOpsOptions(given: GivenSettings): OpsOptions {
  return { accessLog: given.read(ACCESS_LOG), corsOrigins: given.read(CORS_ORIGINS) };
}

/** Returns what the metrics report of the process. The server is made after the app. */
export function createRuntime(
  running: NodeJS.Process,
  counts: Pick<Runtime, 'failedKeyReloads' | 'droppedLogLines'>,
): Runtime & { watch(server: Server): void } {
  let openConnections = (): number => 0;
  let refusedConnections = 0;
  return {
    ...counts,
    nodeVersion: running.version,
    openConnections: () => openConnections(),
    refusedConnections: () => refusedConnections,
    processStats: () => readProcessStats(running),
    watch(server) {
      openConnections = () => connectionsOf(server).size;
      server.on('drop', () => (refusedConnections += 1));
    },
  };
}
