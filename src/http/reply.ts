/** A reply: what a handler returns, and how it goes out over node:http. */

import type { ServerResponse } from 'node:http';
import { byteString, type ByteString } from '../base/byte-string.ts';
import type { ApiError } from './api-error.ts';

export interface Reply {
  readonly status: number;
  /** All header fields but Date and Connection: name, value, name, value … */
  readonly headers: readonly string[];
  /** Undefined where the status has none (204). */
  readonly body: ByteString | undefined;
}

export const NO_HEADERS: readonly string[] = [];

/**
 * Of every answer. Nothing here is for a cache: not what a key is needed for, nor a state of
 * health. And no browser is to take an answer for something else than it is said to be.
 */
export const COMMON_HEADERS: readonly string[] = [
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
];

export function bodyReply(
  status: number,
  contentType: string,
  body: ByteString,
  headers: readonly string[] = NO_HEADERS,
): Reply {
  const fields = ['Content-Type', contentType, 'Content-Length', String(body.length)];
  return { status, headers: [...fields, ...COMMON_HEADERS, ...headers], body };
}

/** A reply without a body (204). */
export function emptyReply(headers: readonly string[]): Reply {
  return { status: 204, headers: [...COMMON_HEADERS, ...headers], body: undefined };
}

/** A reply whose body is JSON text. */
export function jsonReply(status: number, body: ByteString, headers?: readonly string[]): Reply {
  return bodyReply(status, 'application/json', body, headers);
}

export function errorReply(error: ApiError): Reply {
  return jsonReply(error.status, byteString(JSON.stringify(error.body)), error.headers);
}

/**
 * Sends the reply whole. For HEAD node:http leaves the body out by itself.
 *
 * `extraHeaders` come after the reply's own. writeHead with a flat list is the fastest way that
 * node:http has: it neither stores nor looks up a field.
 */
export function sendReply(
  response: ServerResponse,
  reply: Reply,
  extraHeaders: readonly string[],
): void {
  writeHead(response, reply, extraHeaders);
  const { body } = reply;
  if (body === undefined) response.end();
  else if (body.length <= LONG_BODY_BYTES) response.end(body, 'latin1');
  else sendLongBody(response, body, 0);
}

const LONG_BODY_BYTES: number = 16 << 10;
const PIECE_BYTES: number = 64 << 10;

/**
 * An answer that was ended counts as sent: a server that stops would cut it off. A long one, which
 * the system may not take at once, is therefore ended when it has gone out. It goes in pieces, so
 * that a client that does not read costs one of them; and without a callback of `write`, which
 * others that stand between (Express's compression) do not call.
 */
function sendLongBody(response: ServerResponse, body: ByteString, start: number): void {
  for (let at = start; at < body.length; at += PIECE_BYTES) {
    if (response.destroyed) return;
    if (response.write(body.slice(at, at + PIECE_BYTES), 'latin1') === false) {
      response.once('drain', () => sendLongBody(response, body, at + PIECE_BYTES));
      return;
    }
  }
  response.end();
}

/** Sends all of the reply, but does not end it: the connection stays until the caller does. */
export function sendReplyOpen(
  response: ServerResponse,
  reply: Reply,
  extraHeaders: readonly string[],
): void {
  writeHead(response, reply, extraHeaders);
  if (reply.body === undefined || response.req.method === 'HEAD') response.flushHeaders();
  else response.write(reply.body, 'latin1');
}

function writeHead(response: ServerResponse, reply: Reply, extraHeaders: readonly string[]): void {
  const fields = extraHeaders.length === 0 ? reply.headers : [...reply.headers, ...extraHeaders];
  response.writeHead(reply.status, fields as string[]);
}
