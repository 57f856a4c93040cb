/**
 * The way of a request: the service and the floors in one process, on sockets in memory, in turns.
 *
 *     slice:  one batch of requests to one server   │ ours theirs │ theirs ours │ ours theirs │ …
 *
 * It leaves out the kernel, the network and other programs, so it shows what the rate over sockets
 * cannot: on a loaded machine the same code is within about 5 % of itself. Changes to http/ and
 * api/ are judged by it, against another build. As a program, this file is that process.
 *
 * Two kinds of requests: what users send most, and what a client without an API key can send that
 * costs the service most, each also compared with GET /livez.
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
 * @typedef {Record<string, readonly [server: Server, request: Buffer]>} Opponents
 */

export const SCENARIOS = [
  { what: 'list of 20', path: '/v1/pets', naive: '≥ 1.00' },
  { what: 'one pet', path: '/v1/pets/501', naive: '≥ 0.90' },
  { what: '100 of a status', path: '/v1/pets?limit=100&status=available', naive: '≥ 1.00' },
];
const NO_KEY = 'Host: a\r\n';
/** @param {number} count */
const fields = (count) => Array.from({ length: count }, (_, i) => `field-${i}: ${i}\r\n`).join('');
/**
 * What a client without an API key can send: a line and fields. Each is the dearest of its kind
 * that was found; what is longer than 16 KiB is refused.
 * @type {Record<string, readonly [line: string, fields?: string]>}
 */
export const WITHOUT_KEY = {
  'no key: 401': ['GET /v1/pets'],
  'a wrong key: 401': ['GET /v1/pets', 'Authorization: Bearer 0123456789abcdef\r\n'],
  'an unknown path: 404': ['GET /x'],
  'another method: 405': ['PUT /livez'],
  'bytes that are not HTTP: 400': ['\x01'],
  'a path of 256 bytes, half encoded': [`GET /${'a%41'.repeat(63)}`],
  'a path of 16 KiB': [`GET /${'a'.repeat(16_000)}`],
  'a path of 16 KiB, encoded': [`GET /${'%C3%A4'.repeat(2600)}`],
  'a query of 16 KiB, encoded': [`GET /livez?${'%C3%A4'.repeat(2600)}`],
  'a key of 16 KiB': ['GET /v1/pets', `Authorization: Bearer ${'a'.repeat(16_000)}\r\n`],
  '254 keys': ['GET /v1/pets', 'Authorization: Bearer 0123456789abcdef\r\n'.repeat(254)],
  '255 fields, the same': ['GET /livez', 'a:\r\n'.repeat(254)],
  '255 fields, distinct': ['GET /livez', fields(254)],
  '4,000 fields: 431': ['GET /livez', 'a:\r\n'.repeat(4000)],
  'a body of 64 KiB': ['GET /livez', `Content-Length: 65536\r\n\r\n${'x'.repeat(65_534)}`],
  'the description': ['GET /openapi.json'],
  'the reference': ['GET /docs'],
};
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
    const job = { services, slices: { warmUps, turns }, only: bench.only };
    runs.push(await runScript('way.mjs', job));
  }
  return namesWith(bench.only).map((what, i) => {
    const naive = SCENARIOS.find((scenario) => scenario.what === what)?.naive;
    /** @type {Record<string, string>} */
    const goals = {
      ...(naive === undefined ? {} : { naive }),
      ...{ 'other build': '≥ 0.97', '/livez': '≥ 0.50' },
    };
    const results = runs.map((run) => run[i] ?? {});
    const micros = median(results.map((result) => Object.values(result)[0]?.micros ?? NaN));
    /** @type {Row} */
    const row = { [what in WITHOUT_KEY ? 'Without a key' : 'What']: what };
    row['ours'] = `${micros.toFixed(1)} µs`;
    for (const name of Object.keys(results[0] ?? {})) {
      const ratios = results.map((result) => result[name]?.ratio ?? NaN);
      row[name] = figure(ratios, goals[name]);
    }
    return row;
  });
}

