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
/** How long the client may send nothing: most clients that get a response send no more. */
const MAX_SILENT_S = 2;
/** How long it may send at all: as long as a request may take. */
const MAX_LINGER_S = 20;

/**
 * Closes the socket after all written data has gone out: when the client has sent nothing for two
 * seconds, and at most 20 seconds later.
 *
 * However long the process is held up, that counts as one second, and what has arrived meanwhile is
 * read in the next. Otherwise a busy machine would reset the connection, and megabytes of the last
 * response, which the kernel has accepted and the client has not read yet, would be lost.
 */
export function lingeringClose(socket: Duplex): void {
  if (socket.writableEnded) return;
  let silentSeconds = 0;
  let discardedBytes = 0;
  socket.once('finish', () => {
    let seconds = 0;
    const timer = setInterval(() => {
      seconds += 1;
      silentSeconds += 1;
      if (silentSeconds === MAX_SILENT_S || seconds === MAX_LINGER_S) socket.destroy();
    }, 1000);
    socket.once('close', () => clearInterval(timer));
  });
  socket.end();
  const discard = (chunk: Buffer): void => {
    silentSeconds = 0;
    discardedBytes += chunk.length;
    // From here on TCP flow control stops the client.
    if (discardedBytes >= MAX_DISCARDED_BYTES) socket.pause();
  };
  // node:http's parser would read what comes as requests, so its `data` listener is replaced. Then
  // node:http no longer starts the reading of a socket that is resumed: so it is replaced only at a
  // `resume` that node:http has obeyed, which it does not while the client reads too slowly.
  const takeOver = (): void => {
    if (socket.isPaused()) return;
    socket.off('resume', takeOver).removeAllListeners('data').on('data', discard);
  };
  socket.pause().on('resume', takeOver).resume();
}
