/**
 * Durable creates, against what a disk allows without grouping, and what HTTP allows without a
 * disk.
 */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { measure, runScript, startServer } from './processes.mjs';
import { rotate } from './reads.mjs';
import { ratio, summary } from './table.mjs';

const GOALS = {
  1: { loop: '≥ 0.75' },
  16: { loop: '≥ 2.3' },
  64: { loop: '≥ 3.3', memory: '≥ 0.80' },
  256: { loop: '≥ 4.0', memory: '≥ 0.95' },
};
const KINDS = ['file', 'loop', 'memory', 'rewrite'];

export async function measureCreates(bench) {
  const rows = [];
  for (const connections of [1, 16, 64, 256]) {
    const rates = Object.fromEntries(KINDS.map((kind) => [kind, []]));
    for (let round = 0; round < bench.rounds; round += 1) {
      for (const kind of rotate(KINDS, round)) {
        bench.progress(`creates: ${connections} connections, round ${round + 1}, ${kind}`);
        rates[kind].push(await rateOf(bench, kind, connections));
      }
    }
    const ours = `${Math.round(summary(rates.file).median)}/s`;
    const what = `create, ${connections} connections`;
    const row = (against, kind) => ({
      what,
      against,
      goal: GOALS[connections][kind],
      ratio: ratio(rates.file, rates[kind]),
      ours: kind === 'loop' ? ours : '',
    });
    rows.push(row('append + fdatasync loop', 'loop'), row('the same, in memory only', 'memory'));
    rows.push(row('rewriting the file', 'rewrite'));
  }
  return [{ title: 'Durable creates a second', rows }];
}

async function rateOf(bench, kind, connections) {
  const path = join(bench.folder, `creates-${kind}.json`);
  for (const suffix of ['', '.journal']) rmSync(`${path}${suffix}`, { force: true });
  if (kind === 'loop') {
    const { rate } = await runScript(bench.node, 'append-loop.mjs', {
      path,
      seconds: bench.seconds,
    });
    return rate;
  }
  const server = await startServer(bench.node, 'serve-petstore.mjs', { kind, path });
  const { rate } = await measure({
    ...createLoad(server.port),
    connections,
    seconds: bench.seconds,
  });
  await server.stop();
  return rate;
}

export function createLoad(port) {
  const body = '{"name":"Pet 1234567","categoryId":42,"status":"available"}';
  const request =
    'POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bench\r\n' +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  return { port, request, status: 201, warmupSeconds: 0.5 };
}
