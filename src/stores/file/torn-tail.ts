/**
 * A torn write: what a crash can leave after the last complete line of a journal, namely a part of
 * the next write.
 *
 * Only a torn write may be dropped, since it was never acknowledged. The bytes must be what the
 * next write leaves if it is cut off, or if some of its sectors did not reach the disk and are
 * zero. Everything else (a complete line with a wrong CRC, bytes that no line has, more than one
 * write) is damage to something that may have been acknowledged.
 */

import { LINE_FEED } from '../../base/ascii.ts';
import { COMMIT_MARK } from '../commits/commit.ts';
import {
  isBeginningOfHeader,
  isLike,
  lengthAt,
  LINE_PREFIX,
  MAX_HEADER_LENGTH,
  PREFIX_LENGTH,
} from './journal-line.ts';

export const SECTOR_BYTES = 512;

/**
 * Returns true if `tail`, all bytes after the last complete line, can be a torn line. It begins at
 * `offset` in the file, and the line's text would begin with `start`.
 */
export function isTornLine(tail: Buffer, offset: number, start: string): boolean {
  const sectors = sectorsOf(tail, offset);
  if (sectors === undefined || !hasPrefix(tail, sectors, start)) return false;
  return isTornText(tail, sectors, lengthAt(tail, 0), PREFIX_LENGTH + 1);
}

/**
 * Returns true if `tail`, all of a journal, can be what its torn first write left of the header.
 * The header may name any snapshot, since the one that it follows may have been replaced.
 */
export function isTornBeginning(tail: Buffer): boolean {
  // A header is shorter than a sector: it is cut off by the file's end, or all zero.
  if (isBeginningOfHeader(tail.toString('latin1', 0, MAX_HEADER_LENGTH + 1))) return true;
  const sectors = sectorsOf(tail, 0);
  return sectors?.[0]?.isZero === true && isTornText(tail, sectors, undefined, 0);
}

/** The part of a sector that the tail has: as it was written, or all zero bytes. */
interface Sector {
  readonly start: number;
  readonly end: number;
  readonly isZero: boolean;
}

/** Returns undefined if a sector is zero only in part: no write leaves that. */
function sectorsOf(tail: Buffer, offset: number): readonly Sector[] | undefined {
  const sectors: Sector[] = [];
  for (let start = 0; start < tail.length;) {
    const end = Math.min(tail.length, start + SECTOR_BYTES - ((offset + start) % SECTOR_BYTES));
    const zero = tail.subarray(start, end).indexOf(0);
    const isZero = zero !== -1;
    if (isZero && tail.subarray(start, end).some((byte) => byte !== 0)) return undefined;
    sectors.push({ start, end, isZero });
    start = end;
  }
  return sectors;
}

/** True if the written sectors of the tail begin as a line with this text. */
function hasPrefix(tail: Buffer, sectors: readonly Sector[], start: string): boolean {
  const expected = LINE_PREFIX + start;
  return sectors.every(
    (sector) =>
      sector.isZero ||
      isLike(
        tail.toString('latin1', sector.start, Math.min(sector.end, expected.length)),
        expected.slice(sector.start),
      ),
  );
}

/**
 * Returns true if the tail can be one line, cut off or with sectors missing. The line states that
 * it has `length` bytes, if its length was written. After the offset `from` the text must not
 * contain the start of another commit.
 */
function isTornText(
  tail: Buffer,
  sectors: readonly Sector[],
  length: number | undefined,
  from: number,
): boolean {
  const isComplete = sectors.every(({ isZero }) => !isZero);
  if (length !== undefined && tail.length > length) return false;
  if (length !== undefined && tail.length === length && isComplete) return false;
  // A line has one line feed, its last byte. It is missing only if the last sector is.
  const lineFeed = tail.indexOf(LINE_FEED);
  const last = (length ?? tail.length) - 1;
  if (lineFeed !== -1 && lineFeed !== last) return false;
  if (tail.length === length && lineFeed === -1 && sectors.at(-1)?.isZero === false) return false;
  return !tail.includes(COMMIT_MARK, from) && isUtf8InPieces(tail, sectors);
}

/** True if the written sectors are UTF-8; characters may be cut off next to missing sectors. */
function isUtf8InPieces(tail: Buffer, sectors: readonly Sector[]): boolean {
  for (let i = 0; i < sectors.length; i += 1) {
    if (sectors[i]!.isZero) continue;
    let { start } = sectors[i]!;
    while (i + 1 < sectors.length && !sectors[i + 1]!.isZero) i += 1;
    for (let cut = 0; start > 0 && cut < 3 && isInsideCharacter(tail[start]); cut += 1) start += 1;
    if (!isBeginningOfUtf8(tail.subarray(start, sectors[i]!.end))) return false;
  }
  return true;
}

function isInsideCharacter(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}

/** True if the bytes are UTF-8, or become it if the last character is completed. */
function isBeginningOfUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
