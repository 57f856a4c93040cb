/**
 * The header fields that the service uses, read in one pass.
 *
 * node:http joins or drops fields that were sent twice. Only its raw list shows whether there was
 * exactly one, which matters for the API key and the host.
 */

export interface RequestHeaders extends Record<JoinedField, string | undefined> {
  /** The number of Host lines, and the value of the last one. */
  hostCount: number;
  host: string;
  authorizationCount: number;
  authorization: string;
  /** The value of each line. */
  idempotencyKeys: string[];
  asksToUpgrade: boolean;
}

/** Several lines are joined with a comma, so a repeated Content-Type never matches. */
type JoinedField =
  'contentLength' | 'contentType' | 'contentEncoding' | 'transferEncoding' | 'expect';

/** `rawHeaders` is node:http's: name, value, name, value … */
export function readHeaders(rawHeaders: readonly string[]): RequestHeaders {
  const headers: RequestHeaders = {
    hostCount: 0,
    host: '',
    authorizationCount: 0,
    authorization: '',
    idempotencyKeys: [],
    asksToUpgrade: false,
    contentLength: undefined,
    contentType: undefined,
    contentEncoding: undefined,
    transferEncoding: undefined,
    expect: undefined,
  };
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    readField(headers, rawHeaders[i]!.toLowerCase(), rawHeaders[i + 1]!);
  }
  return headers;
}

function readField(headers: RequestHeaders, name: string, value: string): void {
  if (name === 'host') {
    headers.hostCount += 1;
    headers.host = value;
  } else if (name === 'authorization') {
    headers.authorizationCount += 1;
    headers.authorization = value;
  } else if (name === 'idempotency-key') {
    headers.idempotencyKeys.push(value);
  } else if (name === 'upgrade') {
    headers.asksToUpgrade = true;
  } else {
    const joined = JOINED.get(name);
    if (joined === undefined) return;
    const earlier = headers[joined];
    headers[joined] = earlier === undefined ? value : `${earlier}, ${value}`;
  }
}

const JOINED: ReadonlyMap<string, JoinedField> = new Map<string, JoinedField>([
  ['content-length', 'contentLength'],
  ['content-type', 'contentType'],
  ['content-encoding', 'contentEncoding'],
  ['transfer-encoding', 'transferEncoding'],
  ['expect', 'expect'],
]);

/**
 * Returns true if a body follows the header. Before the end of the request, node:http has no other
 * sign of a body.
 */
export function announcesBody(headers: RequestHeaders): boolean {
  if (headers.transferEncoding !== undefined) return true;
  return headers.contentLength !== undefined && Number(headers.contentLength) > 0;
}
