/** Growth: the same requests at a thousand pets and at a million. */

import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLoad } from './creates.mjs';
import { dataFile } from './data.mjs';
import { measure, startServer } from './processes.mjs';
import { measureReadsOf, rotate } from './reads.mjs';
import { ratio, summary } from './table.mjs';

const SIZES = [1_000, 1_000_000];
const SCENARIOS = [
  { what: 'list of 20', path: () => '/v1/pets' },
  { what: 'the last page', path: (pets) => `/v1/pets?after=${pets - 20}` },
  { what: 'rare status', path: () => '/v1/pets?status=sold&limit=1' },
  { what: 'one pet', path: (pets) => `/v1/pets/${pets - 500}` },
  { what: 'create, 64 connections', path: undefined },
];

export async function measureGrowth(bench) {
  const rates = SCENARIOS.map(() => SIZES.map(() => []));
  for (let round = 0; round < bench.rounds; round += 1) {
    const servers = [];
    for (const pets of SIZES) servers.push(await start(bench, pets));
    for (const [index, { what, path }] of SCENARIOS.entries()) {
      for (const size of rotate([0, 1], round)) {
        const { port } = servers[size];
        bench.progress(`growth: ${SIZES[size]} pets, round ${round + 1}, ${what}`);
        const result =
          path === undefined
            ? measure({ ...createLoad(port), connections: 64, seconds: bench.seconds })
            : measureReadsOf(bench, { port, path: path(SIZES[size]), connections: 64 });
        rates[index][size].push((await result).rate);
      }
    }
    for (const server of servers) await server.stop();
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
