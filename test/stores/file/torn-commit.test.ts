/**
 * Which bytes behind the last commit are a torn commit, and which are not, rule by rule. The
 * simulation holds that what a crash leaves is one.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatMembers, formatPet } from '../../../src/core/pets/pet-text.ts';
import { PET_STATUSES, type NewPet } from '../../../src/core/pets/pet.ts';
import {
  encodeCommit,
  FILE_END,
  FIRST_LINE_BYTES,
  lineOf,
  MAX_COMMIT_BYTES,
} from '../../../src/core/store/format.ts';
import { isTornCommit } from '../../../src/core/store/torn-commit.ts';
import { fileOf, line, read } from '../../support/disk/data-files.ts';

const SECTOR = 512;
const KEY = '9f86d081884c7d659a2feaa0c55ad015';

/** A commit of pets whose names have so many characters of two bytes each. */
function commitOf(names: readonly number[], lastId = 7): Buffer {
  const lines = names.map((length, at) =>
    line(lastId + 1 + at, 'é'.repeat(length), at === 0 ? KEY : undefined),
  );
  return encode(lines.join('\n,'), lastId === 0 ? FIRST_LINE_BYTES : 4096);
}

/** The lines, as the commit at this position. */
function encode(lines: string, end: number): Buffer {
  return encodeCommit(lines, { end, crc: 5, mark: Buffer.alloc(0) }).bytes;
}

/** A field that is added to NewPet has to be added here. */
const FULL: Required<NewPet> = { name: '', categoryId: -7n, status: 'sold' };
/** With each kind of escape. */
const NAMES = ['', 'é'.repeat(9), '"\\\b\f\n\r\t\u0001\ud800'];

test('A commit that was cut anywhere is torn, whichever optional fields its pets have', () => {
  const { name: _, categoryId, ...optional } = FULL;
  const single = Object.entries(optional).map(([field, value]) => ({ [field]: value }));
  const statuses = PET_STATUSES.map((status) => ({ ...optional, status }));
  for (const given of [{}, optional, ...single, ...statuses]) {
    for (const name of NAMES) {
      const members = formatMembers({ name, categoryId, ...given });
      const [one, two] = [8n, 9n].map((id) => formatPet(id, members));
      const commit = encode(`${lineOf(one!, KEY)}\n,${two}`, 4096);
      for (let size = 1; size < commit.length - FILE_END.length; size += 1) {
        const tail = commit.subarray(0, size);
        assert.ok(isTornCommit(tail, 4100, 7n), tail.toString());
      }
    }
  }
});

const WHOLE = commitOf([9, 9]).toString();
const FIRST = commitOf([9], 0).toString();
/** Without its mark, and what is behind it. */
const LINES = WHOLE.slice(0, -35);
/** Not in the first sector of the commit. */
const LONG = commitOf([900]);

/** The first sector as it was before the commit. */
const OLD_SECTOR = Buffer.alloc(SECTOR - (4100 % SECTOR));
FILE_END.copy(OLD_SECTOR);

