/**
 * The layout of a log in etcd, and the bytes of its values.
 *
 *     petstore/meta                     {"petstore":1,"log":"<32 hex>","state":"ready"}
 *     petstore/c/0000000000000000000    the first commit: it follows on no id
 *     petstore/c/0000000000000000002    the commit after the pet 2
 *                └ a slot: the last id before the commit, 19 digits, so that they are in order
 *
 *     1 3610a686 <token, 32 hex> <SHA-256 of the commit before, 64 hex>␊{"after":2,"pets":[…]}
 *     │ └─ CRC-32 of all that follows it
 *     └─ the format
 *
 * A slot is written once and never again. The token is fresh for each proposal: a value that is
 * ours, byte for byte, is one that this process sent. The digests chain the commits to each other,
 * the first one to the log's id, so that no commit can stand in a log that is not its own.
 */

import crypto, { randomBytes } from 'node:crypto';
import zlib from 'node:zlib';
import { INT64_MAX } from '../../base/int64.ts';

/** The keys of a log. */
export interface Layout {
  readonly prefix: string;
  readonly meta: string;
  /** What the key of a slot begins with, and the first key behind all slots. */
  readonly slots: string;
  readonly slotsEnd: string;
  /** The first key behind the prefix. */
  readonly end: string;
}

export function layoutOf(prefix: string): Layout {
  return {
    prefix,
    meta: `${prefix}meta`,
    slots: `${prefix}c/`,
    slotsEnd: `${prefix}c0`,
    end: `${prefix.slice(0, -1)}0`,
  };
}

const ID_DIGITS = 19;

/** The key of the slot behind the id `after`. */
export function slotKey(layout: Layout, after: bigint): string {
  return `${layout.slots}${String(after).padStart(ID_DIGITS, '0')}`;
}

/** The key that bounds a range of slots up to `end`, that one not included. */
export function slotBound(layout: Layout, end: bigint): string {
  return end > INT64_MAX ? layout.slotsEnd : slotKey(layout, end);
}

/** What a log's meta says. */
export interface Meta {
  /** 32 random hex digits. */
  readonly logId: string;
  /** `ready`, or `importing` and the token of the import. */
  readonly state: string;
}

export function newLogId(): string {
  return randomBytes(16).toString('hex');
}

export function encodeMeta({ logId, state }: Meta): Buffer {
  return Buffer.from(`{"petstore":1,"log":"${logId}","state":"${state}"}`);
}

/** The meta in a value; undefined where that has another form, a newer release's perhaps. */
export function decodeMeta(value: Buffer): Meta | undefined {
  const [, logId, state] = META.exec(value.toString('latin1')) ?? [];
  return logId === undefined || state === undefined ? undefined : { logId, state };
}

const META: RegExp =
  /^\{"petstore":1,"log":"([0-9a-f]{32})","state":"(ready|importing [0-9a-f]{32})"\}$/;

/** The value of a commit with this text, which follows on the commit with the digest `previous`. */
export function encodeValue(previous: string, text: string, token: string = newNonce()): Buffer {
  const rest = Buffer.from(`${token} ${previous}\n${text}`);
  return Buffer.concat([Buffer.from(`${FORMAT} ${hex(zlib.crc32(rest))} `), rest]);
}

function newNonce(): string {
  return randomBytes(16).toString('hex');
}

/** The format, the CRC and the token of a value: no other value begins with them. */
export function headOf(value: Buffer): string {
  return value.toString('latin1', 0, NONCE_END);
}

/** What the value of a slot was found to be. */
export type DecodedValue =
  | { readonly kind: 'commit'; readonly previous: string; readonly text: Buffer }
  /** Of a newer release, perhaps, or nothing of ours. */
  | { readonly kind: 'unknown format' }
  | { readonly kind: 'damaged' };

export function decodeValue(value: Buffer): DecodedValue {
  if (!value.toString('latin1', 0, 2).startsWith(`${FORMAT} `)) return { kind: 'unknown format' };
  const head = HEAD.exec(value.toString('latin1', 0, HEAD_LENGTH));
  const [, crc, previous] = head ?? [];
  if (crc === undefined || previous === undefined) return { kind: 'damaged' };
  if (hex(zlib.crc32(value.subarray(CRC_END))) !== crc) return { kind: 'damaged' };
  return { kind: 'commit', previous, text: value.subarray(HEAD_LENGTH) };
}

const FORMAT = '1';
/** The format, the CRC and the spaces behind them. */
const CRC_END = 11;
const NONCE_END: number = CRC_END + 32;
const HEAD_LENGTH: number = NONCE_END + 1 + 64 + 1;
const HEAD: RegExp = /^1 ([0-9a-f]{8}) [0-9a-f]{32} ([0-9a-f]{64})\n$/;

/** What the commit after this value has as `previous`. */
export function digestOf(value: Buffer | string): string {
  return crypto.hash('sha256', value, 'hex');
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
