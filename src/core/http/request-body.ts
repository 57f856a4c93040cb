/**
 * The request body, not longer than the limit. A handler reads it when it has found no other reason
 * to refuse the request: until then a client that waits for "100 Continue" sends none.
 *
 * A server that createPlainServer did not make has already sent "100 Continue" by itself: its
 * clients see a refusal only after it.
 */

import type { IncomingMessage } from 'node:http';
import { announcesBody, checkNumber, fieldOf } from './fields.ts';
import { httpError, type HttpError } from './http-error.ts';

export const DEFAULT_BODY_LIMIT_BYTES = 65_536;

/** The client closed the connection before its request was complete. */
export class ClientGoneError extends Error {
  override readonly name: string = 'ClientGoneError';
}

/**
 * Resolves with the body, which may be empty. Rejects with an HttpError (413, 431), with
 * ClientGoneError, or with a plain Error (a 500) if other code of the process, such as a body
 * parser, has read it.
 */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if (Number(fieldOf(request, 'content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
  // With optimizeEmptyRequests (http-server.ts) an empty body's stream may emit no event.
  if (!announcesBody(request)) return EMPTY;
  const body = await readBytes(request, limitBytes);
  checkNumber(request.rawTrailers);
  return body;
}

const EMPTY: Buffer = Buffer.alloc(0);

/**
 * Collects the body in one buffer that doubles as it fills. A list of chunks would take 400 bytes
 * for each byte of a client that sends single bytes.
 */
function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  // The stream does not emit `end` again. One that ended without a byte says so by `readableEnded`.
  // With an encoding it would emit text.
  const { readableDidRead, readableEnded, readableEncoding } = request;
  if (readableDidRead || readableEnded || readableEncoding !== null) {
    throw new Error('The body was read already: put the listener before any body parser');
  }
  if (request.destroyed) throw new ClientGoneError();
  return new Promise((resolve, reject) => {
    let bytes = EMPTY;
    let length = 0;
    const onData = (chunk: Buffer): void => {
      const end = length + chunk.length;
      if (end > limitBytes) {
        request.off('data', onData);
        return reject(tooLarge(limitBytes));
      }
      if (end > bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * end, limitBytes));
      chunk.copy(bytes, length);
      length = end;
    };
    request.on('data', onData);
    request.on('end', () => resolve(bytes.subarray(0, length)));
    request.on('error', () => reject(new ClientGoneError()));
    // If other code has paused it, `on` alone does not start it.
    request.resume();
  });
}

function tooLarge(limitBytes: number): HttpError {
  return httpError('body_too_large', `The body is longer than the limit of ${limitBytes} bytes`);
}
