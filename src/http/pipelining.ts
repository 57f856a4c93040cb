/**
 * Pipelined requests, one at a time.
 *
 * A client may send many requests before it reads an answer (RFC 9112 section 9.3.2). node:http
 * hands over all of a chunk at once, and keeps the answers until their turn: 64 KiB of short
 * requests for long lists became 6 MB of answers for each connection, and everybody else waited for
 * them. So a request is looked at only when the answer before it has gone out to the system, and in
 * a later turn of the event loop: a client that sends much or does not read holds up nobody but
 * itself.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Calls `begin` when the request's turn on its connection has come: nearly always at once. */
export function inTurn(
  request: IncomingMessage,
  response: ServerResponse,
  begin: () => void,
): void {
  // node:http gives an answer the socket when its turn has come.
  if (response.socket !== null) return begin();
  const { socket } = request;
  const before = lastWaiting.get(socket) ?? answerUnderWay(socket);
  lastWaiting.set(socket, response);
  if (before === undefined) begin();
  else before.once('finish', () => setImmediate(begin));
}

/** The answer that is being written to a socket; node:http has no public name for it. */
export function answerUnderWay(socket: object): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** The last answer of each connection that had to wait. */
const lastWaiting = new WeakMap<Socket, ServerResponse>();
