/**
 * The header fields that the service looks at, taken from a request in one pass.
 *
 * node:http joins or drops fields that were sent twice; where "exactly one" matters, as for the API
 * key and the host, only the raw list tells. It is also faster: `request.headers` builds an object
 * of all fields first.
 */

export interface RequestHeaders {
  /** How many lines of Host there were, and the last one's value. */
  hostCount: number;
  host: string;
  authorizationCount: number;
  authorization: string;
  /** Undefined when absent. The parser refuses a second one. */
  contentLength: string | undefined;
  /** Undefined when absent; several lines are joined with a comma, and so never match a value. */
  contentType: string | undefined;
  contentEncoding: string | undefined;
  transferEncoding: string | undefined;
  expect: string | undefined;
  /** The value of each line. */
  idempotencyKeys: string[];
  asksToUpgrade: boolean;
}

/** `rawHeaders` is node:http's: name, value, name, value … */
export function readHeaders(rawHeaders: readonly string[]): RequestHeaders {
  const headers: RequestHeaders = {
    hostCount: 0,
    host: '',
    authorizationCount: 0,
    authorization: '',
    contentLength: undefined,
    contentType: undefined,
    contentEncoding: undefined,
    transferEncoding: undefined,
    expect: undefined,
    idempotencyKeys: [],
    asksToUpgrade: false,
  };
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    readField(headers, rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  return headers;
}

function readField(headers: RequestHeaders, name: string, value: string): void {
  switch (name.toLowerCase()) {
    case 'host':
      headers.hostCount += 1;
      headers.host = value;
      break;
    case 'authorization':
      headers.authorizationCount += 1;
      headers.authorization = value;
      break;
    case 'content-length':
      headers.contentLength = value;
      break;
    case 'content-type':
      headers.contentType = join(headers.contentType, value);
      break;
    case 'content-encoding':
      headers.contentEncoding = join(headers.contentEncoding, value);
      break;
    case 'transfer-encoding':
      headers.transferEncoding = join(headers.transferEncoding, value);
      break;
    case 'expect':
      headers.expect = join(headers.expect, value);
      break;
    case 'idempotency-key':
      headers.idempotencyKeys.push(value);
      break;
    case 'upgrade':
      headers.asksToUpgrade = true;
      break;
  }
}

function join(earlier: string | undefined, value: string): string {
  return earlier === undefined ? value : `${earlier}, ${value}`;
}

/** True when a body follows the header: node:http tells no other way before it has been read. */
export function announcesBody(headers: RequestHeaders): boolean {
  if (headers.transferEncoding !== undefined) return true;
  return headers.contentLength !== undefined && Number(headers.contentLength) > 0;
}
