/**
 * Bounds: what the dearest input within each bound of the service costs, in memory and in time.
 *
 * The memory of a connection is that of a service with 200 of them (`HELD`), each of which sends
 * the bytes and then nothing more. The time of a request is processor time: beside other programs
 * it changes less. Where several inputs might be the dearest, all are tried, and the dearest of
 * them is shown. Tables that all clients share, such as API keys, are measured in a process of
 * its own, which is this file.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isMain } from '../build.mjs';
import { memoryOf, processorUsOf, runScript, startServer } from './processes.mjs';
import { median } from './table.mjs';

/**
 * @import { Bench } from './paired.mjs'
 * @import { Row } from './table.mjs'
 * @typedef {Awaited<ReturnType<typeof startServer>>} Service
 */

const CONNECTIONS = 200;
const KIB = 1024;
const KEY = 'Authorization: Bearer bench\r\n';
/** How often a request is sent before it is measured, and for each of the figures. */
const TIMES = { warmUp: 50, measured: 50, rounds: 3 };

/**
 * @param {string} line
 * @param {string} more
 */
const requestOf = (line, more = '', body = '') =>
  `${line} HTTP/1.1\r\nHost: a\r\n${more}${body && `Content-Length: ${body.length}\r\n`}\r\n${body}`;
const FIELDS = Array.from({ length: 254 }, (_, i) => `field-${i}:${'x'.repeat(50)}\r\n`).join('');
const DISTINCT = requestOf('GET /livez', FIELDS);
const BODY_BYTES = 64 * KIB;

/**
 * What a client sends and then waits, by the bound that is nearly reached.
 * @type {Record<string, string>}
 */
const HELD = {
  'an idle connection': requestOf('GET /livez'),
  'a header of 255 fields without an end': DISTINCT.slice(0, -2),
  'pipelined requests of 255 fields, never read': DISTINCT.repeat(4).slice(0, BODY_BYTES),
  'a body without its last byte': requestOf('POST /v1/pets', KEY, 'x'.repeat(BODY_BYTES)).slice(
    0,
    -1,
  ),
};

/** @param {string} members */
const pet = (members) => `{"name":"a","categoryId":1${members}}`;
/** @param {(room: number) => string} make */
const upTo = (make) => make(BODY_BYTES - 100);
/**
 * Requests of which each bound has several that may be the dearest one.
 * @type {Record<string, Record<string, string>>}
 */
const REQUESTS = {
  'a header of 16 KiB': {
    '255 fields': DISTINCT,
    'an encoded path': requestOf(`GET /${'%C3%A4'.repeat(2600)}`),
    'an encoded query': requestOf(`GET /livez?${'%C3%A4'.repeat(2600)}`),
    '254 keys': requestOf('GET /v1/pets', `${KEY.slice(0, -2)}x\r\n`.repeat(254)),
  },
  'a body of 64 KiB': Object.fromEntries(
    Object.entries({
      'a long name': `{"categoryId":1,"name":"${upTo((room) => 'a'.repeat(room))}"}`,
      'a name of escapes': `{"categoryId":1,"name":"${upTo((room) => '\\u0001'.repeat(room / 6))}"}`,
      'nested arrays': pet(`,"a":${upTo((room) => '['.repeat(room / 2) + ']'.repeat(room / 2))}`),
      'empty objects': pet(`,"a":[${upTo((room) => '{},'.repeat(room / 3))}1]`),
      'distinct members': pet(
        upTo((room) => Array.from({ length: room / 12 }, (_, i) => `,"${10_000 + i}":1`).join('')),
      ),
      'short numbers': pet(`,"a":[${upTo((room) => '1,'.repeat(room / 2))}1]`),
      'a number of 64,000 digits': `{"name":"a","categoryId":1${upTo((room) => '0'.repeat(room))}}`,
      'a fraction of 64,000 digits': `{"name":"a","categoryId":1.${upTo((room) => '0'.repeat(room))}}`,
    }).map(([name, body]) => [name, requestOf('POST /v1/pets', KEY, body)]),
  ),
  'a page of 100 pets of 64 kB': { 'a list': requestOf('GET /v1/pets?limit=100', KEY) },
};

/** @param {Bench} bench */
export async function measure(bench) {
  /** @type {Row[]} */
  const rows = [];
  for (const [what, bytes] of Object.entries(HELD)) {
    bench.progress(`bounds: ${what}`);
    rows.push({ Bound: what, memory: await heldMemory(bench, bytes) });
  }
  for (const [what, requests] of Object.entries(REQUESTS)) {
    let dearest = { name: '', micros: 0 };
    for (const [name, request] of Object.entries(requests)) {
      bench.progress(`bounds: ${what}, ${name}`);
      const micros = await requestMicros(bench, request, what.startsWith('a page'));
      bench.progress(`bounds: ${name} takes ${micros.toFixed(0)} µs`);
      if (micros > dearest.micros) dearest = { name, micros };
    }
    const { name, micros } = dearest;
    rows.push({ Bound: `${what}: ${name}`, time: `${micros.toFixed(0)} µs` });
  }
  bench.progress('bounds: tables');
  const tables = await runScript('bounds.mjs', { dist: bench.dist }, ['--expose-gc']);
  return [...rows, ...tables];
}

/**
 * Resolves with the memory that each of many connections takes which have sent the bytes.
 * @param {Bench} bench
 * @param {string} bytes
 */
