/**
 * The way of a request: the service and the floors in one process, on sockets in memory, in turns.
 *
 *     slice:  one batch of requests to one server   │ ours theirs │ theirs ours │ ours theirs │ …
 *
 * It leaves out the kernel, the network and other programs, so it shows what the rate over sockets
 * cannot: on a loaded machine the same code is within about 5 % of itself. Changes to http/ and
 * api/ are judged by it, against another build. As a program, this file is that process.
 */

import { Duplex } from 'node:stream';
import { isMain } from '../build.mjs';
import { freshData } from './data.mjs';
import { get, takeTurns } from './paired.mjs';
import { runScript } from './processes.mjs';
import { SERVERS } from './servers.mjs';
import { figure, median } from './table.mjs';

/**
 * @import { Server } from 'node:http'
 * @import { Bench } from './paired.mjs'
 * @import { Options } from './servers.mjs'
 * @import { Row } from './table.mjs'
 */

/**
 * Our time for a request in µs, and the ratio to it, by the name of the opponent.
 * @typedef {Record<string, { micros: number, ratio: number }>} Result
 */

export const SCENARIOS = [
  { what: 'list of 20', path: '/v1/pets', naive: '≥ 1.00' },
  { what: 'one pet', path: '/v1/pets/501', naive: '≥ 1.00' },
  { what: '100 of a status', path: '/v1/pets?limit=100&status=available', naive: '≥ 1.05' },
];
const PETS = 1000;
/** For each second of a burst, so half as many by default. */
const SLICES = { warmUps: 300, turns: 600 };
const CONNECTIONS = 50;
/** Requests: four on each connection, each sent after the response to the one before. */
const BATCH = 200;

/** @param {Bench} bench */
export async function measure(bench) {
  const builds = bench.against === undefined ? [bench.dist] : [bench.dist, bench.against];
  const warmUps = SLICES.warmUps * bench.seconds;
  const turns = SLICES.turns * bench.seconds;
  /** @type {Result[][]} */
  const runs = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`way: round ${round + 1}`);
    const services = builds.map((dist) => ({ dist, path: freshData(bench.folder, PETS) }));
    const job = { services, slices: { warmUps, turns } };
    runs.push(await runScript('way.mjs', job));
  }
  return SCENARIOS.map(({ what, naive }, i) => {
    const fastest = parseInt(process.versions.node) < 24 ? '≥ 0.88' : '≥ 0.78';
    /** @type {Record<string, string>} */
    const goals = { naive, fastest, 'other build': '≥ 0.97' };
    const results = runs.map((run) => run[i] ?? {});
    const micros = median(results.map((result) => result['naive']?.micros ?? NaN));
    /** @type {Row} */
    const row = { What: what, ours: `${micros.toFixed(1)} µs` };
    for (const name of Object.keys(results[0] ?? {})) {
      const ratios = results.map((result) => result[name]?.ratio ?? NaN);
      row[name] = figure(ratios, goals[name]);
    }
    return row;
  });
}

/** The client's side of a connection in memory; the other side is the server's. */
class MemorySocket extends Duplex {
  /** @type {Buffer[] | undefined} */
  received = [];
  receivedBytes = 0;

  /** @override */
  _read() {}

  /**
   * @override
   * @param {Buffer} chunk
   * @param {BufferEncoding} _encoding
   * @param {() => void} callback
   */
  _write(chunk, _encoding, callback) {
    this.receivedBytes += chunk.length;
    this.received?.push(chunk);
    callback();
  }

  setNoDelay() {}
  setKeepAlive() {}
  setTimeout() {}
}

/** @param {Server} server */
function connectTo(server) {
  const socket = new MemorySocket();
  server.emit('connection', socket);
  return socket;
}

/**
 * Resolves with the bytes of the response to a request.
 * @param {Server} server
 * @param {Buffer} request
 */
async function answerOf(server, request) {
  const socket = connectTo(server);
  socket.push(request);
  do await nextTurn();
  while (socket.receivedBytes === 0);
  // A header may come before its body.
  await nextTurn();
  return Buffer.concat(socket.received ?? []);
}

/**
 * Resolves with a function that sends a batch, and resolves with microseconds a request.
 * @param {Server} server
 * @param {Buffer} request
 */
async function openClient(server, request) {
  const { length } = await answerOf(server, request);
  const sockets = Array.from({ length: CONNECTIONS }, () => connectTo(server));
  for (const socket of sockets) socket.received = undefined;
  const sum = () => sockets.reduce((total, { receivedBytes }) => total + receivedBytes, 0);
  return async () => {
    let due = sum();
    const startedAt = performance.now();
    for (let sent = 0; sent < BATCH; sent += CONNECTIONS) {
      for (const socket of sockets) socket.push(request);
      due += CONNECTIONS * length;
      do await nextTurn();
      while (sum() < due);
    }
    const micros = (1000 * (performance.now() - startedAt)) / BATCH;
    if (sum() !== due) throw new Error(`${sum() - due} bytes too many`);
    return micros;
  };
}

function nextTurn() {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Prints, for each scenario, our time and its ratios: more is better, as with rates.
 * @param {{ services: [Options, Options?], slices: { warmUps: number, turns: number } }} job
 */
async function measureServers({ services: [own, other], slices }) {
  const service = await SERVERS.service(own);
  const otherService = other === undefined ? undefined : await SERVERS.service(other);
  /** @type {Result[]} */
  const results = [];
  for (const { path } of SCENARIOS) {
    const request = Buffer.from(get(path).request);
    const answer = (await answerOf(service, request)).toString();
    if (!answer.startsWith('HTTP/1.1 200')) throw new Error(answer);
    /** @type {Record<string, Server>} */
    const opponents = { naive: SERVERS.naive({ answer }), fastest: SERVERS.fastest({ answer }) };
    if (otherService !== undefined) opponents['other build'] = otherService;
    const ours = await openClient(service, request);
    /** @type {Result} */
    const result = {};
    for (const [name, server] of Object.entries(opponents)) {
      const pairs = await takeTurns([ours, await openClient(server, request)], slices);
      const micros = median(pairs.map(([mine]) => mine));
      result[name] = { micros, ratio: median(pairs.map(([mine, theirs]) => theirs / mine)) };
    }
    results.push(result);
  }
  process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit());
}

if (isMain(import.meta.url)) await measureServers(JSON.parse(process.argv[2] ?? ''));
