/**
 * The JSON of etcd's gateway (`POST /v3/kv/txn`), as values.
 *
 *     {"compare":[{"target":"CREATE","result":"EQUAL","key":"cC9j…","create_revision":"0"}],
 *      "success":[{"request_put":{"key":"cC9j…","value":"MSA5…"}}],
 *      "failure":[{"request_range":{"key":"cC9j…","range_end":"cC9k","limit":"8"}}]}
 *
 * Keys and values are base64, an int64 is a string, and false, 0 and empty fields are absent from
 * an answer. The gateway passes over a field that it does not know without a word, so that a wrong
 * name in a compare would make its put unconditional: the store proves its compares at the start.
 */

/** A part of a transaction, as its JSON text. */
export type TxnPart = string & { readonly part?: never };

/** Holds where the key was never created, or none in the range up to `rangeEnd`. */
export function ifAbsent(key: string, rangeEnd?: string): TxnPart {
  const range = rangeEnd === undefined ? '' : `,"range_end":"${base64(rangeEnd)}"`;
  return `{"target":"CREATE","result":"EQUAL","key":"${base64(key)}"${range},"create_revision":"0"}`;
}

/** Holds where the key has just this value. */
export function ifValueIs(key: string, value: Buffer): TxnPart {
  return compareValue(key, 'EQUAL', value);
}

/** Both hold where the key's value begins with this text and a space: it lies between the two. */
export function ifValueBegins(key: string, text: string): readonly TxnPart[] {
  return [
    compareValue(key, 'GREATER', Buffer.from(`${text} `)),
    // What follows the space in ASCII.
    compareValue(key, 'LESS', Buffer.from(`${text}!`)),
  ];
}

function compareValue(key: string, result: string, value: Buffer): TxnPart {
  const valueText = value.toString('base64');
  return `{"target":"VALUE","result":"${result}","key":"${base64(key)}","value":"${valueText}"}`;
}

export function put(key: string, value: Buffer): TxnPart {
  return `{"request_put":{"key":"${base64(key)}","value":"${value.toString('base64')}"}}`;
}

export interface Range {
  readonly key: string;
  /** The first key that is not in it; without one the range is the key alone. */
  readonly rangeEnd?: string | undefined;
  /** At most so many keys; any number without it. */
  readonly limit?: number | undefined;
  /** True if their values are not wanted. */
  readonly isKeysOnly?: boolean | undefined;
}

/** The keys of a range in ascending order, which is etcd's own order when none is asked for. */
export function range({ key, rangeEnd, limit, isKeysOnly = false }: Range): TxnPart {
  const fields = [`"key":"${base64(key)}"`];
  if (rangeEnd !== undefined) fields.push(`"range_end":"${base64(rangeEnd)}"`);
  if (limit !== undefined) fields.push(`"limit":"${limit}"`);
  if (isKeysOnly) fields.push('"keys_only":true');
  return `{"request_range":{${fields.join(',')}}}`;
}

export interface Txn {
  /** All have to hold. */
  readonly compare: readonly TxnPart[];
  /** What is done then, and else. */
  readonly success: readonly TxnPart[];
  readonly failure: readonly TxnPart[];
}

export function encodeTxn({ compare, success, failure }: Txn): string {
  return (
    `{"compare":[${compare.join(',')}],"success":[${success.join(',')}],` +
    `"failure":[${failure.join(',')}]}`
  );
}

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
}

export interface RangeResponse {
  readonly keyValues: readonly KeyValue[];
  /** True when the limit left some out. */
  readonly hasMore: boolean;
}

export interface TxnResponse {
  readonly clusterId: string;
  readonly succeeded: boolean;
  /** The answers to the ranges among what was done, in their order. */
  readonly ranges: readonly RangeResponse[];
}

/** The answer to a transaction; undefined where the text is none. */
export function decodeTxnAnswer(text: string): TxnResponse | undefined {
  try {
    const { header, succeeded = false, responses = [] } = JSON.parse(text) as GatewayTxnAnswer;
    if (header?.cluster_id === undefined) return undefined;
    const ranges = responses.flatMap(({ response_range: found }) =>
      found === undefined ? [] : [decodeRange(found)],
    );
    return { clusterId: header.cluster_id, succeeded: succeeded === true, ranges };
  } catch {
    return undefined;
  }
}

function decodeRange({ kvs = [], more = false }: GatewayRange): RangeResponse {
  const keyValues = kvs.map(({ key, value = '' }) => ({
    key: Buffer.from(key, 'base64').toString('latin1'),
    value: Buffer.from(value, 'base64'),
  }));
  return { keyValues, hasMore: more };
}

export interface GatewayError {
  /** A gRPC status code, such as 8 for "resource exhausted". */
  readonly code: number;
  readonly message: string;
}

/**
 * What the gateway says where it gives no answer; undefined where the text is nothing of the kind.
 */
export function decodeError(text: string): GatewayError | undefined {
  try {
    const { code, message, error } = JSON.parse(text) as Record<string, unknown>;
    return typeof code === 'number' ? { code, message: String(message ?? error) } : undefined;
  } catch {
    return undefined;
  }
}

/** The token that a log-in gave; undefined where the text has none. */
export function decodeToken(text: string): string | undefined {
  try {
    const { token } = JSON.parse(text) as Record<string, unknown>;
    return typeof token === 'string' && token !== '' ? token : undefined;
  } catch {
    return undefined;
  }
}

/** Keys are ASCII. */
function base64(key: string): string {
  return Buffer.from(key, 'latin1').toString('base64');
}

interface GatewayTxnAnswer {
  readonly header?: { readonly cluster_id?: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: GatewayRange }[];
}

interface GatewayRange {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[];
  readonly more?: boolean;
}
