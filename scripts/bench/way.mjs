/**
 * The way of a request: the service and the floors in one process, on sockets in memory.
 *
 * It leaves out the kernel, the network and other programs, so it shows what the rate over sockets
 * cannot: on a loaded machine the same code is within about 5 % of itself. Changes to http/ and
 * api/ are judged by it. `--against DIST` adds another build of the service, for example to bisect.
 */

import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runScript } from './processes.mjs';
import { figure, summary } from './table.mjs';

/** Goals by the major version of Node; other versions have none. */
const FASTEST_GOALS = { 20: '≥ 0.88', 24: '≥ 0.78' };
const SCENARIOS = [
  { what: 'list of 20', path: '/v1/pets', naiveGoal: '≥ 1.00' },
  { what: 'one pet', path: '/v1/pets/501', naiveGoal: '≥ 1.00' },
  { what: 'list of 100, filtered', path: '/v1/pets?limit=100&status=sold', naiveGoal: '≥ 1.05' },
];
const PETS = 1000;
const WARM_UPS = 150;
/** Slices for each of the bench's turns. */
const SLICES_A_TURN = 75;

export async function measureWay(bench) {
  const service = fileURLToPath(new URL('../../dist', import.meta.url));
  const dists = [service, bench.against].filter(Boolean).map((path) => resolve(path));
  const kinds = ['naive', 'fastest', ...(bench.against === undefined ? [] : ['other build'])];
  const slices = Math.ceil(bench.turns * SLICES_A_TURN);
  const byJob = new Map();
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`way: round ${round + 1}`);
    const dataFiles = dists.map((_, i) => freshPets(join(bench.folder, `way-${i}.json`)));
    const job = { dists, dataFiles, scenarios: SCENARIOS, kinds, warmUps: WARM_UPS, slices };
    for (const result of await runScript(bench.node, 'way-process.mjs', job)) {
      const key = `${result.what}, ${result.kind}`;
      byJob.set(key, [...(byJob.get(key) ?? []), result]);
    }
  }
  const rows = [...byJob.values()].map((results) => wayRow(results, bench.major));
  return [{ title: 'The way of a request, in process', rows }];
}

/** A row for the results of all rounds: the median of the rounds' medians. */
function wayRow(results, major) {
  const [{ what, kind }] = results;
  const { naiveGoal } = SCENARIOS.find((scenario) => scenario.what === what);
  const goals = {
    naive: [naiveGoal, major in FASTEST_GOALS ? naiveGoal : ''],
    fastest: ['≥ 0.88, on Node 24 ≥ 0.78', FASTEST_GOALS[major] ?? ''],
    'other build': ['', ''],
  };
  const [goal, goalHere] = goals[kind];
  const ratios = results.map(({ pairs }) => summary(pairs.map(([a, b]) => b / a)).median);
  const micros = (side) =>
    summary(results.map(({ pairs }) => summary(pairs.map((pair) => pair[side])).median)).median;
  const absolute = `${micros(0).toFixed(1)} : ${micros(1).toFixed(1)} µs`;
  return { what, against: kind, goal, figure: figure(ratios, 2, goalHere), absolute };
}

/**
 * Makes a file whose thousand pets have the three statuses by turns, so that a filter skips two of
 * three pets.
 */
function freshPets(path) {
  const statuses = ['available', 'pending', 'sold'];
  const lines = Array.from({ length: PETS }, (_, i) => {
    const pet = { id: i + 1, name: `Pet ${i + 1}`, categoryId: i % 100, status: statuses[i % 3] };
    return JSON.stringify(pet);
  });
  writeFileSync(path, `[\n${lines.join(',\n')}\n]\n`);
  return path;
}
