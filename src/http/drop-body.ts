/**
 * What is left of a body after an early answer.
 *
 * To close a connection on a client that is still sending makes its system drop our answer unread
 * (RFC 9112 section 9.6). So the rest is read and thrown away, within bounds.
 */

import type { IncomingMessage } from 'node:http';

/** Reads the rest of the body, at most 1 MiB and 1 s of it, and then calls `done`, once. */
export function dropBody(request: IncomingMessage, done: () => void): void {
  let droppedBytes = 0;
  const finish = (): void => {
    clearTimeout(timer);
    request.off('data', onData).off('end', finish).off('close', finish);
    done();
  };
  const onData = (chunk: Buffer): void => {
    droppedBytes += chunk.length;
    if (droppedBytes < MAX_DROPPED_BYTES) return;
    finish();
    // One turn of the event loop would read another 2 MiB before the connection is gone.
    request.pause();
  };
  const timer = setTimeout(finish, MAX_DROP_MS);
  request.on('data', onData).on('end', finish).on('close', finish);
  request.on('error', () => undefined);
  request.resume();
}

const MAX_DROPPED_BYTES: number = 1 << 20;
const MAX_DROP_MS = 1000;
