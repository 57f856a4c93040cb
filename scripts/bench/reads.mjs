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
const OTHERS = ['fastify', 'express', 'json-server'];

/** What the metrics cost: the service beside itself without them. */
export async function measureMetrics(bench) {
  const kinds = ['file', 'uncounted'];
  const rates = { file: [], uncounted: [] };
  for (let round = 0; round < bench.rounds; round += 1) {
    const servers = new Map();
    for (const kind of kinds) {
      const path = freshData(bench, kind);
      servers.set(kind, await startServer(bench.node, 'serve-petstore.mjs', { kind, path }));
    }
    // Short turns, so that what else the machine does falls on both.
    for (let turn = 0; turn < 4; turn += 1) {
      for (const kind of rotate(kinds, round + turn)) {
        bench.progress(`metrics: round ${round + 1}, turn ${turn + 1}, ${kind}`);
        const load = { port: servers.get(kind).port, path: '/v1/pets/500', connections: 64 };
        rates[kind].push((await measureReadsOf(bench, load)).rate);
      }
    }
    for (const server of servers.values()) await server.stop();
  }
  const rows = [
    {
      what: 'one pet, 64 connections',
      against: 'without counting',
      goal: '≥ 0.97',
      ratio: ratio(rates.file, rates.uncounted),
      ours: `${Math.round(summary(rates.file).median)}/s`,
    },
  ];
  return [{ title: 'Metrics: answers a second', rows }];
}

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
    const servers = new Map();
    for (const kind of kinds) servers.set(kind, await start(bench, kind, expected));
    for (const kind of rotate(kinds, round)) {
      bench.progress(
        `reads: ${scenario.what}, ${connections} connections, round ${round + 1}, ${kind}`,
      );
      const bodyBytes = bodyBytesOf(kind, expected.body);
      const load = { port: servers.get(kind).port, path: scenario.path, connections, bodyBytes };
      results[kind].push(await measureReadsOf(bench, load));
    }
    for (const server of servers.values()) await server.stop();
  }
  return rowsOf(scenario, connections, results, kinds.slice(1));
}

export function measureReadsOf(bench, { path, ...load }) {
  const { seconds } = bench;
  return bench.wrk
    ? measureWithWrk({ ...load, seconds, path })
    : measure({ ...load, seconds, request: requestFor(path), warmupSeconds: 1 });
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
export function freshData(bench, name = 'read') {
  const path = join(bench.folder, `${name}.json`);
  copyFileSync(dataFile(bench.folder, 1000), path);
  return path;
}

/** Each round begins with another contender. */
export function rotate(list, round) {
  const start = round % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
