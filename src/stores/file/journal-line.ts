/**
 * The lines of a journal: a header, and a line for each commit.
 *
 *     1e0d9802 00000041 {"journal":1,"snapshot":"709ddd80","lastId":0}␊
 *     4e9bc562 0000004c {"after":0,"pets":[{"id":1,"name":"Rex","categoryId":1}]}␊
 *     └──────┘ └──────┘ the line's length in bytes, in hex, the line feed included
 *     └─ CRC-32 of all bytes before this line, and of this line from the space after the CRC on
 *
 * The header names the data file that the journal follows by its last id and by its CRC-32 through
 * the closing bracket, in the layout of the store. Each CRC also covers all bytes before the line.
 * So a line is valid only at its own position: not in another journal, and not after a missing
 * line. The CRC of the last line covers all lines, which makes a long journal quick to check.
 */

import zlib from 'node:zlib';
import { LINE_FEED } from '../../base/ascii.ts';
import type { Memory } from '../../base/system.ts';
import { hex } from '../commit.ts';

/** The data file that a journal follows. */
export interface DataFileId {
  /** CRC-32 through the closing bracket, of its pets as the store writes them. */
  readonly crc: number;
  /** That of the file itself, in any layout: releases 1.1 and 1.2 named it by this. */
  readonly arrayCrc?: number;
  /** The greatest id in it, 0 if it has no pets. */
  readonly lastId: bigint;
}

/** True if `other`, such as the one that a header names, is the same data file. */
export function isSameDataFile(one: DataFileId | undefined, other: DataFileId): boolean {
  const hasCrc = one?.crc === other.crc || one?.arrayCrc === other.crc;
  return hasCrc && one?.lastId === other.lastId;
}

export interface EncodedLine {
  readonly bytes: Buffer;
  /** The CRC-32 of the file through this line. */
  readonly crc: number;
}

/** A line begins with its CRC and its length. */
export const PREFIX_LENGTH = 18;
const CRC_LENGTH = 8;

/** Longer than any header. */
export const MAX_HEADER_LENGTH = 100;

/** Returns the line with this text, for a file whose CRC is `crc` so far. */
export function encodeLine(memory: Memory, text: string, crc: number): EncodedLine {
  const length = PREFIX_LENGTH + Buffer.byteLength(text) + 1;
  const bytes = memory.bytes(length);
  bytes.write(` ${hex(length)} `, CRC_LENGTH, 'latin1');
  bytes.write(text, PREFIX_LENGTH);
  bytes[length - 1] = LINE_FEED;
  bytes.write(hex(zlib.crc32(bytes.subarray(CRC_LENGTH), crc)), 0, 'latin1');
  return { bytes, crc: zlib.crc32(bytes, crc) };
}

export function headerText({ crc, lastId }: DataFileId): string {
  return `{"journal":1,"snapshot":"${hex(crc)}","lastId":${lastId}}`;
}

/** Returns the data file that a header names, or undefined for another text. */
export function decodeHeader(text: string): DataFileId | undefined {
  const match = /^\{"journal":1,"snapshot":"([0-9a-f]{8})","lastId":(0|[1-9][0-9]*)\}$/.exec(text);
  return match === null ? undefined : { crc: parseInt(match[1]!, 16), lastId: BigInt(match[2]!) };
}

/** Returns the length of the complete line at `at` of a Latin-1 text, or undefined if none is. */
export function lineLengthAt(text: string, at: number): number | undefined {
  const length = text.indexOf('\n', at) + 1 - at;
  const stated = text.slice(at + CRC_LENGTH + 1, at + PREFIX_LENGTH - 1);
  return length > PREFIX_LENGTH && parseInt(stated, 16) === length ? length : undefined;
}

/** True if the complete line has the right CRC, for a file whose CRC is `crc` up to the line. */
export function isIntact(bytes: Buffer, at: number, length: number, crc: number): boolean {
  const expected = hex(zlib.crc32(bytes.subarray(at + CRC_LENGTH, at + length), crc));
  return bytes.toString('latin1', at, at + CRC_LENGTH) === expected;
}
