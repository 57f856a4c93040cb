/**
 * The rules of HTTP/1.1 that node:http's parser does not enforce (RFC 9110 and RFC 9112).
 *
 * If a request breaks one of them, a proxy may understand it differently, which makes request
 * smuggling possible. So it is refused before any other check, and its connection is closed.
 *
 * One violation cannot be seen here: the parser accepts RTSP/1.0 and RTSP/1.1 as HTTP, and ICE/1.0
 * with the method SOURCE. They get the same responses as HTTP.
 */

import type { IncomingMessage } from 'node:http';
import { quote } from '../base/quote.ts';
import { ApiError, malformed, unsupportedVersion } from './api-error.ts';
import type { RequestHeaders } from './request-headers.ts';

/** Throws an ApiError if the request breaks a rule. */
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

/** Returns true for a host, or an IP literal in brackets, with or without a port; never empty. */
export function isHost(text: string): boolean {
  return HOST.test(text);
}

const HOST: RegExp = /^(?:\[[0-9a-fA-Fv:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]+)(?::[0-9]*)?$/;
