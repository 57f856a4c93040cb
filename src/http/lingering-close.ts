/**
 * Lingering close: closes a connection after its last response without a TCP reset.
 *
 * If a socket is closed while bytes of its client are unread or in transit, the kernel resets the
 * connection and discards what it has not yet sent of the response (RFC 9112 section 9.6). So the
 * socket is half-closed first. What the client still sends, such as the rest of a refused body, is
 * read and discarded until the client closes its side, within bounds.
 */

import type { Duplex } from 'node:stream';

/** curl sends a body of up to 1 MiB without waiting for "100 Continue": eight times that. */
const MAX_DISCARDED_BYTES: number = 8 << 20;
const MAX_LINGER_MS = 2000;

/** Closes the socket after all written data has gone out, and at most two seconds later. */
export function lingeringClose(socket: Duplex): void {
  if (socket.writableEnded) return;
  socket.once('finish', () => {
    const timer = setTimeout(() => socket.destroy(), MAX_LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  });
  socket.end();
  let discardedBytes = 0;
  const discard = (chunk: Buffer): void => {
    discardedBytes += chunk.length;
    // From here on TCP flow control stops the client.
    if (discardedBytes >= MAX_DISCARDED_BYTES) socket.pause();
  };
  // node:http's parser would read what comes as requests, so its `data` listener is replaced. If
  // the socket is paused, this waits until the parser has resumed it.
  const takeOver = (): unknown => socket.removeAllListeners('data').on('data', discard);
  if (socket.isPaused()) socket.once('resume', takeOver).resume();
  else takeOver();
}
