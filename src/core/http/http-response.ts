/** HttpResponse: what a handler returns, and how node:http sends it. */

import type { ServerResponse } from 'node:http';
import type { FieldList, HttpError } from './http-error.ts';

export interface HttpResponse {
  readonly status: number;
  /** All header fields but those that depend on the request, such as Connection. */
  readonly headers: FieldList;
  /** '' if the status has no body (204). */
  readonly body: string;
  /** The body's length in UTF-8. */
  readonly bodyBytes: number;
  /** A long body in UTF-8, once it was sent: some responses are sent many times. */
  bytes?: Buffer;
}

/** Nothing may be cached, neither pets nor health, and browsers must not guess another type. */
const COMMON_HEADERS: FieldList = [
  ...['Cache-Control', 'no-store'],
  ...['X-Content-Type-Options', 'nosniff'],
];

/** A response with a body of this type. */
export function textResponse(
  status: number,
  contentType: string,
  body: string,
  headers: FieldList = [],
): HttpResponse {
  const bodyBytes = Buffer.byteLength(body);
  const content = ['Content-Type', contentType, 'Content-Length', String(bodyBytes)];
  return { status, headers: content.concat(COMMON_HEADERS, headers), body, bodyBytes };
}

/** A response without a body (204). */
export function emptyResponse(headers: FieldList): HttpResponse {
  return { status: 204, headers: COMMON_HEADERS.concat(headers), body: '', bodyBytes: 0 };
}

/** A response whose body is JSON text. */
export function jsonResponse(status: number, body: string, headers?: FieldList): HttpResponse {
  return textResponse(status, 'application/json', body, headers);
}

export function errorResponse({ code, message, status, headers }: HttpError): HttpResponse {
  return jsonResponse(status, JSON.stringify({ code, message, status }), headers);
}

/**
 * Sends the whole response, with `extraHeaders` after its own. For HEAD node:http omits the body by
 * itself.
 */
export function sendResponse(
  response: ServerResponse,
  httpResponse: HttpResponse,
  extraHeaders: FieldList,
): void {
  const { status, headers, body, bodyBytes } = httpResponse;
  // A flat list: the form in which node:http neither stores nor looks up a field, nor changes one.
  const fields = extraHeaders.length === 0 ? headers : headers.concat(extraHeaders);
  response.writeHead(status, fields as string[]);
  if (bodyBytes > LONG_BODY_BYTES)
    sendLongBody(response, (httpResponse.bytes ??= Buffer.from(body)), 0);
  // A text with as many bytes as characters is ASCII, which node:http copies faster as Latin-1.
  else response.end(body, bodyBytes === body.length ? 'latin1' : 'utf8');
}

const LONG_BODY_BYTES: number = 16 << 10;
const PIECE_BYTES: number = 64 << 10;

/**
 * Once `end` is called, node:http considers a response finished, and a graceful shutdown could cut
 * off data that the kernel has not accepted. So `end` is called only after the last piece of a long
 * response, and only one piece at a time is in the socket's queue. Waiting for the callback of
 * `write` instead of `drain` would work too, but a wrapper around the response (Express's
 * compression) may not call it.
 */
function sendLongBody(response: ServerResponse, body: Buffer, start: number): void {
  for (let at = start; at < body.length; at += PIECE_BYTES) {
    if (response.write(body.subarray(at, at + PIECE_BYTES)) === false) {
      response.once('drain', () => sendLongBody(response, body, at + PIECE_BYTES));
      return;
    }
  }
  response.end();
}
