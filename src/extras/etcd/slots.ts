/**
 * The layout of a log in etcd, and the format of its values.
 *
 *     petstore/meta                     {"petstore":1,"log":"<32 hex>","state":"ready"}
 *     petstore/c/0000000000000000000    the first commit, after no pet
 *     petstore/c/0000000000000000002    the commit after the pet 2
 *                └ a slot: the last id before the commit in 19 digits, so that slots are sorted
 *
 *     1 3610a686 <nonce, 32 hex> <SHA-256 of the commit before, 64 hex>␊{"after":2,"pets":[…]}
 *     │ └─ CRC-32 of everything after it
 *     └─ the format
 *
 * A slot is written once. Each proposal has a new nonce, so a value that matches byte for byte was
 * sent by this process. Each commit has the digest of the one before it, and the first has the
 * digest of the log's id, so a commit is valid only in its own log.
 */

import crypto, { randomBytes } from 'node:crypto';
import zlib from 'node:zlib';

/**
 * The log in etcd is not the one that this process has applied, or this process cannot read it any
 * further. The process must stop using it: other processes might not find what it stores.
 */
export class LogLostError extends Error {
  override readonly name: string = 'LogLostError';
}

/** The etcd keys of a log. */
export class Layout {
  readonly prefix: string;
  readonly meta: string;
  /** The first key after those with the prefix, which ends in a slash: in ASCII `0` follows it. */
  readonly end: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.meta = `${prefix}meta`;
    this.end = `${prefix.slice(0, -1)}0`;
  }

  /** Returns the slot of the commit after an id. */
  slot(after: bigint): string {
    return `${this.prefix}c/${String(after).padStart(19, '0')}`;
  }

  /** True if a key of the log has the form of a slot. */
  isSlot(key: string): boolean {
    return /^c\/[0-9]{19}$/.test(key.slice(this.prefix.length));
  }
}

/** The content of the meta key. */
export interface Meta {
  /** 32 random hex digits. */
  readonly logId: string;
  /** `ready`, or `importing` and a digest of the imported data. */
  readonly state: string;
}

/** Returns 32 random hex digits. */
export function randomHex(): string {
  return randomBytes(16).toString('hex');
}

export function encodeMeta({ logId, state }: Meta): Buffer {
  return Buffer.from(`{"petstore":1,"log":"${logId}","state":"${state}"}`);
}

/** Returns the content of a meta key. Throws LogLostError if it has another form. */
export function decodeMeta(key: string, value: Buffer): Meta {
  const [, logId, state] = META.exec(value.toString('latin1')) ?? [];
  if (logId === undefined || state === undefined) throw unknownFormat(key);
  return { logId, state };
}

const META: RegExp =
  /^\{"petstore":1,"log":"([0-9a-f]{32})","state":"(ready|importing [0-9a-f]{32})"\}$/;

/** Returns a value for a commit's text; `previous` is the digest of the commit before it. */
export function encodeValue(previous: string, text: string): Buffer {
  const rest = Buffer.from(`${randomHex()} ${previous}\n${text}`);
  const crc = zlib.crc32(rest).toString(16).padStart(8, '0');
  return Buffer.concat([Buffer.from(`1 ${crc} `), rest]);
}

export interface SlotContent {
  /** The format, the CRC and the nonce: no other value begins with them. */
  readonly head: string;
  /** The digest of the commit before it. */
  readonly previous: string;
  /** The commit's text. */
  readonly text: Buffer;
}

/** Returns what the value of a slot has. Throws LogLostError if the value is invalid. */
export function decodeValue(key: string, value: Buffer): SlotContent {
  if (!value.toString('latin1', 0, 2).startsWith('1 ')) throw unknownFormat(key);
  const start = value.toString('latin1', 0, START_LENGTH);
  const [, head = '', crc = '', previous = ''] = START.exec(start) ?? [];
  if (zlib.crc32(value.subarray(CRC_END)) !== Number.parseInt(crc, 16)) {
    throw new LogLostError(`${key} does not match its CRC`);
  }
  return { head, previous, text: value.subarray(START_LENGTH) };
}

/** True if a value begins as a commit does, of any format. */
export function beginsAsCommit(value: Buffer): boolean {
  return /^[1-9][0-9]* [0-9a-f]{8} /.test(value.toString('latin1', 0, 20));
}

function unknownFormat(key: string): LogLostError {
  return new LogLostError(
    `${key} has a format that this release cannot read: perhaps a newer release wrote it`,
  );
}

/** The end of the format, the CRC and the space after each. */
const CRC_END = 11;
/** What is before a commit's text. */
const START_LENGTH: number = CRC_END + 32 + 1 + 64 + 1;
const START: RegExp = /^(1 ([0-9a-f]{8}) [0-9a-f]{32}) ([0-9a-f]{64})\n$/;

/** Returns what the commit after this value has as `previous`. */
export function digestOf(value: Buffer | string): string {
  return crypto.hash('sha256', value, 'hex');
}
