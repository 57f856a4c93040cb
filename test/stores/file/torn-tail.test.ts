/** Which bytes after the last complete line are a torn write, which may be dropped. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commitStart } from '../../../src/stores/commit.ts';
import { isTornLine, SECTOR_BYTES } from '../../../src/stores/file/torn-tail.ts';
import { journalLines } from '../../support/disk/journal-text.ts';

const DATA_FILE = { crc: 0x5b4e8c1a, lastId: 7n };
const START = `${commitStart(7n)}{"id":8,`;

/** A line of at least this many bytes, with characters of several bytes. */
function lineOf(bytes: number): Buffer {
  const name = 'aé€😀'.repeat(Math.ceil(bytes / 10));
  return journalLines(DATA_FILE, [[{ name, categoryId: 7n }]])[1]!;
}

/** Where lines may begin: anywhere in a sector, its prefix in one or two. */
const OFFSETS = [65, 511, 512, 512 + 495, 500, 4096, 4090];

test('A complete line with any byte changed is not torn', () => {
  const line = lineOf(1500);
  for (const offset of OFFSETS) {
    for (let at = 0; at < line.length; at += 1) {
      for (const byte of [0x00, 0x0a, 0x20, 0x30, 0x61, 0x66, 0xff]) {
        const changed = Buffer.from(line);
        if (changed[at] === byte) continue;
        changed[at] = byte;
        // The last byte of a line or of a sector may be missing.
        const isLast = (offset + at + 1) % SECTOR_BYTES === 0 || at === line.length - 1;
        const expected = byte === 0 && isLast;
        assert.equal(isTornLine(changed, offset, START), expected, `${byte} at ${offset} + ${at}`);
      }
    }
  }
});

const LINE = lineOf(1500);
const OTHER_LINE = lineOf(10);
const BEGINNING = `${LINE.subarray(0, 90)}`;
/** Where a character begins. */
const CUT = LINE.indexOf('a', 900);

/** The beginning of the line, with another text from a position on. */
const edited = (at: number, text: string): string =>
  BEGINNING.slice(0, at) + text + BEGINNING.slice(at + text.length);

const TAILS: readonly (readonly [what: string, ...parts: readonly (Buffer | string)[]])[] = [
  ['a second line after it', LINE, OTHER_LINE],
  ['the beginning of a second line after it', LINE, OTHER_LINE.subarray(0, 9)],
  ['a zero byte after it', LINE, '\0'],
  ['another id before it', BEGINNING.replace('"after":7', '"after":6')],
  ['another first id', BEGINNING.replace('"id":8', '"id":9')],
  ['a CRC that is not hex', edited(0, 'ABCDEF00')],
  ['no space after its CRC', edited(8, '_')],
  ['a length that is not hex', edited(9, '0000zzzz')],
  ['a length shorter than itself', edited(9, '00000020')],
  ['a line feed before its end', LINE.subarray(0, CUT), '\n', LINE.subarray(CUT, CUT + 100)],
  ['bytes that are not UTF-8', BEGINNING, Buffer.alloc(9, 0xff)],
  ['zeros within a sector', BEGINNING, Buffer.alloc(9), LINE.subarray(99, 200)],
  ['some other text', 'Remember the milk\n'],
];

const joined = (...parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));

const CASES: readonly (readonly [what: string, tail: Buffer, offset: number])[] = [
  ...TAILS.map(([what, ...parts]) => [what, joined(...parts), 65] as const),
  [
    'another commit, and its first sector missing',
    withoutFirstSector(joined(LINE.subarray(0, CUT), OTHER_LINE)),
    512,
  ],
  [
    'a line feed within, and its first sector missing',
    withoutFirstSector(joined(LINE.subarray(0, CUT), '\nx')),
    512,
  ],
  [
    'no line feed at its end, and a sector missing',
    joined(LINE.subarray(0, 512), Buffer.alloc(512), LINE.subarray(1024, -1), 'x'),
    512,
  ],
];

for (const [what, tail, offset] of CASES) {
  test(`A tail with ${what} is not a torn line`, () => {
    assert.equal(isTornLine(tail, offset, START), false);
  });
}

test('A tail of zeros is a torn line', () => {
  for (const length of [0, 1, 511, 512, 5000]) {
    assert.equal(isTornLine(Buffer.alloc(length), 65, START), true);
  }
});

function withoutFirstSector(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(SECTOR_BYTES), bytes.subarray(SECTOR_BYTES)]);
}
