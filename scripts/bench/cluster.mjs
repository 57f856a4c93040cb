/**
 * The cluster: the service on three etcd members, against bare loops of etcd's own calls.
 *
 * Callers use `pets.create` and `pets.list` in the process, without HTTP. The floors send one
 * transaction, or one linearizable range, after the other over one kept-alive connection. Other
 * rows measure one, two and four service processes together, which take turns at one log, so that
 * their rates do not add up; two processes of which one is farther from the members; and a start
 * with a million pets. This file is also the program of those processes.
 */

import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import http from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { dataFile, freshData } from './data.mjs';
import { measurePairs } from './paired.mjs';
import { figure, pairsRow, RATE, summary } from './table.mjs';

const FILE = fileURLToPath(import.meta.url);
const ETCD = process.env.TEST_ETCD ?? 'etcd';
const MEMBERS = 3;

const SCENARIOS = [
  { what: 'creates, 1 caller', job: 'create', callers: 1, floor: 'txn', goal: '≥ 0.9' },
  { what: 'creates, 64 callers', job: 'create', callers: 64, floor: 'txn', goal: '≥ 18' },
  { what: 'creates, 256 callers', job: 'create', callers: 256, floor: 'txn', goal: '≥ 45' },
  { what: 'lists, 1 waiting', job: 'list', callers: 1, floor: 'range', goal: '≥ 0.8' },
  { what: 'lists, 64 waiting', job: 'list', callers: 64, floor: 'range', goal: '≥ 15' },
];
const FLOORS = { txn: 'one transaction after another', range: 'one range after another' };
const PROCESSES = [2, 4];
const CALLERS_EACH = 64;
const NEAR_MS = 2;
const FAR_MS = 50;
const DISTANCE_SECONDS = 10;
const PETS = 1_000_000;

export async function measureCluster(bench) {
  if (spawnSync(ETCD, ['--version']).status !== 0) {
    bench.progress('There is no etcd on the PATH or in TEST_ETCD: the part cluster is left out');
    return [];
  }
  const cluster = await startMembers(bench.folder);
  let prefixes = 0;
  const contender = (job, callers, processes = 1) => ({
    name: `${processes} × ${job}`,
    async start() {
      const prefix = `bench-${(prefixes += 1)}/`;
      const start = () =>
        startProcess(bench, { job, callers, prefix, endpoints: cluster.endpoints });
      const running = await Promise.all(Array.from({ length: processes }, start));
      return {
        async burst() {
          const bursts = await Promise.all(running.map((one) => one.burst(bench.seconds)));
          return { rate: bursts.reduce((sum, { rate }) => sum + rate, 0) };
        },
        stop: () => Promise.all(running.map((one) => one.stop())),
      };
    },
  });
  try {
    const rows = [];
    for (const { what, job, callers, floor, goal } of SCENARIOS) {
      const pairs = await measurePairs(bench, what, contender(job, callers), contender(floor, 1));
      rows.push(pairsRow({ what, against: FLOORS[floor], goal, pairs, measure: RATE }));
    }
    for (const count of PROCESSES) {
      const what = `creates, ${count} processes of ${CALLERS_EACH} callers`;
      const one = contender('create', CALLERS_EACH);
      const pairs = await measurePairs(bench, what, contender('create', CALLERS_EACH, count), one);
      rows.push(pairsRow({ what, against: 'one such process', pairs, measure: RATE }));
    }
    rows.push(...(await measureDistance(bench, cluster)), await measureStart(bench, cluster));
    return [{ title: 'On etcd: three members on this machine', rows }];
  } finally {
    cluster.stop();
  }
}

/** Two processes on one log: one far from the members, one near. */
async function measureDistance(bench, { endpoints }) {
  bench.progress('on etcd: distance');
  const rows = [];
  for (const callers of [1, CALLERS_EACH]) {
    const distances = [FAR_MS, NEAR_MS];
    const ways = await Promise.all(distances.map((ms) => startDistance(endpoints, ms)));
    const prefix = `bench-distance-${callers}/`;
    const sides = await Promise.all(
      ways.map((way) =>
        startProcess(bench, { job: 'create', callers, prefix, endpoints: way.endpoints }),
      ),
    );
    const [far, near] = await Promise.all(sides.map((side) => side.burst(DISTANCE_SECONDS)));
    for (const { stop } of [...sides, ...ways]) await stop();
    const longest = `longest ${far.longestMs.toFixed(0)} : ${near.longestMs.toFixed(0)} ms`;
    rows.push({
      what: `creates of ${callers} far away, ${FAR_MS} ms a round trip, rate`,
      against: `as many that are near, ${NEAR_MS} ms, at the same time`,
      figure: (far.rate / near.rate).toFixed(2),
      absolute: `${far.rate.toFixed(0)} : ${near.rate.toFixed(0)}/s; refused ${far.refused} : ${near.refused}; ${longest}`,
    });
  }
  return rows;
}

/** A connection to each endpoint that adds half a round trip in each direction. */
async function startDistance(endpoints, roundTripMs) {
  const servers = endpoints.map((endpoint) =>
    createServer((socket) => {
      const { port, hostname } = new URL(endpoint);
      const other = connect({ port: Number(port), host: hostname, noDelay: true });
      socket.setNoDelay(true);
      for (const [from, to] of [
        [socket, other],
        [other, socket],
      ]) {
        from.on('data', (chunk) => setTimeout(() => to.write(chunk), roundTripMs / 2));
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
      }
    }).listen(0, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => new Promise((done) => server.once('listening', done))));
  return {
    endpoints: servers.map((server) => `http://127.0.0.1:${server.address().port}`),
    stop: () => servers.forEach((server) => server.close()),
  };
}

