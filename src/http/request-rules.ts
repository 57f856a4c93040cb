/**
 * The rules of HTTP/1.1 that node:http's parser lets pass (RFC 9110 and RFC 9112).
 *
 * A request that breaks one is not understood the same way by everybody between the client and us,
 * which is what request smuggling lives on; so it is refused before anything else is looked at, and
 * its connection closed.
 *
 * One fault cannot be seen from here: the parser takes RTSP/1.0 and RTSP/1.1 for HTTP, and ICE/1.0
 * with the method SOURCE. They are answered as if they were.
 */

import type { IncomingMessage } from 'node:http';
import { quote } from '../base/quote.ts';
import { ApiError, malformed, unsupportedVersion } from './api-error.ts';
import type { RequestHeaders } from './request-headers.ts';

/** Throws an ApiError for a request that no server should serve. */
export function checkRequestRules(request: IncomingMessage, headers: RequestHeaders): void {
  const { httpVersionMajor: major, httpVersionMinor: minor } = request;
  if (major !== 1 || minor > 1) throw unsupportedVersion(`HTTP/${request.httpVersion}`);
  const { transferEncoding } = headers;
  if (transferEncoding !== undefined) {
    if (minor === 0) throw malformed('Transfer-Encoding is not part of HTTP/1.0');
    if (transferEncoding.toLowerCase() !== 'chunked') {
      const message = `Transfer-Encoding must be chunked, not ${quote(transferEncoding)}`;
      throw new ApiError('unsupported_transfer_coding', message);
    }
  }
  checkHost(headers, minor === 1);
}

function checkHost({ hostCount, host }: RequestHeaders, isRequired: boolean): void {
  if (hostCount === 0 && !isRequired) return;
  if (hostCount !== 1) throw malformed(`Expected one Host header field, not ${hostCount}`);
  if (!isHost(host)) throw malformed(`Host ${quote(host)} is not a host`);
}

/**
 * True for a host, or an IP literal in brackets, and a port (RFC 9110 section 7.2); never empty.
 */
export function isHost(text: string): boolean {
  return HOST.test(text);
}

const HOST: RegExp = /^(?:\[[0-9a-fA-Fv:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]+)(?::[0-9]*)?$/;
