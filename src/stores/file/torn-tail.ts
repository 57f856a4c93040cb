/**
 * A torn write: what a crash can leave of the next write after the last complete line of a journal.
 * Each sector has its bytes of the write, a first part of them, or zeros. Of a line over four
 * sectors, for example:
 *
 *     4e9bc562 00000741 {"after":0,"p │ 0 0 0 0 … 0 0 0 0 │ …"name":"Rex 0 0 0 │ …goryId":1}]}␊
 *
 * So each run of bytes that are not zero begins with a sector, or with the line, and has the bytes
 * of the line at its place. Only that may be dropped, since it was never acknowledged. Everything
 * else (a complete line with a wrong CRC, bytes that no line has, more than one write) is damage to
 * something that may have been acknowledged.
 */

import { LINE_FEED } from '../../base/ascii.ts';
import { COMMIT_MARK } from '../commit.ts';
import { isLike, lengthAt, LINE_PREFIX, PREFIX_LENGTH } from './journal-line.ts';

export const SECTOR_BYTES = 512;

/**
 * Returns true if `tail`, all bytes after the last complete line, can be a torn line. It begins at
 * `offset` in the file, and the line's text would begin with `start`.
 */
export function isTornLine(tail: Buffer, offset: number, start: string): boolean {
  const runs = runsOf(tail, offset);
  if (runs === undefined || !runs.every(isUtf8)) return false;
  // The line states its length, if that was written.
  const length = lengthAt(tail, 0);
  const isComplete = tail.length === length && runs[0]?.bytes.length === length;
  if (isComplete || (length !== undefined && tail.length > length)) return false;
  // A line has one line feed, its last byte.
  const lineFeed = tail.indexOf(LINE_FEED);
  const last = (length ?? tail.length) - 1;
  if (lineFeed !== -1 && lineFeed !== last) return false;
  if (tail.length === length && lineFeed === -1 && tail.at(-1) !== 0) return false;
  // Nor has it the start of another commit.
  if (tail.includes(COMMIT_MARK, PREFIX_LENGTH + 1)) return false;
  const expected = LINE_PREFIX + start;
  return runs.every(({ at, bytes }) => {
    const text = bytes.toString('latin1', 0, Math.max(0, expected.length - at));
    return isLike(text, expected.slice(at));
  });
}

/** Bytes of the tail between zeros, as they were written. */
interface Run {
  readonly at: number;
  readonly bytes: Buffer;
}

/** Returns undefined if a run begins within a sector: no write leaves that. */
function runsOf(tail: Buffer, offset: number): readonly Run[] | undefined {
  const runs: Run[] = [];
  for (let at = 0; at < tail.length; at += 1) {
    if (tail[at] === 0) continue;
    if (at > 0 && (offset + at) % SECTOR_BYTES !== 0) return undefined;
    const zero = tail.indexOf(0, at);
    const bytes = tail.subarray(at, zero === -1 ? tail.length : zero);
    runs.push({ at, bytes });
    at += bytes.length;
  }
  return runs;
}

/** True if the run is UTF-8; a character may be cut off at either end. */
function isUtf8({ bytes }: Run): boolean {
  let start = 0;
  while (start < 3 && (bytes[start]! & 0xc0) === 0x80) start += 1;
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    decoder.decode(bytes.subarray(start), { stream: true });
    return true;
  } catch {
    return false;
  }
}
