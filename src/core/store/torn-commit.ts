/**
 * What a crash in the middle of a commit may leave behind the last commit that is proven. Only this
 * is dropped; anything else there is damage.
 *
 * For example, the power fails while `,{"id":3,"name":"Kit",…` is written over the closing bracket.
 * The disk has some of the 512-byte sectors of the write, and zeros instead of others:
 *
 *     …}··mark··␊,{"id":3,"na000000000000000000│0000000000000000
 *     …}··mark··␊]␊0000000000000000000000000000│,"categoryId":7}··mark··␊]␊
 *
 * In the second one the first sector is the old one, in which the closing bracket still stands.
 */

import { PET_STATUSES } from '../pets/pet.ts';
import { FILE_END, KEY_MEMBER, LINE_END } from './format.ts';

const SECTOR_BYTES = 512;

/**
 * True if a crash may have left these bytes at the position `end`, behind the last commit, whose
 * last pet has the id `lastId`.
 */
export function isTornCommit(tail: Buffer, end: number, lastId: bigint): boolean {
  const start = startOf(lastId + 1n);
  const oldOffsets = [0, 1].filter((at) => tail[at] === FILE_END[at]);
  // What was to be written there: with the old bytes as they were, or with the new ones.
  const written = Buffer.from(tail);
  for (const at of oldOffsets) written[at] = start.charCodeAt(at);
  if (!beginsLike(written, start) || !hasWholeSectors(tail, end)) return false;
  // A sector that still has an old byte has nothing new behind it.
  const oldEnd = Math.max(0, ...oldOffsets.map((at) => endOfSector(end, at)));
  if (tail.subarray(FILE_END.length, oldEnd).some((byte) => byte !== 0)) return false;
  const text = written.toString('latin1');
  const mark = /\}[ \t]{32}\n/.exec(text);
  const linesEnd = mark === null ? text.length : mark.index + mark[0].length;
  const behind = text.slice(linesEnd);
  if (/[^\]\n\0]/.test(behind)) return false;
  if (text.includes('\0')) return true;
  // A whole commit with a mark that does not prove it was changed after it was written.
  if (oldOffsets.length === 0 && text.endsWith(']\n')) return false;
  const isEnd = FILE_END.toString().startsWith(behind);
  return isEnd && isBeginningOfLines(text.slice(0, linesEnd), lastId, mark !== null);
}

/** Returns where the sector that has the byte `at` of the tail ends, as an offset in the tail. */
function endOfSector(end: number, at: number): number {
  return at + SECTOR_BYTES - ((end + at) % SECTOR_BYTES);
}

/** What the line of the pet with this id begins with. */
function startOf(id: bigint): string {
  return `${id === 1n ? '' : ','}{"id":${id},"name":"`;
}

function beginsLike(bytes: Buffer, start: string): boolean {
  const begun = bytes.subarray(0, start.length);
  return begun.every((byte, at) => byte === 0 || byte === start.charCodeAt(at));
}

/**
 * True if each sector has no zero, or nothing but zeros from its beginning on. The first one may
 * have more bytes of the file before: zeros begin at the tail, or behind the old bytes, of which
 * the second one may be in the next sector.
 */
function hasWholeSectors(tail: Buffer, end: number): boolean {
  for (let at = 0; at < tail.length; at = endOfSector(end, at)) {
    const sector = tail.subarray(at, endOfSector(end, at));
    const zeros = sector.indexOf(0);
    const most = Math.max(0, FILE_END.length - at);
    const isMixed = zeros !== -1 && sector.subarray(zeros).some((byte) => byte !== 0);
    if (zeros > most || isMixed) return false;
  }
  return true;
}

/** True if the complete lines are the next pets, and the last line is the beginning of one. */
function isBeginningOfLines(text: string, lastId: bigint, hasMark: boolean): boolean {
  const lines = text.split('\n');
  const last = lines.pop()!;
  let id = lastId;
  for (const line of lines) {
    id += 1n;
    if (!isBeginningOfLine(line, id) || !WHOLE_LINE.test(line)) return false;
  }
  return hasMark ? last === '' : isBeginningOfLine(last, id + 1n);
}

function isBeginningOfLine(text: string, id: bigint): boolean {
  const start = startOf(id);
  if (text.length <= start.length) return start.startsWith(text);
  return text.startsWith(start) && BEGINNING_OF_REST.test(text.slice(start.length));
}

const WHOLE_LINE: RegExp = new RegExp(String.raw`${LINE_END}(?:[ \t]{32})?$`);

/* What is behind the first quote of a name, as pet-text.ts and format.ts write it. */

const ESCAPE = String.raw`\\(?:["\\bfnrt]|u[0-9a-f]{4})`;
const LETTERS = String.raw`[^"\\\x00-\x1f]*`;
const NAME = `${LETTERS}(?:${ESCAPE}${LETTERS})*`;
const CATEGORY = '"categoryId":';
const STATUS_MEMBERS: readonly string[] = PET_STATUSES.map((status) => `,"status":"${status}"`);

/** Each part may be the last one: `(?:a(?:b(?:c)?)?)?`. */
const beginningOf = (parts: readonly string[]): string =>
  parts.reduceRight((rest, part) => `(?:${part}${rest})?`, '');

const ENDS: readonly (readonly string[])[] = ['', ...STATUS_MEMBERS].flatMap((status) =>
  [[], [...KEY_MEMBER, ...Array<string>(32).fill('[0-9a-f]'), '"']].map((key) => {
    return [...status, ...key, '\\}', ...Array<string>(32).fill('[ \\t]')];
  }),
);

const BEGINNING_OF_REST: RegExp = new RegExp(
  `^${NAME}(?:\\\\(?:u[0-9a-f]{0,3})?|",?|",${beginningOf([...CATEGORY])}|` +
    `",${CATEGORY}-?[0-9]{0,19}(?:${ENDS.map(beginningOf).join('|')}))?$`,
);
