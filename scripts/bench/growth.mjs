/** Growth: the same requests at a thousand pets and at a million. */

import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLoad } from './creates.mjs';
import { dataFile } from './data.mjs';
import { measure, startServer } from './processes.mjs';
import { requestFor } from './reads.mjs';
import { ratio, summary } from './table.mjs';

const SIZES = [1_000, 1_000_000];
const SCENARIOS = [
  { what: 'list of 20', path: () => '/v1/pets' },
  { what: 'deep page', path: (pets) => `/v1/pets?after=${pets - 500}` },
  { what: 'rare status', path: () => '/v1/pets?status=sold&limit=1' },
  { what: 'one pet', path: (pets) => `/v1/pets/${pets - 500}` },
  { what: 'create, 64 connections', path: undefined },
];

export async function measureGrowth(bench) {
  const rates = SCENARIOS.map(() => SIZES.map(() => []));
  for (let round = 0; round < bench.rounds; round += 1) {
    for (const [size, pets] of round % 2 === 0
      ? [...SIZES.entries()]
      : [...SIZES.entries()].reverse()) {
      const server = await start(bench, pets);
      for (const [index, { what, path }] of SCENARIOS.entries()) {
        bench.progress(`growth: ${pets} pets, round ${round + 1}, ${what}`);
        const load =
          path === undefined
            ? createLoad(server.port)
            : { port: server.port, request: requestFor(path(pets)), warmupSeconds: 0.5 };
        const { rate } = await measure({ ...load, connections: 64, seconds: bench.seconds });
        rates[index][size].push(rate);
      }
      await server.stop();
    }
  }
  const rows = SCENARIOS.map(({ what }, index) => {
    const [small, large] = rates[index];
    const ours = `${Math.round(summary(large).median)}/s`;
    return { what, against: 'at 1k pets', goal: '≥ 0.95', ratio: ratio(large, small), ours };
  });
  return [{ title: 'Growth: the rate at 1M pets', rows }];
}

function start(bench, pets) {
  const path = join(bench.folder, `growth-${pets}.json`);
  rmSync(`${path}.journal`, { force: true });
  copyFileSync(dataFile(bench.folder, pets), path);
  return startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path });
}
