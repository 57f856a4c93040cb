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
const FIELDS = `GET /livez HTTP/1.1\r\nHost:a\r\n${'a:\r\n'.repeat(48)}\r\n`;

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
  '48 header fields': [FIELDS],
};

/**
 * By name: how many clients there are, how many response bytes one reads before it leaves, and how.
 * @type {Record<string, [clients: number, readBytes: number, leave: (socket: Socket) => void]>}
 */
export const CHURNS = {
  '150 clients that leave': [150, 200_000, (socket) => socket.destroy()],
  '200 clients that reset': [200, 30_000, (socket) => socket.resetAndDestroy()],
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
 * @param {[clients: number, readBytes: number, leave: (socket: Socket) => void]} form
 */
function churn(port, [clients, readBytes, leave]) {
  const bytes = bytesOf(PLAIN, '');
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