/**
 * Returns the names of the rows that contain the text.
 * @param {string} only
 */
function namesWith(only) {
  const all = [...SCENARIOS.map(({ what }) => what), ...Object.keys(WITHOUT_KEY)];
  return all.filter((what) => what.includes(only));
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
 * @param {boolean} isLast whether each request is sent on a connection of its own
 */
async function openClient(server, request, isLast) {
  const { length } = await answerOf(server, request);
  const connectAll = () => Array.from({ length: CONNECTIONS }, () => connectTo(server));
  let sockets = isLast ? [] : connectAll();
  return async () => {
    const startedAt = performance.now();
    for (let sent = 0; sent < BATCH; sent += CONNECTIONS) {
      if (isLast) sockets = connectAll();
      for (const socket of sockets) {
        socket.received = undefined;
        socket.receivedBytes = 0;
        socket.push(request);
      }
      do await nextTurn();
      while (sockets.some(({ receivedBytes }) => receivedBytes < length));
      if (isLast) for (const socket of sockets) socket.destroy();
    }
    const micros = (1000 * (performance.now() - startedAt)) / BATCH;
    const isLonger = sockets.some(({ receivedBytes }) => receivedBytes > length);
    if (isLonger) throw new Error(`A response has more than ${length} bytes`);
    return micros;
  };
}

function nextTurn() {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Prints, for each scenario, our time and its ratios: more is better, as with rates.
 * @param {{
 *   services: [Options, Options?], slices: { warmUps: number, turns: number }, only: string,
 * }} job
 */
async function measureServers({ services: [own, other], slices, only }) {
  const names = namesWith(only);
  const service = await SERVERS.service(own);
  const otherService = other && (await SERVERS.service(other));
  /** @type {Result[]} */
  const results = [];
  for (const { path } of SCENARIOS.filter(({ what }) => names.includes(what))) {
    const request = Buffer.from(get(path).request);
    const answer = (await answerOf(service, request)).toString();
    if (!answer.startsWith('HTTP/1.1 200')) throw new Error(answer);
    /** @type {Opponents} */
    const opponents = {
      naive: [SERVERS.naive({ answer }), request],
      fastest: [SERVERS.fastest({ answer }), request],
    };
    if (otherService !== undefined) opponents['other build'] = [otherService, request];
    results.push(await compareWith(opponents, service, request, slices));
  }
  const livez = Buffer.from(`GET /livez HTTP/1.1\r\n${NO_KEY}\r\n`);
  for (const [what, [line, more = '']] of Object.entries(WITHOUT_KEY)) {
    if (!names.includes(what)) continue;
    const request = Buffer.from(`${line} HTTP/1.1\r\n${NO_KEY}${more}\r\n`, 'latin1');
    const answer = (await answerOf(service, request)).toString();
    /** @type {Opponents} */
    const opponents = { '/livez': [service, livez] };
    // Bare node:http answers bytes that are not HTTP by closing the connection.
    if (request[0] !== 1) opponents['naive'] = [SERVERS.naive({ answer }), request];
    const isLast = answer.includes('\r\nConnection: close\r\n');
    results.push(await compareWith(opponents, service, request, slices, isLast));
  }
  process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit());
}

/**
 * Compares a request to the service with each opponent: another server, or another request.
 * @param {Opponents} opponents
 * @param {Server} service
 * @param {Buffer} request
 * @param {{ warmUps: number, turns: number }} slices
 */
async function compareWith(opponents, service, request, slices, isLast = false) {
  const ours = await openClient(service, request, isLast);
  /** @type {Result} */
  const result = {};
  for (const [name, [server, theirs]] of Object.entries(opponents)) {
    const pairs = await takeTurns([ours, await openClient(server, theirs, isLast)], slices);
    const micros = median(pairs.map(([mine]) => mine));
    result[name] = { micros, ratio: median(pairs.map(([mine, other]) => other / mine)) };
  }
  return result;
}

if (isMain(import.meta.url)) await measureServers(JSON.parse(process.argv[2] ?? ''));
