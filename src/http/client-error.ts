/**
 * Requests that node:http's parser rejects: which ApiError each one is, and how that is sent as the
 * last response of its connection.
 */

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, malformed, unsupportedVersion } from './api-error.ts';
import { COMMON_HEADERS } from './api-response.ts';
import { lingeringClose } from './lingering-close.ts';

/** Converts the error of node:http's `clientError` event to an ApiError. */
export function toApiError(error: NodeJS.ErrnoException, maxHeaderSize: number): ApiError {
  const reason = 'reason' in error ? String(error.reason) : error.message;
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headers_too_large', `The header is longer than ${maxHeaderSize} bytes`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time');
    case 'HPE_PAUSED_H2_UPGRADE':
      return unsupportedVersion('HTTP/2');
    case 'HPE_INVALID_VERSION':
      // The request names a version that is not one of HTTP's. With any other reason, the text is
      // not a version at all.
      if (reason === 'Invalid HTTP version') return unsupportedVersion('This version of HTTP');
  }
  return malformed(`The request is not well-formed HTTP: ${reason}`);
}

/**
 * Returns the Origin of a request whose header the parser rejects, taken from the bytes at fault;
 * undefined if they have none. A wrong guess does no harm: the error has no secrets.
 */
export function findOrigin(error: Error): string | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  const match = /^origin:[ \t]*([!-~]{1,255})[ \t]*\r?$/im.exec(error.rawPacket.toString('latin1'));
  // A copy, because a slice keeps the whole string in memory.
  return match === null ? undefined : Buffer.from(match[1]!).toString();
}

/** Writes the error as the connection's last response, and closes the connection. */
export function endWithError(socket: Duplex, error: ApiError, headers: readonly string[]): void {
  const body = JSON.stringify(error.body);
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  const fields = [...COMMON_HEADERS, ...error.headers, ...headers];
  for (let i = 0; i + 1 < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  lingeringClose(socket);
}
