/**
 * The JSON of etcd's gateway (`POST /v3/kv/txn`), as values.
 *
 *     {"compare":[{"target":"CREATE","result":"EQUAL","key":"cC9j…","create_revision":"0"}],
 *      "success":[{"request_put":{"key":"cC9j…","value":"MSA5…"}}],
 *      "failure":[{"request_range":{"key":"cC9j…","range_end":"cC9k","limit":"8"}}]}
 *
 * Keys and values are base64, an int64 is a string, and false, 0 and empty fields are absent from a
 * response. The gateway silently ignores unknown fields, so a wrong name in a compare would make
 * the put unconditional. The store therefore tests at start that compares work.
 */

/** A transaction: its compares and requests, as JSON has them. */
export interface Txn {
  readonly compare?: readonly object[];
  /** Done if all compares are true. */
  readonly success?: readonly object[];
  /** Done otherwise. */
  readonly failure?: readonly object[];
}

/** True if the etcd key does not exist, or if no key in the range up to `rangeEnd` exists. */
export function ifAbsent(key: string, rangeEnd?: string): object {
  return { target: 'CREATE', result: 'EQUAL', ...encodeRange(key, rangeEnd), create_revision: '0' };
}

/** True if the etcd key has exactly this value; or a greater or a lesser one, compared by bytes. */
export function ifValue(
  key: string,
  value: Buffer | string,
  result: 'EQUAL' | 'GREATER' | 'LESS' = 'EQUAL',
): object {
  return { target: 'VALUE', result, key: base64(key), value: base64(value) };
}

export function put(key: string, value: Buffer): object {
  return { request_put: { key: base64(key), value: base64(value) } };
}

/** Reads a key; or the keys up to `rangeEnd`, in ascending order, at most `limit` of them. */
export function range(key: string, rangeEnd?: string, limit?: number): object {
  return { request_range: { ...encodeRange(key, rangeEnd), limit: limit?.toString() } };
}

function encodeRange(key: string, rangeEnd: string | undefined): object {
  return { key: base64(key), range_end: rangeEnd === undefined ? undefined : base64(rangeEnd) };
}

/** Keys are ASCII. */
function base64(data: Buffer | string): string {
  return (typeof data === 'string' ? Buffer.from(data, 'latin1') : data).toString('base64');
}

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
}

export interface RangeResponse {
  readonly keyValues: readonly KeyValue[];
  /** How many keys are in the range; the limit may have left out some of them. */
  readonly count: number;
}

export interface TxnResponse {
  readonly kind: 'answered';
  readonly clusterId: string;
  /** The member that has responded. */
  readonly memberId: string | undefined;
  /** The auth token, after a log-in. */
  readonly token: string | undefined;
  readonly succeeded: boolean;
  /** The responses to the ranges that were read, in their order. */
  readonly ranges: readonly RangeResponse[];
}

/** An error with its code of gRPC. */
export interface GatewayError {
  readonly code?: number | undefined;
  readonly message?: unknown;
}

/** Returns what a text has, or an empty error if it is not a response of the gateway. */
export function decodeResponse(text: string): TxnResponse | GatewayError {
  try {
    const json = JSON.parse(text) as GatewayJson;
    const { header, succeeded = false, responses = [], token, code, error } = json;
    const { cluster_id: clusterId, member_id: memberId } = header ?? {};
    if (clusterId === undefined) return { code, message: json.message ?? error };
    const ranges = responses.flatMap(({ response_range: range }) => range ?? []).map(decodeRange);
    return { kind: 'answered', clusterId, memberId, token, succeeded, ranges };
  } catch {
    return {};
  }
}

function decodeRange({ kvs = [], count = '0' }: GatewayRange): RangeResponse {
  const keyValues = kvs.map(({ key, value = '' }) => ({
    key: Buffer.from(key, 'base64').toString('latin1'),
    value: Buffer.from(value, 'base64'),
  }));
  return { keyValues, count: Number(count) };
}

interface GatewayJson extends GatewayError {
  readonly header?: { readonly cluster_id?: string; readonly member_id?: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: GatewayRange }[];
  readonly token?: string;
  readonly error?: unknown;
}

interface GatewayRange {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[];
  readonly count?: string;
}
