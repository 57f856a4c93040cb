/** Reads: the service against the floors, and other servers where they are installed. */

import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { dataFile } from './data.mjs';
import { measure, measureWithWrk, startServer } from './processes.mjs';
import { ratio, summary } from './table.mjs';

const SCENARIOS = [
  { what: 'list of 20', path: '/v1/pets', goals: ['≥ 1.00', '≥ 0.93', '≥ 2.0'] },
  { what: 'one pet', path: '/v1/pets/500', goals: ['≥ 1.00', '≥ 0.97', '≥ 1.8'] },
  {
    what: 'list of 100, filtered',
    path: '/v1/pets?limit=100&status=available',
    goals: ['≥ 1.00', '≥ 0.90', '≥ 3.0'],
  },
];
const OTHERS = ['fastify', 'express'];

export async function measureReads(bench) {
  const others = OTHERS.filter(
    (name) => bench.contenders && existsSync(join(bench.contenders, 'node_modules', name)),
  );
  const tables = [];
  for (const connections of [64, 1]) {
    const rows = [];
    for (const scenario of SCENARIOS) {
      rows.push(...(await measureScenario(bench, scenario, connections, others)));
    }
    tables.push({ title: `Reads, ${connections} connections: answers a second`, rows });
  }
  return tables;
}

async function measureScenario(bench, scenario, connections, others) {
  const expected = await expectedAnswer(bench, scenario.path);
  const kinds = ['petstore', 'naive', 'fastest', ...others];
  const results = Object.fromEntries(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < bench.rounds; round += 1) {
    for (const kind of rotate(kinds, round)) {
      bench.progress(
        `reads: ${scenario.what}, ${connections} connections, round ${round + 1}, ${kind}`,
      );
      const server = await start(bench, kind, expected);
      const load = {
        port: server.port,
        connections,
        seconds: bench.seconds,
        bodyBytes: bodyBytesOf(kind, expected.body),
      };
      const result = bench.wrk
        ? await measureWithWrk({ ...load, path: scenario.path })
        : await measure({ ...load, request: requestFor(scenario.path), warmupSeconds: 1 });
      results[kind].push(result);
      await server.stop();
    }
  }
  return rowsOf(scenario, connections, results, kinds.slice(1));
}

function rowsOf({ what, goals }, connections, results, against) {
  const rates = (kind) => results[kind].map(({ rate }) => rate);
  const p50s = (kind) => results[kind].map(({ p50 }) => p50);
  const ours = `${Math.round(summary(rates('petstore')).median)}/s, p99 ${
    summary(results.petstore.map(({ p99 }) => p99)).median
  } µs`;
  const rows = against.map((kind, index) => ({
    what,
    against: kind,
    goal: connections === 64 ? goals[Math.min(index, 2)] : '',
    ratio: ratio(rates('petstore'), rates(kind)),
    ours: index === 0 ? ours : '',
  }));
  if (connections === 1) {
    const p50 = ratio(p50s('petstore'), p50s('fastest'));
    rows.push({ what: `${what}, p50`, against: 'fastest', goal: '≤ 1.05', ratio: p50 });
  }
  return rows;
}

function start(bench, kind, expected) {
  if (kind === 'petstore') {
    return startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path: freshData(bench) });
  }
  if (kind === 'naive' || kind === 'fastest') {
    return startServer(bench.node, 'serve-floor.mjs', { kind, ...expected });
  }
  const options = { kind, folder: bench.contenders, path: dataFile(bench.folder, 1000) };
  return startServer(bench.node, 'serve-other.mjs', options);
}

/**
 * The answer that all contenders give: its body, and the header fields that node:http does not add.
 */
async function expectedAnswer(bench, path) {
  const server = await start(bench, 'petstore');
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { Authorization: 'Bearer bench' },
  });
  const own = ['content-type', 'content-length', 'link', 'deprecation', 'sunset'];
  const headers = [...answer.headers].filter(([name]) => own.includes(name)).flat();
  const body = await answer.text();
  await server.stop();
  return { headers, body };
}

/** Other servers write the same JSON without line feeds. */
function bodyBytesOf(kind, body) {
  return Buffer.byteLength(OTHERS.includes(kind) ? JSON.stringify(JSON.parse(body)) : body);
}

export function requestFor(path) {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bench\r\n\r\n`;
}

/** A data file of 1,000 pets that nobody has written to. */
export function freshData(bench) {
  const path = join(bench.folder, 'read.json');
  copyFileSync(dataFile(bench.folder, 1000), path);
  return path;
}

/** Each round begins with another contender. */
export function rotate(list, round) {
  const start = round % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
