/**
 * Closing a connection behind its last answer.
 *
 * To close a socket while bytes of its client lie unread, or are still on their way, makes the
 * system reset the connection, and drop what it has not yet sent of the answer (RFC 9112 section
 * 9.6). So it is half-closed, and what comes is read and thrown away until the client closes its
 * side, too, within bounds.
 */

import type { Duplex } from 'node:stream';

const MAX_DROPPED_BYTES: number = 8 << 20;
const MAX_LINGER_MS = 2000;

/** Closes the socket when all that was written to it has gone out, or after two seconds more. */
export function closeGently(socket: Duplex): void {
  if (socket.writableEnded) return;
  socket.once('finish', () => {
    const timer = setTimeout(() => socket.destroy(), MAX_LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  });
  socket.end();
  let droppedBytes = 0;
  // The parser is among them: what it would take for requests must not be processed.
  socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
    droppedBytes += chunk.length;
    // What comes now stays with the client, whose system tells it to wait.
    if (droppedBytes >= MAX_DROPPED_BYTES) socket.pause();
  });
  socket.resume();
}
