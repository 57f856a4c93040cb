/**
 * Floods: many connections that pipeline 64 KiB each, in several forms, and other clients beside
 * them. Shows the peak memory of the service, how long the others wait, and whether it goes on with
 * a small heap; bare node:http gets one of the floods, too.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHURNS, FLOODS } from './flood.mjs';
import { memoryOf, startScript, startServer } from './processes.mjs';
import { figure, median } from './table.mjs';

/**
 * @import { Socket } from 'node:net'
 * @import { Bench } from './paired.mjs'
 * @import { ServerOptions } from './processes.mjs'
 * @import { Kind } from './servers.mjs'
 * @import { Row } from './table.mjs'
 */

const PEAK_GOAL = '≤ 300';
/** Of the bench's seconds for a burst, so 10 s by default. */
const BURSTS = 20;
/** Idle connections before the established one, beside clients that come and go. */
const IDLE = 70;
const EVERY_MS = 50;
/** Bare node:http took up to 84 s for what has been sent. */
const PATIENCE_MS = 120_000;
const REQUEST = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n';
const BARE_ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"status":"ok"}';

/**
 * The clients beside a flood: one that is new each time, and one that has been there before.
 * @typedef {'newcomer' | 'established'} Who
 *
 * What happened beside a flood: waits in ms, how many requests there were, and the server's memory.
 * @typedef {{ waits: Record<Who, number[]>, asked: Record<Who, number>, peakMb: number }} Run
 *
 * @typedef {ServerOptions & { kind: Kind }} Server
 */

/** @param {Bench} bench */
export async function measure(bench) {
  /** @type {Server} */
  const service = { kind: 'service', dist: bench.dist, pets: 1000 };
  const small = { ...service, heapMb: 256 };
  const rows = [];
  const names = Object.keys({ ...FLOODS, ...CHURNS }).filter((name) => name.includes(bench.only));
  for (const name of names.filter((name) => name in FLOODS)) {
    const row = rowOf(name, await repeat(bench, service, name, 1000));
    const runs = await repeat(bench, small, name, 150);
    const alive = runs.filter(({ peakMb }) => !Number.isNaN(peakMb));
    row['150, heap of 256 MB: goes on'] = `${alive.length} of ${runs.length}`;
    rows.push(row);
  }
  for (const name of names.filter((name) => name in CHURNS)) {
    rows.push(rowOf(name, await repeat(bench, service, name)));
  }
  if (bench.only !== '') return rows;
  const bare = await repeat(bench, { kind: 'naive', answer: BARE_ANSWER }, 'plain', 1000);
  return [...rows, rowOf('plain, to bare node:http', bare)];
}

/**
 * @param {string} name
 * @param {Run[]} runs
 * @returns {Row}
 */
function rowOf(name, runs) {
  const peaks = runs.map(({ peakMb }) => peakMb);
  /** @type {Row} */
  const row = { '1,000 clients': name, 'peak, MB': figure(peaks, PEAK_GOAL, 0) };
  for (const who of /** @type {const} */ (['newcomer', 'established'])) {
    const waits = runs.flatMap((run) => run.waits[who]);
    const lost = runs.reduce((sum, run) => sum + run.asked[who], 0) - waits.length;
    const text = waits.length > 0 ? `${median(waits).toFixed(0)}; ${Math.max(...waits)}` : '';
    row[`${who}: half, all, ms`] = lost > 0 ? `${text} ✗ ${lost} unanswered` : text;
  }
  return row;
}

/**
 * @param {Bench} bench
 * @param {Server} server
 * @param {string} name
 * @param {number} [connections]
 */
async function repeat(bench, { kind, ...options }, name, connections) {
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`floods: ${connections ?? ''} ${name}, round ${round + 1}`);
    const server = await startServer(bench, kind, options);
    const { port } = server;
    const stopOthers = await startOthers(port, name in CHURNS ? IDLE : 0);
    const flooders = startScript('flood.mjs', { port, name, connections });
    await flooders.nextLine();
    await sleep(1000 * BURSTS * bench.seconds);
    const others = await stopOthers();
    // A server that has ended has none.
    runs.push({ ...others, peakMb: server.isAlive() ? memoryOf(server.pid).peakMb : NaN });
    await flooders.stop();
    await server.stop();
  }
  return runs;
}

/**
 * Starts clients beside a flood: every 50 ms a newcomer opens a connection and requests /livez, and
 * an established client does so on a connection that is older than the flood, behind idle ones that
 * are older still. Resolves with a function that ends the requests, and then resolves with the
 * waits of both in ms, and how many requests there were.
 * @param {number} port
 * @param {number} idle
 */
async function startOthers(port, idle) {
  /** @type {Record<Who, number[]>} */
  const waits = { newcomer: [], established: [] };
  const asked = { newcomer: 0, established: 0 };
  const open = () => connect(port, '127.0.0.1').on('error', () => undefined);

  /**
   * Resolves when the socket has received something, or is closed.
   * @param {Socket} socket
   * @param {Who} who
   * @returns {Promise<Socket>}
   */
  const ask = (socket, who) =>
    new Promise((resolve) => {
      const startedAt = performance.now();
      asked[who] += 1;
      const onData = () => {
        waits[who].push(Math.ceil(performance.now() - startedAt));
        end();
      };
      const end = () => resolve(socket.off('data', onData).off('close', end));
      socket.on('data', onData).on('close', end).write(REQUEST);
    });
  for (let opened = 0; opened < idle; opened += 1) await once(open(), 'connect');
  const established = open();
  await once(established, 'connect');
  await ask(established, 'established');
  [waits.established, asked.established] = [[], 0];

  /** @type {Promise<unknown>[]} */
  const pending = [];
  let isAsking = false;
  const timer = setInterval(() => {
    pending.push(ask(open(), 'newcomer').then((socket) => socket.destroy()));
    if (isAsking || established.destroyed) return;
    isAsking = true;
    pending.push(ask(established, 'established').then(() => (isAsking = false)));
  }, EVERY_MS);
  return async () => {
    clearInterval(timer);
    await Promise.race([Promise.all(pending), sleep(PATIENCE_MS, undefined, { ref: false })]);
    return { waits, asked };
  };
}
