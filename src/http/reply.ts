/** A reply: what a handler returns, and how it goes out over node:http. */

import type { ServerResponse } from 'node:http';
import type { ApiError } from './api-error.ts';

export interface Reply {
  readonly status: number;
  /** Header fields beside those that `sendReply` adds: name, value, name, value … */
  readonly headers: readonly string[];
  /** Undefined where the status has none (204). */
  readonly body: Buffer | undefined;
}

export const NO_HEADERS: readonly string[] = [];

/** A reply whose body is JSON text. */
export function jsonReply(
  status: number,
  body: Buffer,
  headers: readonly string[] = NO_HEADERS,
): Reply {
  return { status, headers: [...JSON_TYPE, ...headers], body };
}

export function errorReply(error: ApiError): Reply {
  return jsonReply(error.status, Buffer.from(JSON.stringify(error.body)), error.headers);
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
  extraHeaders: readonly string[] = NO_HEADERS,
): void {
  writeHead(response, reply, extraHeaders);
  response.end(reply.body);
}

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

const JSON_TYPE: readonly string[] = ['Content-Type', 'application/json'];

function writeHead(response: ServerResponse, reply: Reply, extraHeaders: readonly string[]): void {
  const fields = [...reply.headers, ...extraHeaders];
  if (reply.body !== undefined) fields.push('Content-Length', String(reply.body.length));
  response.writeHead(reply.status, fields);
}
