/**
 * Reads: the service against the floors, and against other servers if they are installed.
 *
 * The floors send what the service sent before: the same bytes, and the same header fields except
 * those that node:http adds.
 */

import { isInstalled, other, petstore, reads } from './contenders.mjs';
import { freshData } from './data.mjs';
import { measurePairs } from './paired.mjs';
import { answerOf, serverContender, startServer } from './processes.mjs';
import { P50, pairsRow, PROCESSOR, RATE } from './table.mjs';

export const LIST = { what: 'list of 20', path: '/v1/pets' };
export const ONE = { what: 'one pet', path: '/v1/pets/501' };
const FILTERED = { what: 'list of 100, filtered', path: '/v1/pets?limit=100&status=available' };
const SCENARIOS = [
  { ...LIST, fastifyGoal: '≥ 2.0' },
  { ...ONE, fastifyGoal: '≥ 1.4' },
  { ...FILTERED, fastifyGoal: '≥ 2.6' },
];
const OTHERS = ['fastify', 'express', 'json-server'];
const OWN_TO_NODE = ['Date', 'Connection', 'Keep-Alive'];

export async function measureReads(bench) {
  const others = OTHERS.filter((name) => isInstalled(bench, name));
  const busy = { title: 'Reads, 64 connections', rows: [] };
  const alone = { title: 'Reads, 1 connection', rows: [] };
  for (const { what, path, fastifyGoal } of SCENARIOS) {
    const answer = await expectedAnswer(bench, path);
    const rowsWith = async (connections, kinds, goals, measures) => {
      const job = reads(path, connections, answer.body.length);
      // Other servers write the same JSON without line feeds.
      const otherJob = { ...job, bodyBytes: JSON.stringify(JSON.parse(answer.body)).length };
      const name = `reads: ${what}, ${connections} connections`;
      const rows = [];
      for (const kind of kinds) {
        const theirs = OTHERS.includes(kind)
          ? other(bench, kind, otherJob)
          : floor(bench, kind, answer, job);
        const pairs = await measurePairs(bench, name, petstore(bench, 'file', 1000, job), theirs);
        const row = { what, against: kind, goal: goals[kind], pairs };
        rows.push(...measures.map((measure) => pairsRow({ ...row, measure })));
      }
      return rows;
    };
    const goals = {
      naive: '≥ 1.00',
      fastify: fastifyGoal,
      express: '> 1.00',
      'json-server': '> 1.00',
    };
    const kinds = ['naive', 'fastest', ...others];
    busy.rows.push(...(await rowsWith(64, kinds, goals, [RATE, PROCESSOR])));
    alone.rows.push(...(await rowsWith(1, ['naive'], { naive: '≤ 1.05' }, [P50])));
  }
  const missing = OTHERS.filter((name) => !others.includes(name));
  if (missing.length > 0) busy.notes = [`Not installed, so not measured: ${missing.join(', ')}`];
  return [busy, alone];
}

/** Measures the cost of the metrics: the service against itself without them. */
export async function measureMetrics(bench) {
  const what = 'one pet, 64 connections';
  const ours = petstore(bench, 'file', 1000, reads(ONE.path, 64));
  const uncounted = petstore(bench, 'uncounted', 1000, reads(ONE.path, 64));
  const pairs = await measurePairs(bench, 'metrics', ours, uncounted);
  const rows = [RATE, PROCESSOR].map((measure) =>
    pairsRow({ what, against: 'without counting', goal: '≥ 0.97', pairs, measure }),
  );
  return [{ title: 'Metrics', rows }];
}

function floor(bench, kind, { fields, body }, job) {
  const options = { kind, fields, body: body.toString() };
  return serverContender(bench, kind, 'serve-floor.mjs', () => options, job);
}

async function expectedAnswer(bench, path) {
  const options = { kind: 'file', path: freshData(bench.folder, 'answer', 1000) };
  const server = await startServer(bench.node, 'serve-petstore.mjs', options);
  const { fields, body } = await answerOf(server.port, path);
  await server.stop();
  const own = fields.filter((_, i) => !OWN_TO_NODE.includes(fields[i - (i % 2)]));
  return { fields: own, body };
}
