/**
 * Growth: the same requests with a million pets and with a thousand. What the service does for a
 * request must not depend on the number of pets; in processor time, the large table still pays for
 * the processor's caches.
 */

import { compare, create, get, service } from './paired.mjs';

/** @import { Bench, Job, Opponents } from './paired.mjs' */

const [SMALL, LARGE] = [1000, 1_000_000];
/** @type {Record<string, (pets: number) => Job>} */
const JOBS = {
  'list of 20': () => get('/v1/pets', 64),
  'deep page': (pets) => get(`/v1/pets?after=${pets / 2}`, 64),
  'rare status': () => get('/v1/pets?status=sold&limit=1', 64),
  'one pet': (pets) => get(`/v1/pets/${pets - 499}`, 64),
  create: () => create(64),
};

/** @param {Bench} bench */
export async function measure(bench) {
  const rows = [];
  for (const [what, job] of Object.entries(JOBS)) {
    const large = service(bench, LARGE, job(LARGE));
    /** @type {Opponents} */
    const small = { '1,000 pets': [service(bench, SMALL, job(SMALL)), '≥ 0.90'] };
    rows.push(await compare(bench, what, large, small));
  }
  return rows;
}
