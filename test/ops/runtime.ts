import { readProcessStats, type Runtime } from '../../src/extras/ops/runtime.ts';

/** A program around an app, for its metrics. */
export const RUNTIME: Runtime = {
  nodeVersion: 'v20.0.0',
  openConnections: () => 7,
  refusedConnections: () => 8,
  failedKeyReloads: () => 9,
  droppedLogLines: () => 10,
  processStats: () => readProcessStats(process),
};
