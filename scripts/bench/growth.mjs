/**
 * Growth: the same requests with a million pets and with a thousand.
 *
 * What the service does for a request should not depend on the number of pets. The measure is
 * processor time, in which the large table still pays for the processor's caches.
 */

import { creates, petstore, reads } from './contenders.mjs';
import { measurePairs } from './paired.mjs';
import { pairsRow, PROCESSOR, RATE } from './table.mjs';

const SMALL = 1000;
const LARGE = 1_000_000;
const SCENARIOS = [
  { what: 'list of 20', job: () => reads('/v1/pets', 64) },
  { what: 'deep page', job: (pets) => reads(`/v1/pets?after=${pets / 2}`, 64) },
  { what: 'rare status', job: () => reads('/v1/pets?status=sold&limit=1', 64) },
  { what: 'one pet', job: (pets) => reads(`/v1/pets/${pets - 499}`, 64) },
  { what: 'create', job: () => creates(64) },
];

export async function measureGrowth(bench) {
  const rows = [];
  for (const { what, job } of SCENARIOS) {
    const large = petstore(bench, 'file', LARGE, job(LARGE));
    const small = petstore(bench, 'file', SMALL, job(SMALL));
    const pairs = await measurePairs(bench, `growth: ${what}`, large, small);
    const against = 'with 1k pets';
    rows.push(pairsRow({ what, against, goal: '≥ 0.97', pairs, measure: PROCESSOR }));
    rows.push(pairsRow({ what, against, pairs, measure: RATE }));
  }
  return [{ title: 'Growth: 1M pets, 64 connections', rows }];
}
