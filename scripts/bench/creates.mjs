/**
 * Durable creates: against what a disk allows one after the other, alone and behind HTTP, and what
 * HTTP allows without a disk.
 */

import { creates, petstore } from './contenders.mjs';
import { freshData } from './data.mjs';
import { measurePairs } from './paired.mjs';
import { scriptContender, serverContender } from './processes.mjs';
import { pairsRow, RATE } from './table.mjs';

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
    const kinds = Object.keys(goals);
    const ours = petstore(bench, 'file', 0, job);
    const theirs = kinds.map((kind) => opponents[kind]());
    const pairs = await measurePairs(bench, what, ours, theirs);
    for (const kind of kinds) {
      const row = { what, against: NAMES[kind], goal: goals[kind], pairs: pairs.get(kind) };
      rows.push(pairsRow({ ...row, measure: RATE }));
    }
  }
  return [{ title: 'Durable creates', rows }];
}

function ownFile(bench, name) {
  return freshData(bench.folder, name, 0);
}
