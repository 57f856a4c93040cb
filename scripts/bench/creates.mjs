/**
 * Durable creates: against what a disk allows one after the other, alone and behind HTTP, and what
 * HTTP allows without a disk. And all of it against what a user would pick instead: Fastify with
 * node:sqlite, which is as durable.
 */

import { creates, isInstalled, other, petstore, reads } from './contenders.mjs';
import { freshData } from './data.mjs';
import { measurePairs } from './paired.mjs';
import { scriptContender, serverContender } from './processes.mjs';
import { LIST, ONE } from './reads.mjs';
import { pairsRow, PROCESSOR, RATE } from './table.mjs';

const GOALS = [
  { connections: 1, goals: { loop: '', append: '≥ 0.85' } },
  { connections: 16, goals: { loop: '≥ 3.5' } },
  { connections: 64, goals: { loop: '≥ 5.5', memory: '≥ 0.85' } },
  { connections: 256, goals: { loop: '≥ 6.5', memory: '≥ 0.95' } },
];
const NAMES = {
  loop: 'append + fdatasync loop',
  append: 'the same loop behind a bare POST',
  memory: 'the same, in memory only',
};

export async function measureCreates(bench) {
  const rows = [];
  for (const { connections, goals } of GOALS) {
    const what = `create, ${connections} connection${connections === 1 ? '' : 's'}`;
    const job = creates(connections);
    const opponents = {
      loop: () =>
        scriptContender(bench, 'loop', 'append-loop.mjs', { path: ownFile(bench, 'loop') }),
      append: () => {
        const prepare = () => ({ kind: 'append', path: ownFile(bench, 'append') });
        return serverContender(bench, 'append', 'serve-floor.mjs', prepare, job);
      },
      memory: () => petstore(bench, 'memory', 0, job),
    };
    for (const [kind, goal] of Object.entries(goals)) {
      const ours = petstore(bench, 'file', 0, job);
      const pairs = await measurePairs(bench, what, ours, opponents[kind]());
      rows.push(pairsRow({ what, against: NAMES[kind], goal, pairs, measure: RATE }));
    }
  }
  return [{ title: 'Durable creates', rows }];
}

/** The processor time of a durable create, against that of reading one pet. */
export async function measureCost(bench) {
  const what = 'create, 64 connections';
  const ours = petstore(bench, 'file', 1000, creates(64));
  const read = petstore(bench, 'file', 1000, reads(ONE.path, 64), 'read');
  const pairs = await measurePairs(bench, what, ours, read);
  const measure = { ...PROCESSOR, isTurned: false };
  const row = pairsRow({ what, against: 'GET one pet', goal: '≤ 1.50', pairs, measure });
  return [{ title: 'What a create costs', rows: [row] }];
}

export async function measureSqlite(bench) {
  const title = 'Against Fastify with node:sqlite (WAL, synchronous FULL)';
  if (!isInstalled(bench, 'fastify')) {
    return [{ title, rows: [], notes: ['Skipped: Fastify is in no --contenders folder'] }];
  }
  if (bench.major < 22) {
    return [
      { title, rows: [], notes: [`Skipped with Node ${bench.major}: it has no node:sqlite`] },
    ];
  }
  const scenarios = [
    { what: 'create, 1 connection', job: creates(1) },
    { what: 'create, 64 connections', job: creates(64) },
    { what: `${LIST.what}, 64 connections`, job: reads(LIST.path, 64) },
    { what: `${ONE.what}, 64 connections`, job: reads(ONE.path, 64) },
  ];
  const rows = [];
  for (const { what, job } of scenarios) {
    const ours = petstore(bench, 'file', 1000, job);
    const theirs = other(bench, 'sqlite', job);
    const pairs = await measurePairs(bench, what, ours, theirs);
    const against = 'Fastify + node:sqlite';
    rows.push(pairsRow({ what, against, goal: '> 1.00', pairs, measure: RATE }));
    rows.push(pairsRow({ what, against, pairs, measure: PROCESSOR }));
  }
  return [{ title, rows }];
}

function ownFile(bench, name) {
  return freshData(bench.folder, name, 0);
}
