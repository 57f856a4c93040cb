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

/** A compare or a request of a transaction, as JSON has it. */
export type TxnPart = object;

/** True if the etcd key does not exist, or if no key in the range up to `rangeEnd` exists. */
export function ifAbsent(key: string, rangeEnd?: string): TxnPart {
  return { target: 'CREATE', result: 'EQUAL', ...encodeRange(key, rangeEnd), create_revision: '0' };
}

/** True if the etcd key has exactly this value. */
export function ifValueIs(key: string, value: Buffer): TxnPart {
  return compareValue(key, 'EQUAL', value);
}

/** Both are true if the etcd key's value begins with this text and a space. */
export function ifValueBegins(key: string, text: string): readonly TxnPart[] {
  return [
    compareValue(key, 'GREATER', `${text} `),
    // In ASCII `!` follows the space.
    compareValue(key, 'LESS', `${text}!`),
  ];
}

function compareValue(key: string, result: string, value: Buffer | string): TxnPart {
  return { target: 'VALUE', result, key: base64(key), value: base64(value) };
}

export function put(key: string, value: Buffer): TxnPart {
  return { request_put: { key: base64(key), value: base64(value) } };
}

/** Reads a key; or the keys up to `rangeEnd`, in ascending order, at most `limit` of them. */
export function range(key: string, rangeEnd?: string, limit?: number): TxnPart {
  return { request_range: { ...encodeRange(key, rangeEnd), limit: limit?.toString() } };
}

/** Reads the names of the keys in a range, at most `limit` of them. */
export function keysIn(key: string, rangeEnd: string, limit?: number): TxnPart {
  const names = { limit: limit?.toString(), keys_only: true };
  return { request_range: { ...encodeRange(key, rangeEnd), ...names } };
}

function encodeRange(key: string, rangeEnd: string | undefined): TxnPart {
  return { key: base64(key), range_end: rangeEnd === undefined ? undefined : base64(rangeEnd) };
}

export interface Txn {
  readonly compare: readonly TxnPart[];
  /** Done if all compares are true. */
  readonly success: readonly TxnPart[];
  /** Done otherwise. */
  readonly failure: readonly TxnPart[];
}

export function encodeTxn(txn: Txn): string {
  return JSON.stringify(txn);
}

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
}

export interface RangeResponse {
  readonly keyValues: readonly KeyValue[];
  /** True if the limit left out some keys. */
  readonly hasMore: boolean;
}

export interface TxnResponse {
  readonly clusterId: string;
  /** The member that has responded. */
  readonly memberId: string | undefined;
  readonly succeeded: boolean;
  /** The responses to the ranges that were read, in their order. */
  readonly ranges: readonly RangeResponse[];
}

/** Returns the response to a transaction, or undefined if the text is not one. */
export function decodeTxnResponse(text: string): TxnResponse | undefined {
  return decode(text, ({ header, succeeded, responses = [] }: GatewayTxnResponse) => {
    const { cluster_id: clusterId, member_id: memberId } = header ?? {};
    if (clusterId === undefined) return undefined;
    const ranges = responses.flatMap(({ response_range: found }) =>
      found === undefined ? [] : [decodeRange(found)],
    );
    return { clusterId, memberId, succeeded: succeeded === true, ranges };
  });
}

function decodeRange({ kvs = [], more = false }: GatewayRange): RangeResponse {
  const keyValues = kvs.map(({ key, value = '' }) => ({
    key: Buffer.from(key, 'base64').toString('latin1'),
    value: Buffer.from(value, 'base64'),
  }));
  return { keyValues, hasMore: more };
}

/** Returns the gateway's error, whose code is one of gRPC, or undefined if the text is not one. */
export function decodeError(
  text: string,
): { readonly code: number; readonly message: string } | undefined {
  return decode(text, ({ code, message, error }: Record<string, unknown>) =>
    typeof code === 'number' ? { code, message: String(message ?? error) } : undefined,
  );
}

/** Returns the auth token in the response to a login, or undefined if it has none. */
export function decodeToken(text: string): string | undefined {
  return decode(text, ({ token }: Record<string, unknown>) =>
    typeof token === 'string' && token !== '' ? token : undefined,
  );
}

/** Returns what `read` finds in a JSON text, or undefined if the text has another form. */
function decode<Json, Value>(text: string, read: (json: Json) => Value): Value | undefined {
  try {
    return read(JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** Keys are ASCII. */
function base64(data: Buffer | string): string {
  return (typeof data === 'string' ? Buffer.from(data, 'latin1') : data).toString('base64');
}

interface GatewayTxnResponse {
  readonly header?: { readonly cluster_id?: string; readonly member_id?: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: GatewayRange }[];
}

interface GatewayRange {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[];
  readonly more?: boolean;
}
