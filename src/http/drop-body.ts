/**
 * What is left of a body after an early answer.
 *
 * To close a connection on a client that is still sending makes its system drop our answer unread
 * (RFC 9112 section 9.6). So the rest is read and thrown away, within bounds; and a client that has
 * more than that is told by a half-close that nobody reads, before the connection is cut.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';

/** Eight times the longest body that most clients send before they look at an answer. */
const MAX_DROPPED_BYTES: number = 8 << 20;
const MAX_DROP_MS = 2000;
/** Between the half-close and the cut: time for the answer to be read. */
const LINGER_MS = 500;

/**
 * Reads the rest of the request's body and ends its answer, of which all has been written. The
 * connection ends with it.
 */
export function dropBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  let droppedBytes = 0;
  const stop = (): void => {
    clearTimeout(timer);
    request.off('data', onData).off('end', onEnd).off('close', stop);
  };
  const onData = (chunk: Buffer): void => {
    droppedBytes += chunk.length;
    if (droppedBytes < MAX_DROPPED_BYTES) return;
    linger();
    // What comes now stays with the client, whose system tells it to wait.
    request.pause();
  };
  const onEnd = (): void => {
    stop();
    response.end();
  };
  const linger = (): void => {
    stop();
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS);
  };
  const timer = setTimeout(linger, MAX_DROP_MS);
  request.on('data', onData).on('end', onEnd).on('close', stop);
  request.on('error', () => undefined);
  request.resume();
}
