/** A slow disk: reads while creates run and every sync takes 2 ms longer, against reads alone. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLoad } from './creates.mjs';
import { measure, startServer } from './processes.mjs';
import { requestFor } from './reads.mjs';
import { ratio, summary } from './table.mjs';

export async function measureSlowDisk(bench) {
  const path = join(bench.folder, 'slow.json');
  const idle = [];
  const busy = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`slow disk: round ${round + 1}`);
    for (const suffix of ['', '.journal']) rmSync(`${path}${suffix}`, { force: true });
    const server = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'slow', path });
    const read = { port: server.port, request: requestFor('/v1/pets/1'), connections: 1 };
    await measure({ ...createLoad(server.port), warmupSeconds: 0, connections: 16, seconds: 1 });
    idle.push((await measure({ ...read, seconds: bench.seconds, warmupSeconds: 0.5 })).p50);
    const creates = measure({
      ...createLoad(server.port),
      connections: 16,
      seconds: bench.seconds + 1.5,
    });
    busy.push((await measure({ ...read, seconds: bench.seconds, warmupSeconds: 1 })).p50);
    await creates;
    await server.stop();
  }
  const ours = `${summary(busy).median} µs, idle ${summary(idle).median} µs`;
  const row = {
    what: 'GET one pet, p50',
    against: 'idle',
    goal: '≤ 1.5',
    ratio: ratio(busy, idle),
    ours,
  };
  return [{ title: 'Reads while creates run on a disk with syncs of 2 ms', rows: [row] }];
}
