/**
 * The start of a service from a long log in etcd: is its cost linear in the number of commits, and
 * do other services notice it?
 *
 *     node scripts/bench/cluster-start.mjs [--commits 200000,600000] [--dist dist]
 *
 * It fills a log with commits of one pet each, and opens a store on it, while another store creates
 * and reads pets in another log. It prints the processor time that the member took for the start,
 * which does not depend on what else the machine does, and the slowest hundredth of the other
 * store's calls. It needs an etcd (TEST_ETCD, or on the PATH).
 */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

const ENDPOINT = 'http://127.0.0.1:32379';
const PUTS = 100;
const PET = { name: 'Rex', categoryId: 7n };

const base64 = (data) => Buffer.from(data).toString('base64');

async function call(path, body) {
  const response = await fetch(ENDPOINT + path, { method: 'POST', body: JSON.stringify(body) });
  if (response.status !== 200) throw new Error(await response.text());
  return response.json();
}

function startMember(folder) {
  const peer = 'http://127.0.0.1:32380';
  const args = ['--data-dir', folder, '--log-level', 'error', '--initial-cluster', `m=${peer}`];
  args.push('--name', 'm', '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer);
  args.push('--listen-client-urls', ENDPOINT, '--advertise-client-urls', ENDPOINT);
  args.push('--quota-backend-bytes', String(8 << 30), '--unsafe-no-fsync');
  const isKnown = spawnSync(etcd, ['--help']).output.join('').includes('unsafe-no-fsync');
  return spawn(etcd, isKnown ? args : args.slice(0, -1), { stdio: 'ignore' });
}

/** The processor time of a process in seconds (Linux). */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Puts commits of one pet each from the last id on, as the store encodes them. */
async function fill({ prefix, digest, from, to }, { slots, commits }) {
  const layout = slots.layoutOf(prefix);
  let previous = digest;
  for (let after = from; after < to;) {
    const success = [];
    for (; success.length < PUTS && after < to; after += 1) {
      const id = BigInt(after);
      const pet = { members: '"name":"Rex","categoryId":7', status: undefined };
      const text = commits.encodeCommit(commits.createCommit(id, [pet], 0));
      const value = slots.encodeValue(previous, text);
      previous = slots.digestOf(value);
      const key = base64(slots.slotKey(layout, id));
      success.push({ request_put: { key, value: base64(value) } });
    }
    await call('/v3/kv/txn', { compare: [], success });
  }
  return previous;
}

const p99 = (values) => values.sort((a, b) => a - b)[Math.floor(values.length * 0.99)];

/** Another service: one create and one read after the other. Sends their times in milliseconds. */
async function bystand() {
  const { openApp } = await import(workerData);
  const app = await openApp({ etcd: { endpoints: [ENDPOINT], prefix: 'other/' }, apiKeys: ['b'] });
  let times = [];
  parentPort.on('message', () => {
    parentPort.postMessage(times);
    times = [];
  });
  parentPort.postMessage('ready');
  for (;;) {
    for (const act of [() => app.pets.create(PET), () => app.pets.list()]) {
      const startedAt = performance.now();
      await act();
      times.push(performance.now() - startedAt);
    }
    await sleep(5);
  }
}

const etcd = process.env.TEST_ETCD ?? 'etcd';
if (!isMainThread) {
  await bystand();
} else {
  const { values } = parseArgs({
    options: {
      commits: { type: 'string', default: '200000,600000' },
      dist: { type: 'string', default: 'dist' },
    },
  });
  const load = (name) => import(pathToFileURL(resolve(values.dist, name)).href);
  const { initEtcd, openApp } = await load('index.js');
  const slots = await load('stores/etcd/slots.js');
  const commits = await load('stores/commit.js');
  const folder = mkdtempSync(join(tmpdir(), 'cluster-start-'));
  const member = startMember(folder);
  try {
    while ((await call('/v3/kv/range', { key: 'YQ==' }).catch(() => 0)) === 0) await sleep(50);
    const etcdOf = (prefix) => ({ endpoints: [ENDPOINT], prefix });
    for (const prefix of ['long/', 'other/']) await initEtcd(etcdOf(prefix));
    const meta = await call('/v3/kv/range', { key: base64('long/meta') });
    const { log } = JSON.parse(Buffer.from(meta.kvs[0].value, 'base64').toString());
    const other = new Worker(fileURLToPath(import.meta.url), {
      workerData: pathToFileURL(resolve(values.dist, 'index.js')).href,
    });
    const next = () => new Promise((done) => other.once('message', done));
    const ask = () => (other.postMessage('times'), next());
    await next();
    let [digest, from] = [slots.digestOf(log), 0];
    for (const to of values.commits.split(',').map(Number)) {
      digest = await fill({ prefix: 'long/', digest, from, to }, { slots, commits });
      from = to;
      await sleep(2_000);
      await ask();
      let cpu = cpuOf(member.pid);
      await sleep(10_000);
      const without = await ask();
      const perCall = (cpuOf(member.pid) - cpu) / without.length;
      const startedAt = performance.now();
      cpu = cpuOf(member.pid);
      const app = await openApp({ etcd: etcdOf('long/'), apiKeys: ['s'] });
      const seconds = (performance.now() - startedAt) / 1000;
      const during = await ask();
      const taken = cpuOf(member.pid) - cpu - perCall * during.length;
      const { total } = await app.pets.count();
      await app.close();
      const { dbSize } = await call('/v3/maintenance/status', {});
      console.log(
        `${total} commits: etcd ${taken.toFixed(2)} s of processor time, ${seconds.toFixed(1)} s; ` +
          `others' p99 ${p99(during).toFixed(1)} ms (${during.length} calls), without the start ` +
          `${p99(without).toFixed(1)} ms; ${(dbSize / total).toFixed(0)} bytes a pet`,
      );
    }
    await other.terminate();
  } finally {
    member.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}