async function measureStart(bench, { endpoints }) {
  bench.progress('on etcd: start');
  dataFile(bench.folder, PETS);
  const from = freshData(bench.folder, 'to-etcd', PETS);
  const prefix = 'bench-start/';
  const server = fileURLToPath(new URL('../../dist/server.js', import.meta.url));
  const target = ['--to-etcd', endpoints.join(','), '--etcd-prefix', prefix];
  const args = [server, 'copy-pets', '--from', from, ...target];
  execFileSync(bench.node, args, { stdio: 'ignore' });
  const starts = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    const running = await startProcess(bench, { job: 'list', callers: 1, prefix, endpoints });
    starts.push(running.opened);
    await running.stop();
  }
  const residentMb = summary(starts.map((start) => start.residentMb)).median;
  return {
    what: 'start with 1M pets, seconds',
    figure: figure(
      starts.map(({ openMs }) => openMs / 1000),
      1,
    ),
    absolute: `${residentMb.toFixed(0)} MB resident`,
  };
}

async function startMembers(folder) {
  const ports = await freePorts(2 * MEMBERS);
  const url = (index) => `http://127.0.0.1:${ports[index]}`;
  const names = Array.from({ length: MEMBERS }, (_, i) => `bench-${process.pid}-${i}`);
  const initial = names.map((name, i) => `${name}=${url(2 * i)}`).join(',');
  const children = names.map((name, i) => {
    const args = ['--name', name, '--data-dir', join(folder, name), '--initial-cluster', initial];
    args.push('--listen-peer-urls', url(2 * i), '--initial-advertise-peer-urls', url(2 * i));
    args.push('--listen-client-urls', url(2 * i + 1), '--advertise-client-urls', url(2 * i + 1));
    return spawn(ETCD, [...args, '--log-level', 'error'], { stdio: 'ignore' });
  });
  const stop = () => children.forEach((child) => child.kill());
  const endpoints = names.map((_, i) => url(2 * i + 1));
  for (let tries = 0; ; tries += 1) {
    const text = await post(endpoints[0], '/v3/kv/range', '{"key":"YQ=="}').catch(() => '');
    if (text.includes('cluster_id')) return { endpoints, stop };
    if (tries === 300) {
      stop();
      throw new Error('The etcd members do not answer');
    }
    await sleep(100);
  }
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => new Promise((done) => server.once('listening', done))));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** Starts a process on the Node that is measured. */
async function startProcess({ node }, settings) {
  const child = fork(FILE, [JSON.stringify(settings)], { execPath: node });
  const answer = () =>
    new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('exit', () => reject(new Error('A process of the bench ended')));
    });
  const opened = await answer();
  return {
    opened,
    burst(seconds) {
      const figures = answer();
      child.send(seconds);
      return figures;
    },
    async stop() {
      const exit = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await exit;
    },
  };
}

const agent = new http.Agent({ keepAlive: true });

function post(endpoint, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Length': body.length };
    const request = http.request(`${endpoint}${path}`, { method: 'POST', agent, headers });
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('latin1');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve(text));
      response.on('error', reject);
    });
    request.end(body);
  });
}

const base64 = (text) => Buffer.from(text).toString('base64');

/** What a caller repeats, and how that ended. */
async function openJob({ job, prefix, endpoints }) {
  const [endpoint] = endpoints;
  let number = 0;
  const value = base64('x'.repeat(200));
  if (job === 'txn') {
    const call = () => {
      const key = base64(`${prefix}${String((number += 1)).padStart(19, '0')}`);
      const compare = `{"target":"CREATE","result":"EQUAL","key":"${key}","create_revision":"0"}`;
      const put = `{"request_put":{"key":"${key}","value":"${value}"}}`;
      return post(endpoint, '/v3/kv/txn', `{"compare":[${compare}],"success":[${put}]}`);
    };
    return { call, close: () => agent.destroy() };
  }
  if (job === 'range') {
    const text = `{"key":"${base64(prefix)}"}`;
    return { call: () => post(endpoint, '/v3/kv/range', text), close: () => agent.destroy() };
  }
  const { initEtcd, openApp } = await import('../../dist/index.js');
  await initEtcd({ endpoints, prefix });
  const startedAt = performance.now();
  const app = await openApp({ etcd: { endpoints, prefix }, apiKeys: ['bench'] });
  const openMs = performance.now() - startedAt;
  const pet = { name: 'Rex', categoryId: 7n, status: 'available' };
  const call = job === 'create' ? () => app.pets.create(pet) : () => app.pets.list();
  const { total } = await app.pets.count();
  if (job === 'list' && total === 0) for (let i = 0; i < 100; i += 1) await app.pets.create(pet);
  return { call, openMs, close: () => app.close() };
}

async function serve(settings) {
  const { call, openMs, close } = await openJob(settings);
  process.on('message', async (seconds) => {
    const startedAt = performance.now();
    const end = startedAt + 1000 * seconds;
    let count = 0;
    let refused = 0;
    let longestMs = 0;
    const loop = async () => {
      for (let at = performance.now(); at < end;) {
        try {
          await call();
          count += 1;
        } catch (error) {
          if (error.name !== 'StoreUnavailableError') throw error;
          refused += 1;
        }
        const now = performance.now();
        longestMs = Math.max(longestMs, now - at);
        at = now;
      }
    };
    await Promise.all(Array.from({ length: settings.callers }, loop));
    const rate = (1000 * count) / (performance.now() - startedAt);
    process.send({ rate, refused, longestMs });
  });
  process.on('disconnect', close);
  process.send({ openMs, residentMb: process.memoryUsage().rss / 1e6 });
}

if (process.argv[1] === FILE && process.send !== undefined)
  await serve(JSON.parse(process.argv[2]));