async function heldMemory(bench, bytes) {
  const service = await startServer(bench, 'service', { dist: bench.dist, pets: 1000 });
  // What the first requests of a process load is no matter of connections.
  await exchange(service.port, requestOf('GET /docs', 'Connection: close\r\n'));
  const { residentMb } = memoryOf(service.pid);
  const sockets = [];
  for (let i = 0; i < CONNECTIONS; i += 1) {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.pause().write(bytes);
  }
  // Until nothing more is read.
  for (let before = -1; before !== processorUsOf(service.pid);) {
    before = processorUsOf(service.pid);
    await sleep(500);
    if (processorUsOf(service.pid) - before < 20_000) break;
  }
  const { peakMb } = memoryOf(service.pid);
  for (const socket of sockets) socket.destroy();
  await service.stop();
  return `${((1000 * (peakMb - residentMb)) / CONNECTIONS).toFixed(0)} kB`;
}

/**
 * Resolves with the processor time of a request, in microseconds: the median of some rounds.
 * @param {Bench} bench
 * @param {string} request
 * @param {boolean} hasLongPets
 */
async function requestMicros(bench, request, hasLongPets) {
  const service = await startServer(bench, 'service', { dist: bench.dist, pets: 0 });
  const body = `{"categoryId":1,"name":"${'a'.repeat(65_000)}"}`;
  const create = requestOf('POST /v1/pets', KEY, body);
  if (hasLongPets) await exchange(service.port, create, 100);
  const { warmUp, measured, rounds } = TIMES;
  const share = hasLongPets ? 0.1 : 1;
  await exchange(service.port, request, warmUp * share);
  const figures = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = processorUsOf(service.pid);
    await exchange(service.port, request, measured * share);
    figures.push((processorUsOf(service.pid) - before) / (measured * share));
  }
  await service.stop();
  return median(figures);
}

/**
 * Sends a request so often, each after the response to the one before, and on a new connection if
 * the service has closed the one before.
 * @param {number} port
 * @param {string} request
 */
async function exchange(port, request, times = 1) {
  let socket;
  for (let sent = 0; sent < times; sent += 1) {
    if (socket === undefined || socket.destroyed || socket.readableEnded) {
      socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
    }
    socket.write(request, 'latin1');
    let text = '';
    let [received, size] = [0, Infinity];
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      received += chunk.length;
      if (size === Infinity) text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n') + 4;
      const length = Number(/\r\ncontent-length: ([0-9]+)/i.exec(text)?.[1] ?? 0);
      if (end > 3) size = end + length;
      if (received >= size) break;
    }
    if (/\r\nconnection: close\r\n/i.test(text)) socket.destroy();
  }
  socket?.destroy();
}

/**
 * Measures what is kept for all clients together.
 * @param {string} dist
 */
async function measureTables(dist) {
  /** @param {string} path */
  const load = (path) => import(pathToFileURL(join(dist, path)).href);
  const { createKeyring } = await load('core/app/api-keys.js');
  const { IdempotencyKeys, MAX_IDEMPOTENCY_KEYS } = await load('core/store/idempotency-keys.js');
  const { CommitQueue, queuedCreate } = await load('core/store/commit-queue.js');
  /** @type {Row[]} */
  const rows = [];

  /**
   * @template T
   * @param {string} Bound
   * @param {() => T} make
   */
  const memory = (Bound, make) => {
    globalThis.gc?.();
    const before = process.memoryUsage();
    const made = make();
    globalThis.gc?.();
    const after = process.memoryUsage();
    const bytes = after.heapUsed + after.external - before.heapUsed - before.external;
    rows.push({ Bound, memory: `${(bytes / 1e6).toFixed(0)} MB` });
    return made;
  };

  /** @param {number} i */
  const apiKey = (i) => `${i}`.padStart(4096, 'x');
  const keyring = memory('1,000 API keys of 4,096 bytes', () =>
    createKeyring(Array.from({ length: 1000 }, (_, i) => apiKey(i))),
  );
  const startedAt = process.cpuUsage();
  for (let i = 0; i < 100; i += 1) keyring.find(apiKey(i));
  const { user, system } = process.cpuUsage(startedAt);
  const time = `${((user + system) / 100).toFixed(0)} µs a request with such a key`;
  rows.push({ Bound: 'a key as long as 1,000 others', time });

  memory('100,000 idempotency keys', () => {
    const keys = new IdempotencyKeys({ now: () => 0 });
    for (let i = 1; i <= MAX_IDEMPOTENCY_KEYS; i += 1) {
      keys.add(`${i}`.padStart(32, '0'), BigInt(i), 1);
    }
    return keys;
  });
  for (const [Bound, length] of /** @type {const} */ ([
    ['16,384 creates that wait, of short pets', 1],
    ['64 MiB of creates that wait', 65_000],
  ])) {
    memory(Bound, () => {
      const queue = new CommitQueue(() => new Promise(() => undefined), 1);
      for (let i = 0; !queue.isFull; i += 1) {
        const name = `${i}`.padStart(length, 'x');
        queue.add(queuedCreate({ name, categoryId: 1n, status: undefined }), length + 60);
      }
      return queue;
    });
  }
  console.log(JSON.stringify(rows));
}

if (isMain(import.meta.url)) await measureTables(JSON.parse(process.argv[2] ?? '').dist);