/** Tails at position 4100 behind the pet 7, or `first` ones behind no pet. */
const REFUSED: Readonly<Record<string, readonly (string | Buffer)[]>> = {
  'Rule 1: it does not begin as the next pet does': [
    LINES.replace('"id":8', '"id":9'),
    FIRST,
    LINES.replace('"name":"', '"nam":"'),
    ']x',
    'x',
    `]\n${LINES}`,
    `]\n${LINES.slice(2)}`.replace('"id"', '"ib"'),
  ],
  'Rule 2: an old byte is in a sector with new ones behind it': [
    `]${LINES.slice(1)}`,
    `,\n${WHOLE.slice(2)}`,
    Buffer.concat([Buffer.from(']\n'), LONG.subarray(2)]),
  ],
  'Rule 2: zeros begin within a sector, or end there': [
    `${LINES.slice(0, 40)}\0`,
    `${LINES.slice(0, 40)}\0${LINES.slice(41)}`,
    `\0\0${LINES.slice(2)}`,
    `]\n\0${LINES.slice(3)}`,
    `]\0\n`,
    Buffer.concat([LONG.subarray(0, 700), Buffer.alloc(300), LONG.subarray(1000)]),
    Buffer.concat([LONG.subarray(0, 508), Buffer.alloc(511), LONG.subarray(1019)]),
  ],
  "Rule 3: something else than the file's end is behind a mark": [
    WHOLE.replace(/\]\n$/, ',{"id":10,"name":"'),
    WHOLE.replace(/\]\n$/, ']]'),
    WHOLE.replace(/\]\n$/, '\n'),
    `${WHOLE.slice(0, -2)}${WHOLE}`,
    Buffer.concat([OLD_SECTOR, commitOf([600]).subarray(OLD_SECTOR.length), Buffer.from('x')]),
  ],
  'Rule 4: it is a whole commit, and its mark does not prove it': [WHOLE, `${LINES}\n]\n`],
  'Rule 5: a line is no pet, or not the next one': [
    LINES.replace('"id":9', '"id":10'),
    LINES.replace('é"', 'é'),
    LINES.replace('éé', 'é\x01'),
    LINES.replace('éé', 'é\\x'),
    LINES.replace('éé', 'é\\u12G4'),
    LINES.replace('7,', '7.5,'),
    LINES.replace('7,', '"7",'),
    LINES.replace(KEY, KEY.toUpperCase()),
    LINES.replace(KEY, KEY.slice(1)),
    LINES.replace('"idempotencyKey"', '"status":"lost","idempotencyKey"'),
    LINES.replace('"idempotencyKey"', '"idempotencykey"'),
    `${LINES}  x`,
    `${LINES}${' '.repeat(33)}`,
    `${LINES}\nx`,
    `${LINES}\n{"id":10,"name":"`,
    `${LINES.slice(0, 30)}\n${LINES.slice(30)}`,
    `${LINES.slice(0, 30)}\n\n`,
  ],
};

for (const [rule, tails] of Object.entries(REFUSED)) {
  test(`${rule}: it is damage`, () => {
    for (const tail of tails) {
      const bytes = Buffer.from(tail as string);
      assert.equal(isTornCommit(bytes, 4100, 7n), false, JSON.stringify(bytes.toString()));
    }
  });
}

/** Some sectors are as they were, or zeros, and the others have the commit. */
const TORN: readonly (readonly [tail: Buffer, at: number])[] = [
  [OLD_SECTOR, 4100],
  [Buffer.concat([OLD_SECTOR, LONG.subarray(OLD_SECTOR.length)]), 4100],
  [Buffer.concat([Buffer.alloc(OLD_SECTOR.length), LONG.subarray(OLD_SECTOR.length)]), 4100],
  [Buffer.from(LONG).fill(0, OLD_SECTOR.length, OLD_SECTOR.length + SECTOR), 4100],
  [Buffer.from(`]${WHOLE.slice(1)}`), 4095 + SECTOR],
  [Buffer.from(`]\n${WHOLE.slice(2)}`), 4094 + SECTOR],
];

test('Rule 2: sectors that are old, or zeros, are torn', () => {
  for (const [index, [tail, at]] of TORN.entries())
    assert.ok(isTornCommit(tail, at, 7n), `${index}`);
});

test('Rule 1: the first pet of a file has no comma', () => {
  assert.ok(isTornCommit(Buffer.from(FIRST.slice(0, 40)), FIRST_LINE_BYTES, 0n));
  assert.ok(!isTornCommit(Buffer.from(`,${FIRST.slice(0, 40)}`), FIRST_LINE_BYTES, 0n));
});

test('Rule 2: an old byte at the end of its sector says nothing of the next sector', () => {
  assert.ok(!isTornCommit(Buffer.from(`]\n${LINES.slice(2)}`), 4095 + SECTOR, 7n));
});

test('Rule 6: no commit is longer than 24 MiB', async () => {
  const { bytes, ends } = fileOf([[line(7)]]);
  const tail = Buffer.alloc(MAX_COMMIT_BYTES + 1, 'x');
  tail.write(LINES.slice(0, 19));
  const file = Buffer.concat([bytes.subarray(0, ends[0]), tail]);
  await assert.rejects(read(file), { name: 'DamagedFileError' });
  const content = await read(file.subarray(0, -1));
  assert.equal(content.form === 'commits' && content.end, 'torn');
});

test('The longest name of nothing but escapes can be read', () => {
  const escapes = Buffer.alloc(5 << 20, '\\"');
  assert.ok(isTornCommit(Buffer.concat([Buffer.from(',{"id":8,"name":"'), escapes]), 4100, 7n));
});
