/**
 * A slow disk: reads while creates run and every sync takes 2 ms longer, against reads alone.
 *
 * Both are read from one server, in turns. Were a sync waited for in the thread that answers, a
 * read would take milliseconds.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { creates, reads } from './contenders.mjs';
import { freshData } from './data.mjs';
import { measurePairs } from './paired.mjs';
import { measure, measureBurst, startServer } from './processes.mjs';
import { P50, pairsRow } from './table.mjs';

const SETTLE_SECONDS = 0.2;

export async function measureSlowDisk(bench) {
  let server;
  const read = reads('/v1/pets/1', 1);
  const idle = {
    name: 'idle',
    start: async () => ({ burst: () => measureBurst(bench, server, read), stop: () => undefined }),
  };
  const busy = {
    name: 'busy',
    async start() {
      const path = freshData(bench.folder, 'slow', 1000);
      server = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'slow', path });
      return { burst, stop: server.stop };
    },
  };
  const burst = async () => {
    const seconds = bench.seconds + 2 * SETTLE_SECONDS;
    const writing = measure({ ...creates(16), port: server.port, seconds });
    await sleep(1000 * SETTLE_SECONDS);
    const figures = await measureBurst(bench, server, read);
    await writing;
    return figures;
  };
  const pairs = await measurePairs(bench, 'slow disk', busy, idle);
  const row = { what: 'GET one pet', against: 'idle', goal: '≤ 1.20', pairs, measure: P50 };
  return [{ title: 'Reads while creates run on a disk with syncs of 2 ms', rows: [pairsRow(row)] }];
}
