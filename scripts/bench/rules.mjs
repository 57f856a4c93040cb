/**
 * What each rule of the storage costs: the service beside itself without that rule.
 *
 * Each is there for a reason, and none of these kinds is fit for use; but a rule whose price nobody
 * knows is soon taken for dear, or for free.
 */

import { existsSync } from 'node:fs';
import { creates, petstore, reads } from './contenders.mjs';
import { measurePairs } from './paired.mjs';
import { pairsRow, PROCESSOR, RATE } from './table.mjs';

const READS = [
  { what: 'list of 20', path: '/v1/pets' },
  { what: 'list of 100', path: '/v1/pets?limit=100' },
  { what: 'list of 100, filtered', path: '/v1/pets?limit=100&status=available' },
];
const PAGE_CACHE = new URL('../../dist/stores/table/page-cache.js', import.meta.url);

export async function measureRules(bench) {
  const scenarios = [16, 64].map((connections) => ({
    what: `create, ${connections} connections`,
    pets: 0,
    job: creates(connections),
    kind: 'unlooked',
    against: 'without asking "still ours?"',
  }));
  if (existsSync(PAGE_CACHE)) {
    const cache = { pets: 1000, kind: 'uncached', against: 'without the page cache' };
    for (const { what, path } of READS) scenarios.push({ ...cache, what, job: reads(path, 64) });
  }
  const rows = [];
  for (const { what, pets, job, kind, against } of scenarios) {
    const ours = petstore(bench, 'file', pets, job);
    const theirs = petstore(bench, kind, pets, job);
    const pairs = await measurePairs(bench, `rules: ${what}`, ours, theirs);
    for (const measure of [RATE, PROCESSOR]) rows.push(pairsRow({ what, against, pairs, measure }));
  }
  return [{ title: 'What each rule of the storage costs', rows }];
}
