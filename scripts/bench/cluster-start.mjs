/**
 * The start of a service from a long log in etcd: is its cost linear in the number of commits, and
 * do other services notice it?
 *
 *     node scripts/bench/cluster-start.mjs [commits…]        by default 200000 600000
 *
 * It fills a log with commits of one pet each, and starts a service on it, while another service
 * creates and reads pets in another log. It prints the processor time that the member took for the
 * start, which does not depend on what else the machine does, and the slowest hundredth of the
 * other service's calls. It needs an etcd (TEST_ETCD, or on the PATH).
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildTests, root } from '../build.mjs';
import { processorUsOf, startServer } from './processes.mjs';

buildTests();
/** @param {string} file */
const load = (file) => import(join(root, '.build', 'test', 'support', 'etcd', file));
const { base64, startCluster } = await load('cluster.js');
const { commitsOfOne } = await load('opened-store.js');
/** @type {(() => unknown)[]} */
const hooks = [];
const { endpoints, members, call } = await startCluster(
  { after: (/** @type {() => unknown} */ hook) => hooks.push(hook) },
  { size: 1, args: ['--quota-backend-bytes', String(8 * 2 ** 30)] },
);
const dist = join(root, '.build', 'src');
/** @param {string} prefix */
const serve = (prefix) =>
  startServer({ folder: '' }, 'service', { dist, etcd: { endpoints, prefix } });

/**
 * Creates and reads at the other service until `work` ends. Resolves with what both took.
 * @param {Promise<unknown>} work
 */
async function beside(work) {
  const headers = { Authorization: 'Bearer bench', 'Content-Type': 'application/json' };
  const create = { method: 'POST', headers, body: '{"name":"Rex","categoryId":7}' };
  /** @type {number[]} */
  const times = [];
  const used = processorUsOf(members[0].pid());
  let isOver = false;
  void work.finally(() => (isOver = true));
  while (!isOver) {
    const startedAt = performance.now();
    const init = times.length % 2 === 0 ? create : { headers };
    await (await fetch(`http://127.0.0.1:${other.port}/v1/pets`, init)).text();
    times.push(performance.now() - startedAt);
    await sleep(2);
  }
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]?.toFixed(1);
  return { p99, calls: times.length, used: processorUsOf(members[0].pid()) - used };
}

const other = await serve('other/');
await (await serve('long/')).stop();
const { kvs } = JSON.parse(await call('/v3/kv/range', { key: base64('long/meta') }));
const commits = commitsOfOne('long/', Buffer.from(kvs[0].value, 'base64'));
let count = 0;
for (const to of process.argv.length > 2 ? process.argv.slice(2).map(Number) : [2e5, 6e5]) {
  for (; count < to; count += 100) {
    const success = Array.from({ length: 100 }, () => {
      const [key, value] = commits.next().value.map(base64);
      return { request_put: { key, value } };
    });
    await call('/v3/kv/txn', { compare: [], success });
  }
  const idle = await beside(sleep(10_000));
  const starting = serve('long/');
  const busy = await beside(starting);
  const seconds = (busy.used - (idle.used / idle.calls) * busy.calls) / 1e6;
  console.log(
    `${to} commits: etcd ${seconds.toFixed(2)} s of processor time; others' p99 ${busy.p99} ms, ` +
      `without the start ${idle.p99} ms`,
  );
  await (await starting).stop();
}
await other.stop();
for (const hook of hooks.reverse()) await hook();
