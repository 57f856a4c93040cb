/**
 * The header fields of a request, and the rules of HTTP/1.1 about them that node:http's parser does
 * not enforce (RFC 9110 and RFC 9112): the version, Transfer-Encoding and Host.
 *
 * A proxy may understand a request that breaks one of these rules differently, and take a part of
 * it for the next request (request smuggling). For example, to a proxy that ignores an unknown
 * coding, `Transfer-Encoding: xchunked` with `Content-Length: 5` has a body of five bytes. So such
 * a request is refused before any other check, and its connection is closed.
 *
 * Some violations cannot be seen here: the parser accepts RTSP/1.0 and RTSP/1.1 as HTTP, ICE/1.0
 * with the method SOURCE, and two spaces after the method. They get the same responses as HTTP.
 */

import type { IncomingMessage } from 'node:http';
import { quote } from '../base/quote.ts';
import { httpError, malformed, unsupportedVersion } from './http-error.ts';

/** The most fields of a header, or of a trailer: 16 KiB would hold 4,000, at 100 bytes for each. */
export const MAX_FIELDS = 255;

/**
 * Returns the field with this name, which is given in small letters. Several lines of one field are
 * joined with a comma and a space. No host or credential has these, and no type outside quotes, so
 * such a field is invalid if it is sent twice.
 *
 * node:http's `rawHeaders` has name, value, name, value … Its other lists drop fields that were
 * sent twice, such as a second Host or Authorization.
 */
export function fieldOf({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  let found: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i]!;
    if (sent.length !== name.length || sent.toLowerCase() !== name) continue;
    const value = rawHeaders[i + 1]!;
    found = found === undefined ? value : `${found}, ${value}`;
  }
  return found;
}

/**
 * Returns true if a header or a trailer has more fields than are allowed. Then node:http has
 * silently dropped some, perhaps a second Host, and nothing can be concluded from the others.
 */
export function areTooMany(rawFields: readonly string[]): boolean {
  return rawFields.length > 2 * MAX_FIELDS;
}

/** Throws the error (431) of a header or a trailer with too many fields. */
export function checkNumber(rawFields: readonly string[]): void {
  if (!areTooMany(rawFields)) return;
  throw httpError('headers_too_large', `There are more than ${MAX_FIELDS} header fields`);
}

/**
 * Returns true if a body follows the header. Before the end of the request, node:http has no other
 * sign of a body.
 */
export function announcesBody(request: IncomingMessage): boolean {
  if (fieldOf(request, 'transfer-encoding') !== undefined) return true;
  return Number(fieldOf(request, 'content-length') ?? 0) > 0;
}

/**
 * Throws the error of a request that has too many fields, or breaks a rule of the version,
 * Transfer-Encoding or Host.
 */
export function checkFields(request: IncomingMessage): void {
  checkNumber(request.rawHeaders);
  const { httpVersionMajor: major, httpVersionMinor: minor } = request;
  if (major !== 1) throw unsupportedVersion(`HTTP/${request.httpVersion}`);
  const transferEncoding = fieldOf(request, 'transfer-encoding');
  if (transferEncoding !== undefined) {
    if (minor === 0) throw malformed('Transfer-Encoding is not part of HTTP/1.0');
    if (transferEncoding.toLowerCase() !== 'chunked') {
      const message = `Transfer-Encoding must be chunked, not ${quote(transferEncoding)}`;
      throw httpError('unsupported_transfer_coding', message);
    }
  }
  const host = fieldOf(request, 'host');
  if (host === undefined && minor > 0) throw malformed('A Host field is required');
  if (host !== undefined && !HOST.test(host)) throw malformed(`Host ${quote(host)} is not a host`);
}

/** Matches a host, or an IP literal in brackets, with or without a port; never empty. */
export const HOST: RegExp = /^(?:\[[0-9a-fA-Fv:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]+)(?::[0-9]*)?$/;
