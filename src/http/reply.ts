/** A reply: what a handler returns, and how it goes out over node:http. */

import type { ServerResponse } from 'node:http';
import type { ApiError } from './api-error.ts';

export interface Reply {
  readonly status: number;
  /** All header fields but Date and Connection: name, value, name, value … */
  readonly headers: readonly string[];
  /** Undefined where the status has none (204). */
  readonly body: string | undefined;
  /** The body's length in UTF-8. */
  readonly bodyBytes: number;
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
  body: string,
  headers: readonly string[] = NO_HEADERS,
): Reply {
  const bodyBytes = Buffer.byteLength(body);
  const fields = ['Content-Type', contentType, 'Content-Length', String(bodyBytes)];
  return { status, headers: [...fields, ...COMMON_HEADERS, ...headers], body, bodyBytes };
}

/** A reply without a body (204). */
export function emptyReply(headers: readonly string[]): Reply {
  return { status: 204, headers: [...COMMON_HEADERS, ...headers], body: undefined, bodyBytes: 0 };
}

/** A reply whose body is JSON text. */
export function jsonReply(status: number, body: string, headers?: readonly string[]): Reply {
  return bodyReply(status, 'application/json', body, headers);
}

export function errorReply(error: ApiError): Reply {
  return jsonReply(error.status, JSON.stringify(error.body), error.headers);
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
  // An answer that was ended counts as sent: a server that stops would cut it off. A long
  // one, which the system may not take at once, is therefore ended when it has gone out.
  if (body === undefined) response.end();
  else if (reply.bodyBytes <= LONG_BODY_BYTES) response.end(body);
  else response.write(body, () => response.end());
}

const LONG_BODY_BYTES: number = 16 << 10;

/** Sends all of the reply, but does not end it: the connection stays until the caller does. */
export function sendReplyOpen(
  response: ServerResponse,
  reply: Reply,
  extraHeaders: readonly string[],
): void {
  writeHead(response, reply, extraHeaders);
  if (reply.body === undefined || response.req.method === 'HEAD') response.flushHeaders();
  else response.write(reply.body);
}

function writeHead(response: ServerResponse, reply: Reply, extraHeaders: readonly string[]): void {
  const fields = extraHeaders.length === 0 ? reply.headers : [...reply.headers, ...extraHeaders];
  response.writeHead(reply.status, fields as string[]);
}
