/** ApiResponse: what a handler returns, and how it goes out over node:http. */

import type { ServerResponse } from 'node:http';
import type { ApiError } from './api-error.ts';

export interface ApiResponse {
  readonly status: number;
  /** The response's own header fields, beside those that all have: name, value, name, value … */
  readonly headers: readonly string[];
  /** Both undefined where the status has no body (204). */
  readonly contentType: string | undefined;
  readonly body: string | undefined;
  /** The body's length in UTF-8. */
  readonly bodyBytes: number;
}

export const NO_HEADERS: readonly string[] = [];

/**
 * Of every response. Nothing here is for a cache: not what a key is needed for, nor a state of
 * health. And no browser is to take a response for something else than it is said to be.
 */
export const COMMON_HEADERS: readonly string[] = [
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
];

export function textResponse(
  status: number,
  contentType: string,
  body: string,
  headers: readonly string[] = NO_HEADERS,
): ApiResponse {
  return { status, headers, contentType, body, bodyBytes: Buffer.byteLength(body) };
}

/** A response without a body (204). */
export function emptyResponse(headers: readonly string[]): ApiResponse {
  return { status: 204, headers, contentType: undefined, body: undefined, bodyBytes: 0 };
}

/** A response whose body is JSON text. */
export function jsonResponse(
  status: number,
  body: string,
  headers?: readonly string[],
): ApiResponse {
  return textResponse(status, 'application/json', body, headers);
}

export function errorResponse(error: ApiError): ApiResponse {
  return jsonResponse(error.status, JSON.stringify(error.body), error.headers);
}

/**
 * Sends the response whole. For HEAD node:http leaves the body out by itself.
 *
 * `extraHeaders` come after the response's own. writeHead with a flat list is the fastest way that
 * node:http has: it neither stores nor looks up a field.
 */
export function sendResponse(
  response: ServerResponse,
  apiResponse: ApiResponse,
  extraHeaders: readonly string[],
): void {
  writeHead(response, apiResponse, extraHeaders);
  const { body } = apiResponse;
  if (body === undefined) response.end();
  else if (apiResponse.bodyBytes <= LONG_BODY_BYTES) response.end(body);
  else sendLongBody(response, Buffer.from(body), 0);
}

const LONG_BODY_BYTES: number = 16 << 10;
const PIECE_BYTES: number = 64 << 10;

/**
 * A response that was ended counts as sent: a server that stops would cut it off. A long one, which
 * the system may not take at once, is therefore ended when it has gone out. It goes in pieces, so
 * that a client that does not read costs one of them; and without a callback of `write`, which
 * others that stand between (Express's compression) do not call.
 */
function sendLongBody(response: ServerResponse, body: Buffer, start: number): void {
  for (let at = start; at < body.length; at += PIECE_BYTES) {
    if (response.destroyed) return;
    if (response.write(body.subarray(at, at + PIECE_BYTES)) === false) {
      response.once('drain', () => sendLongBody(response, body, at + PIECE_BYTES));
      return;
    }
  }
  response.end();
}

/** Sends all of the response, but does not end it: the connection stays until the caller does. */
export function sendResponseOpen(
  response: ServerResponse,
  apiResponse: ApiResponse,
  extraHeaders: readonly string[],
): void {
  writeHead(response, apiResponse, extraHeaders);
  if (apiResponse.body === undefined || response.req.method === 'HEAD') response.flushHeaders();
  else response.write(apiResponse.body);
}

function writeHead(
  response: ServerResponse,
  { status, headers, contentType, bodyBytes }: ApiResponse,
  extraHeaders: readonly string[],
): void {
  const fields =
    contentType === undefined
      ? [...COMMON_HEADERS]
      : ['Content-Type', contentType, 'Content-Length', String(bodyBytes), ...COMMON_HEADERS];
  fields.push(...headers, ...extraHeaders);
  response.writeHead(status, fields);
}
