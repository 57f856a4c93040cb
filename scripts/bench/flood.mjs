/**
 * Clients that pipeline. In a flood, each of many connections writes 64 KiB of requests at once. In
 * a churn, clients that have written so much leave, and others come in their place.
 *
 * Prints a line a second after the flood has begun, and stays until it is killed.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMain } from '../build.mjs';

const FLOOD_BYTES = 65_536;
const PLAIN = 'GET /livez HTTP/1.1\r\nHost:a\r\n\r\n';
const LIST = 'GET /v1/pets HTTP/1.1\r\nHost:a\r\nAuthorization: Bearer bench\r\n\r\n';
const ONE_BYTE = 'GET /livez HTTP/1.1\r\nHost:a\r\nContent-Length: 1\r\n\r\nx';
/** @param {string} fields */
const withFields = (fields) => `GET /livez HTTP/1.1\r\nHost:a\r\n${fields}\r\n`;
/** @param {number} count */
const distinct = (count) => Array.from({ length: count }, (_, i) => `${i}:\r\n`).join('');
const THOUSANDS = withFields('a:\r\n'.repeat(4000));
const MOST = withFields(distinct(254));
/** @param {number} i */
const longName = (i) => `field-${i}`.padEnd(30, 'x');
const LONGEST = withFields(
  Array.from({ length: 254 }, (_, i) => `${longName(i)}:${longName(i)}\r\n`).join(''),
);
const LONG_PATH = `GET /v1/${'a'.repeat(16_000)} HTTP/1.1\r\nHost:a\r\n\r\n`;
const UNKNOWN_PATH = `GET /pets/${'a'.repeat(190)} HTTP/1.1\r\nHost:a\r\n\r\n`;

/** @import { Socket } from 'node:net' */

/**
 * By name: the request that is repeated, the first one, and what a client does then.
 * @type {Record<string, [request: string, first?: string, then?: (socket: Socket) => void]>}
 */
export const FLOODS = {
  plain: [PLAIN],
  lists: [LIST],
  'a refused body first': ['GET / HTTP/1.1\r\n\r\n', ONE_BYTE.replace('livez', 'v1/pets')],
  'one-byte bodies': [ONE_BYTE],
  'half closed': [PLAIN, '', (socket) => socket.end()],
  closed: [ONE_BYTE, '', (socket) => socket.end(() => socket.destroy())],
  'never read': [PLAIN, '', (socket) => socket.pause()],
  '48 header fields': [withFields('a:\r\n'.repeat(48))],
  '255 header fields': [MOST],
  '255 header fields, never read': [MOST, '', (socket) => socket.pause()],
  '255 long header fields, never read': [LONGEST, '', (socket) => socket.pause()],
  '4,000 header fields': [THOUSANDS],
  '4,000 header fields, never read': [THOUSANDS, '', (socket) => socket.pause()],
  '2,000 distinct names': [withFields(distinct(2000))],
  // Of a header without an end.
  'half a header': ['', MOST.slice(0, -2)],
  'half a header of 4,000 fields': ['', THOUSANDS.slice(0, -2)],
  'half a header of distinct names': ['', withFields(distinct(2500)).slice(0, -2)],
  'unknown paths': [UNKNOWN_PATH],
  'unknown paths of 16 KiB': [LONG_PATH],
  'the reference, never read': ['GET /docs HTTP/1.1\r\nHost:a\r\n\r\n', '', (s) => s.pause()],
};

/**
 * By name: how many clients there are, how many response bytes one reads before it leaves, and how.
 * @type {Record<string, [clients: number, readBytes: number, leave: (socket: Socket) => void,
 *   request?: string]>}
 */
export const CHURNS = {
  '150 clients that leave': [150, 200_000, (socket) => socket.destroy()],
  '200 clients that reset': [200, 30_000, (socket) => socket.resetAndDestroy()],
  '200 clients that send 4,000 fields': [200, 0, (socket) => socket.destroy(), THOUSANDS],
};

/**
 * @param {number} port
 * @param {[request: string, first?: string, then?: (socket: Socket) => void]} form
 * @param {number} connections
 */
async function flood(port, [request, first = '', then = () => undefined], connections) {
  const bytes = bytesOf(request, first);
  const sockets = [];
  for (let i = 0; i < connections; i += 1) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket.on('error', () => undefined));
    await once(socket, 'connect');
  }
  for (const socket of sockets) {
    socket.on('end', () => socket.end()).resume();
    socket.write(bytes);
    then(socket);
  }
}

/**
 * @param {number} port
 * @param {[clients: number, readBytes: number, leave: (socket: Socket) => void, request?: string]}
 *   form
 */
function churn(port, [clients, readBytes, leave, request = PLAIN]) {
  const bytes = bytesOf(request, '');
  const enter = () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.on('data', () => {
      if (socket.bytesRead > readBytes) leave(socket);
    });
    socket.on('close', enter).write(bytes);
  };
  for (let i = 0; i < clients; i += 1) enter();
}

/**
 * @param {string} request
 * @param {string} first
 */
function bytesOf(request, first) {
  if (request === '') return Buffer.from(first);
  const count = Math.floor((FLOOD_BYTES - first.length) / request.length);
  return Buffer.from(first + request.repeat(count));
}

if (isMain(import.meta.url)) {
  const { port, name, connections } = JSON.parse(process.argv[2] ?? '');
  process.stdin.resume().on('end', () => process.exit());
  const [form, leaving] = [FLOODS[name], CHURNS[name]];
  if (form !== undefined) await flood(port, form, connections);
  else if (leaving !== undefined) churn(port, leaving);
  await sleep(1000);
  console.log('{}');
}
