/**
 * Clients that pipeline: each of so many connections writes 64 KiB of one request, or goes on
 * writing (`isEndless`). They read, read nothing, or close their side at once (`form`).
 *
 * Prints a line when all are connected and have begun to write, and stays until it is killed: once
 * the clients of bare node:http are gone, it serves what they sent all the same, in 3 GB.
 */

import { once } from 'node:events';
import { connect } from 'node:net';

const { port, connections, request, form, isEndless } = JSON.parse(process.argv[2]);

const sockets = [];
for (let i = 0; i < connections; i += 1) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  sockets.push(socket);
}
const count = Math.floor(65_536 / request.length);
const bytes = Buffer.from(request.repeat(count));
for (const socket of sockets) {
  if (form === 'read nothing') socket.pause();
  else socket.resume();
  if (isEndless) writeOn(socket);
  else socket.write(bytes);
  if (form === 'close their side') socket.end();
}
console.log(JSON.stringify({ sent: connections * count }));

function writeOn(socket) {
  const write = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', write);
  write();
}
