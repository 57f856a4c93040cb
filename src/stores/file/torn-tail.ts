/**
 * What a crash can leave behind the last whole line of a journal: the beginning of one more write.
 *
 * Only that may be dropped, for it was never answered. So the rule is a positive one: the bytes
 * must be what the next write leaves when it is cut off, or when some of its sectors did not get to
 * the disk and are zero. Whatever else is there (a whole line with a wrong CRC, bytes that no line
 * of ours has, more than one write) is damage to something that may have been answered.
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
 * True when `tail`, all that lies behind the last whole line, is what one more line can have left.
 * It begins at `offset` in the file, and its text would begin with `start`.
 */
export function isTornLine(tail: Buffer, offset: number, start: string): boolean {
  const sectors = sectorsOf(tail, offset);
  if (sectors === undefined || !hasPrefix(tail, sectors, start)) return false;
  return isTornText(tail, sectors, lengthAt(tail, 0), PREFIX_LENGTH + 1);
}

/**
 * True when `tail`, all of a journal, is what its first write, of a header and a commit, can have
 * left of the header. The snapshot that it names may have been replaced since.
 */
export function isTornBeginning(tail: Buffer): boolean {
  // A header is shorter than a sector: some of it is there when the file ends within it, else none.
  if (isBeginningOfHeader(tail.toString('latin1', 0, MAX_HEADER_LENGTH + 1))) return true;
  const sectors = sectorsOf(tail, 0);
  return sectors?.[0]?.isZero === true && isTornText(tail, sectors, undefined, 0);
}

/** The part of a sector that is in the tail: as it was written, or all zero bytes. */
interface Sector {
  readonly start: number;
  readonly end: number;
  readonly isZero: boolean;
}

/** Undefined where a sector is zero in part only: no write leaves that. */
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

/** True if the tail begins as a line with this text would, as far as its sectors were written. */
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
 * True when the rest of the tail can be that of one line, cut off or with sectors missing. The line
 * says itself that it has `length` bytes, where that came. No commit begins from `from` on.
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
  // The line feed is a line's last byte, and there once the line has come to its end.
  const lineFeed = tail.indexOf(LINE_FEED);
  const last = (length ?? tail.length) - 1;
  if (lineFeed !== -1 && lineFeed !== last) return false;
  if (tail.length === length && lineFeed === -1 && sectors.at(-1)?.isZero === false) return false;
  return !tail.includes(COMMIT_MARK, from) && isUtf8InPieces(tail, sectors);
}

/** True if what was written is UTF-8, though characters may be cut off where sectors are missing. */
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
