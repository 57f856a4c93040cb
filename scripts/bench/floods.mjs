/**
 * Floods: many connections that pipeline 64 KiB each, in several forms, and other clients beside
 * them. Reports the peak memory of the service, and how long the others wait; bare node:http gets
 * one of the floods, too. Also reports what a 401 costs with a thousand API keys.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { freshData } from './data.mjs';
import { CHURNS, FLOODS } from './flood.mjs';
import { startScript, startServer, textOf } from './processes.mjs';
import { figure, summary } from './table.mjs';

const CONNECTIONS = 1000;
const SMALL_CONNECTIONS = 150;
const SMALL_HEAP_MB = 256;
const SECONDS = 10;
/** Idle connections before the established one, beside clients that come and go. */
const IDLE = 70;
/** The response of bare node:http to every request. */
const FLOOR = { fields: ['Content-Type', 'application/json'], body: '{"status":"ok"}' };

export async function measureFloods(bench) {
  const rows = [];
  for (const name of Object.keys(FLOODS)) {
    const runs = await repeat(bench, ours(bench), name, CONNECTIONS);
    rows.push(...rowsOf(`1,000 clients, ${name}`, runs, 300));
  }
  for (const name of Object.keys(FLOODS)) {
    const options = { heapMb: SMALL_HEAP_MB };
    const runs = await repeat(bench, ours(bench, options), name, SMALL_CONNECTIONS);
    const alive = runs.filter(({ isAlive }) => isAlive).length;
    const text = `${alive} of ${runs.length} runs, peak ${summary(peaks(runs)).median} MB`;
    rows.push({ what: `150 clients, ${name}, heap of 256 MB: the service goes on`, figure: text });
  }
  for (const name of Object.keys(CHURNS)) {
    rows.push(...rowsOf(name, await repeat(bench, ours(bench), name, 0), 300));
  }
  const floor = await repeat(bench, bare(bench), 'plain', CONNECTIONS);
  rows.push(...rowsOf('bare node:http, 1,000 clients, plain', floor));
  rows.push(await manyKeysRow(bench));
  return [{ title: 'Floods of pipelined requests', rows }];
}

const peaks = (runs) => runs.map(({ peakMb }) => peakMb);

function rowsOf(what, runs, peakGoal) {
  const goal = peakGoal === undefined ? '' : `≤ ${peakGoal}`;
  const rows = [{ what: `${what}: peak, MB`, goal, figure: figure(peaks(runs), 0, goal) }];
  for (const who of ['newcomer', 'established']) {
    const waits = runs.flatMap((run) => run.waits[who]);
    const lost = runs.reduce((sum, run) => sum + run.lost[who], 0);
    const { median, max } = waits.length === 0 ? { median: NaN, max: NaN } : summary(waits);
    const unanswered = `${lost} of ${waits.length + lost} unanswered`;
    const text = `half ≤ ${Math.round(median)} ms, all ≤ ${max} ms; ${unanswered}`;
    rows.push({ what: `${what}: waits, ${who}`, figure: text });
  }
  return rows;
}

function ours(bench, options) {
  const path = freshData(bench.folder, 'floods', 1000);
  return () => startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path, ...options });
}

function bare(bench) {
  return () => startServer(bench.node, 'serve-floor.mjs', { kind: 'naive', ...FLOOR });
}

async function repeat(bench, startOne, name, connections) {
  const runs = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`floods: ${connections} ${name}, round ${round + 1}`);
    runs.push(await flooded(await startOne(), name, connections));
  }
  return runs;
}

async function flooded(server, name, connections) {
  const { port } = server;
  const idle = name in CHURNS ? IDLE : 0;
  const others = startScript(process.execPath, 'newcomer.mjs', { port, idle }, 'pipe');
  await others.nextLine();
  const flooders = startScript(process.execPath, 'flood.mjs', { port, name, connections });
  await flooders.nextLine();
  await sleep(1000 * SECONDS);
  others.child.stdin.end();
  const { waits, lost } = await others.nextLine();
  const isAlive = server.isAlive();
  const peakMb = isAlive ? Math.round(server.memory().peak / 1e6) : NaN;
  flooders.child.kill('SIGKILL');
  await Promise.all([flooders.end, others.end]);
  await server.stop();
  return { waits, lost, isAlive, peakMb };
}

/** A row: the processor time of a 401 with 1,000 API keys, and with one. */
async function manyKeysRow(bench) {
  const [many, one] = [[], []];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`floods: a 401, round ${round + 1}`);
    many.push(await refusedUs(bench, 1000));
    one.push(await refusedUs(bench, 1));
  }
  const [ours, theirs] = [many, one].map((values) => summary(values).median);
  return {
    what: 'a 401 with 1,000 API keys, processor time',
    against: 'with one',
    figure: (ours / theirs).toFixed(2),
    absolute: `${ours.toFixed(0)} : ${theirs.toFixed(0)} µs`,
  };
}

async function refusedUs(bench, apiKeys) {
  const path = freshData(bench.folder, 'floods', 1000);
  const options = { kind: 'file', path, apiKeys };
  const server = await startServer(bench.node, 'serve-petstore.mjs', options);
  const request = textOf({ path: '/v1/pets' }).replace('bench', 'b'.repeat(32));
  const job = { port: server.port, request, connections: 64, status: 401, seconds: bench.seconds };
  await bench.load.run(job);
  const before = server.processorUs();
  const { answers } = await bench.load.run(job);
  const micros = (server.processorUs() - before) / answers;
  await server.stop();
  return micros;
}
