/**
 * Durable creates over HTTP, with and without idempotency keys: against what a disk allows one
 * after the other, against memory, and against another build.
 */

import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { petOf } from './data.mjs';
import { compare, contender, create, loop, service } from './paired.mjs';

/** @import { Bench, Job, Opponents } from './paired.mjs' */

const CALLERS = [16, 64, 256];

/** @param {Bench} bench */
export async function measure(bench) {
  const file = openSync(join(bench.folder, 'loop'), 'a');
  // No service that syncs each create by itself is faster.
  const append = loop(bench, () => {
    writeSync(file, `${JSON.stringify(petOf(1_234_567))}\n`);
    fdatasyncSync(file);
  });
  const rows = [];
  for (const connections of CALLERS) {
    const plain = create(connections);
    const keyed = create(connections, true);
    const memory = contender(bench, 'service', { dist: bench.dist, memory: true }, plain);
    /** @type {Opponents} */
    const ofPlain = { 'append loop': [append], memory: [memory] };
    /** @type {Opponents} */
    const ofKeyed = { 'without a key': [service(bench, 0, plain), '≥ 0.95'] };
    /** @type {[what: string, job: Job, opponents: Opponents][]} */
    const comparisons = [
      ['create', plain, ofPlain],
      ['create with a key', keyed, ofKeyed],
    ];
    for (const [what, job, opponents] of comparisons) {
      if (bench.against !== undefined) {
        opponents['other build'] = [service(bench, 0, job, bench.against), '≥ 0.95'];
      }
      const name = `${what}, ${connections} callers`;
      const ours = service(bench, 0, job);
      rows.push(await compare(bench, name, ours, opponents));
    }
  }
  return rows;
}
