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

import { isUtf8 } from 'node:buffer';
import { COMMIT_MARK } from '../commit.ts';
import { PREFIX_LENGTH } from './journal-line.ts';

export const SECTOR_BYTES = 512;

/**
 * Returns true if `tail`, all bytes after the last complete line, can be a torn line. It begins at
 * `offset` in the file, and the line's text would begin with `start`.
 */
export function isTornLine(tail: Buffer, offset: number, start: string): boolean {
  const text = tail.toString('latin1');
  // From the beginning of its first sector on.
  const sectors = `${' '.repeat(offset % SECTOR_BYTES)}${text}`.match(SECTORS) ?? [];
  return (
    sectors.every((sector) => /^[^\0]*\0*$/.test(sector)) &&
    text.split(/\0+/).every(isUtf8Part) &&
    isLike(text, `######## ######## ${start}`) &&
    !text.includes(COMMIT_MARK, PREFIX_LENGTH + 1) &&
    endsLikeALine(text)
  );
}

const SECTORS: RegExp = new RegExp(`[^]{1,${SECTOR_BYTES}}`, 'g');

/** True for a part of a text in UTF-8, as Latin-1. A character may be cut off at either end. */
function isUtf8Part(part: string): boolean {
  const characters = part.replace(/^[\x80-\xbf]{1,3}|[\xc2-\xf4][\x80-\xbf]{0,2}$/g, '');
  return isUtf8(Buffer.from(characters, 'latin1'));
}

/** True if the text, in which zeros are missing, can begin as expected; # is any hex digit. */
function isLike(text: string, expected: string): boolean {
  return [...text.slice(0, expected.length)].every((character, index) => {
    const isDigit = expected[index] === '#' && /[0-9a-f]/.test(character);
    return isDigit || character === '\0' || character === expected[index];
  });
}

/**
 * True unless the text, by its length and its line feed, is a complete line, or more than one. A
 * line states its length, if that was written, and has one line feed, its last byte.
 */
function endsLikeALine(text: string): boolean {
  if (text.slice(0, -1).includes('\n')) return false;
  const [, stated] = /^[^]{9}([0-9a-f]{8})/.exec(text) ?? [];
  if (stated === undefined) return true;
  const length = parseInt(stated, 16);
  if (text.length < length) return !text.endsWith('\n');
  return text.length === length && text.includes('\0') && /[\n\0]$/.test(text);
}
