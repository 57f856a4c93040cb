/**
 * The cluster: the service over HTTP on three etcd members, against bare calls of etcd: one
 * transaction, or one linearizable range, after the other over one kept-alive connection.
 */

import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildTests, root } from '../build.mjs';
import { compare, contender, create, get, loop } from './paired.mjs';

/**
 * @import { Bench, Job, Opponents } from './paired.mjs'
 * @import { Row } from './table.mjs'
 */

/** @type {[what: string, job: Job, floor: 'transact' | 'read'][]} */
const SCENARIOS = [
  ['create, 1 caller', create(1), 'transact'],
  ['create, 64 callers', create(64), 'transact'],
  ['create, 256 callers', create(256), 'transact'],
  ['list, 1 caller', get('/v1/pets', 1), 'read'],
  ['list, 64 callers', get('/v1/pets', 64), 'read'],
];

/**
 * @param {Bench} bench
 * @returns {Promise<Row[]>}
 */
export async function measure(bench) {
  buildTests();
  const support = join(root, '.build', 'test', 'support', 'etcd', 'cluster.js');
  const { startCluster, withoutEtcd } = await import(support);
  if (withoutEtcd) {
    bench.progress(withoutEtcd);
    return [];
  }
  /** @type {(() => unknown)[]} */
  const hooks = [];
  const context = { after: (/** @type {() => unknown} */ hook) => hooks.push(hook) };
  const { endpoints } = await startCluster(context);
  try {
    return await measureOn(bench, endpoints);
  } finally {
    for (const hook of hooks.reverse()) await hook();
  }
}

/**
 * @param {Bench} bench
 * @param {string[]} endpoints
 */
async function measureOn(bench, endpoints) {
  const floors = floorsOf(endpoints[0] ?? '');
  let logs = 0;
  /** @type {(dist: string, job: Job) => import('./paired.mjs').Contender} */
  const service = (dist, job) => () => {
    const etcd = { endpoints, prefix: `bench-${(logs += 1)}/` };
    return contender(bench, 'service', { dist, etcd }, job)();
  };
  const rows = [];
  for (const [what, job, floor] of SCENARIOS) {
    /** @type {Opponents} */
    const opponents = { 'bare calls': [loop(bench, floors[floor])] };
    if (bench.against) opponents['other build'] = [service(bench.against, job), '≥ 0.95'];
    const ours = service(bench.dist, job);
    rows.push(await compare(bench, what, ours, opponents, ['rate']));
  }
  return rows;
}

/**
 * Bare calls of etcd: a create of a key with as long a value, and a linearizable read.
 * @param {string} endpoint
 */
function floorsOf(endpoint) {
  const agent = new Agent({ keepAlive: true });
  /**
   * @param {string} path
   * @param {unknown} body
   */
  const post = async (path, body) => {
    const sent = request(`${endpoint}${path}`, { method: 'POST', agent }).end(JSON.stringify(body));
    const [response] = await once(sent, 'response');
    await text(response);
  };
  /** @param {string} plain */
  const base64 = (plain) => Buffer.from(plain).toString('base64');
  const value = base64('x'.repeat(200));
  let number = 0;
  const transact = () => {
    const key = base64(`floor/${(number += 1)}`);
    const isNew = { target: 'CREATE', result: 'EQUAL', key, create_revision: '0' };
    return post('/v3/kv/txn', { compare: [isNew], success: [{ request_put: { key, value } }] });
  };
  const read = () => post('/v3/kv/range', { key: base64('floor/1') });
  return { transact, read };
}
