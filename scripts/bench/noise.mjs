/**
 * The noise: the service against itself.
 *
 * Every ratio should be 1. What is not, this machine does at this time, or the bench does wrong: no
 * other figure of the same run is better than that.
 */

import { creates, petstore, reads } from './contenders.mjs';
import { measurePairs } from './paired.mjs';
import { pairsRow, PROCESSOR, RATE } from './table.mjs';

const SCENARIOS = [
  { what: 'one pet, 64 connections', pets: 1000, job: reads('/v1/pets/501', 64) },
  { what: 'create, 64 connections', pets: 0, job: creates(64) },
];

export async function measureNoise(bench) {
  const rows = [];
  for (const { what, pets, job } of SCENARIOS) {
    const ours = petstore(bench, 'file', pets, job);
    const twin = petstore(bench, 'file', pets, job, 'twin');
    const pairs = await measurePairs(bench, `noise: ${what}`, ours, twin);
    const row = { what, against: 'a twin', pairs };
    rows.push(...[RATE, PROCESSOR].map((measure) => pairsRow({ ...row, measure })));
  }
  return [{ title: 'The noise: the service against itself', rows }];
}
