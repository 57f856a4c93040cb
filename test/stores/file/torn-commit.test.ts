/** Which bytes behind the last commit a crash may have left, rule by rule. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemMemory } from '../../../src/core/base/system.ts';
import { formatMembers, formatPet } from '../../../src/core/pets/pet-text.ts';
import type { NewPet } from '../../../src/core/pets/pet.ts';
import {
  encodeCommit,
  FILE_END,
  FIRST_LINE_BYTES,
  lineOf,
  MAX_COMMIT_BYTES,
} from '../../../src/core/store/format.ts';
import { isTornCommit } from '../../../src/core/store/torn-commit.ts';
import { fileOf, line, read } from '../../support/disk/data-files.ts';
import { rounds } from '../../support/extent.ts';

const SECTOR = 512;
const KEY = '9f86d081884c7d659a2feaa0c55ad015';

/** A commit of pets whose names have so many characters of two bytes each. */
function commitOf(names: readonly number[], lastId = 7): Buffer {
  const lines = names.map((length, at) =>
    line(lastId + 1 + at, 'é'.repeat(length), at === 0 ? KEY : undefined),
  );
  const end = lastId === 0 ? FIRST_LINE_BYTES : 4096;
  return encodeCommit(lines.join('\n,'), { end, crc: 5, mark: Buffer.alloc(0) }, systemMemory)
    .bytes;
}

/**
 * What a crash leaves at `end` if only some sectors of a write came to the disk, and the file got
 * this length: all others are as before, with the old bracket and zeros.
 */
function left(
  commit: Buffer,
  end: number,
  size: number,
  isNew: (sector: number) => boolean,
): Buffer {
  const tail = Buffer.alloc(size);
  FILE_END.copy(tail);
  for (let at = 0; at < Math.min(commit.length, size); at += 1) {
    const sector = Math.floor((end + at) / SECTOR) - Math.floor(end / SECTOR);
    if (isNew(sector)) tail[at] = commit[at]!;
  }
  return tail;
}

test('Any sectors of a commit, with any of the lengths of the file, are torn, wherever it begins', () => {
  const ends = Array.from({ length: SECTOR }, (_, at) => 4096 + at);
  const isEdge = (end: number): boolean => [0, 1, 2, 3, 509, 510, 511].includes(end % SECTOR);
  const chosen = ends.filter((end) => isEdge(end) || end % rounds(50, 1) === 0);
  let images = 0;
  for (const [names, lastId] of [
    [[9], 7],
    [[9], 0],
    [[300, 9, 200], 7],
  ] as const) {
    const commit = commitOf(names, lastId);
    const markEnd = commit.length - FILE_END.length - 1;
    for (const end of chosen) {
      const sectors = Math.floor((end + commit.length - 1) / SECTOR) - Math.floor(end / SECTOR) + 1;
      const boundaries = Array.from(
        { length: sectors },
        (_, at) => (at + 1) * SECTOR - (end % SECTOR),
      );
      const sizes = [2, ...boundaries, commit.length].filter((n) => n >= 2 && n <= commit.length);
      for (let mask = 0; mask < 2 ** sectors; mask += 1) {
        for (const size of sizes) {
          const tail = left(commit, end, size, (sector) => ((mask >> sector) & 1) === 1);
          // As before the commit, or proven by its mark.
          const isWhole = tail.subarray(0, markEnd).equals(commit.subarray(0, markEnd));
          if (tail.equals(FILE_END) || (isWhole && size > markEnd)) continue;
          images += 1;
          assert.ok(isTornCommit(tail, end, BigInt(lastId)), `${end} ${mask.toString(2)} ${size}`);
        }
      }
    }
  }
  assert.ok(images > 900, `${images} images`);
});

test('A commit that was cut anywhere is torn, as a full disk and a kill leave it', () => {
  for (const names of [[9], [0, 300, 3]]) {
    const commit = commitOf(names);
    for (let size = 1; size < commit.length - FILE_END.length; size += 1) {
      assert.ok(isTornCommit(commit.subarray(0, size), 4100, 7n), `${size}`);
    }
  }
  const escaped = Buffer.from(line(8, '"\\\u0001\n\ud800'));
  for (let size = 1; size < escaped.length; size += 1) {
    const tail = Buffer.concat([Buffer.from(','), escaped.subarray(0, size)]);
    assert.ok(isTornCommit(tail, 4100, 7n), `${size}`);
  }
});

/** A field that is added to NewPet has to be added here. */
const FULL: Required<NewPet> = { name: 'Rex', categoryId: -7n, status: 'sold' };

test('A commit that was cut anywhere is torn, whichever optional fields its pets have', () => {
  const { name, categoryId, ...optional } = FULL;
  const single = Object.entries(optional).map(([field, value]) => ({ [field]: value }));
  for (const given of [{}, optional, ...single]) {
    const members = formatMembers({ name, categoryId, ...given });
    const lines = [8n, 9n].map((id) => lineOf(formatPet(id, members), id === 8n ? KEY : undefined));
    const commit = Buffer.from(`,${lines.join('\n,')}`);
    for (let size = 1; size < commit.length; size += 1) {
      const tail = commit.subarray(0, size);
      assert.ok(isTornCommit(tail, 4100, 7n), tail.toString());
    }
  }
});

test('A roll-back that a crash has interrupted is torn', () => {
  const commit = commitOf([600]);
  const end = 4500;
  // The first sector is from between the cut and the bracket, a later one from before the cut.
  const rest = commit.subarray(SECTOR - (end % SECTOR));
  for (const two of [',{', ',\n', ']{', ']\n']) {
    const first = Buffer.alloc(SECTOR - (end % SECTOR));
    first.write(two);
    assert.ok(isTornCommit(Buffer.concat([first, rest]), end, 7n), two);
    assert.ok(isTornCommit(first, end, 7n), two);
  }
});

const COMMIT = commitOf([9, 9]);
const WHOLE = COMMIT.toString();
const FIRST = commitOf([9], 0).toString();
/** Without its mark, and what is behind it. */
const LINES = WHOLE.slice(0, -35);
/** Not in the first sector of the commit. */
const LONG = commitOf([900]);

/** Tails at position 4100 behind the pet 7, or `first` ones behind no pet. */
const REFUSED: Readonly<Record<string, readonly (string | Buffer)[]>> = {
  'Rule 1: it does not begin as the next pet does': [
    LINES.replace('"id":8', '"id":9'),
    LINES.replace('"id":8', '"id":7'),
    LINES.slice(1),
    FIRST,
    ` ${LINES}`,
    LINES.replace(',{', ',['),
    LINES.replace('"name":"', '"nam":"'),
    ']x',
    'x',
    `]\n${LINES}`,
    `]\n${LINES.slice(2)}`.replace('"id"', '"ib"'),
  ],
  'Rule 2: zeros begin within a sector, or end there': [
    `${LINES.slice(0, 40)}\0`,
    `${LINES.slice(0, 40)}\0${LINES.slice(41)}`,
    `${LINES}${'\0'.repeat(600)}`,
    `\0${LINES.slice(1)}`,
    `\0\0${LINES.slice(2)}`,
    `]\n\0${LINES.slice(3)}`,
    `]\0\n`,
    Buffer.concat([LONG.subarray(0, 700), Buffer.alloc(300), LONG.subarray(1000)]),
    Buffer.concat([LONG.subarray(0, 508), Buffer.alloc(511), LONG.subarray(1019)]),
  ],
  "Rule 3: something else than the file's end is behind a mark": [
    WHOLE.replace(/\]\n$/, ',{"id":10,"name":"'),
    WHOLE.replace(/\]\n$/, 'x'),
    WHOLE.replace(/\]\n$/, ' ]\n'),
    WHOLE.replace(/\]\n$/, ']]'),
    WHOLE.replace(/\]\n$/, '\n'),
    `${WHOLE.slice(0, -2)}${WHOLE}`,
    left(
      Buffer.concat([commitOf([600]), Buffer.from('x')]),
      4100,
      commitOf([600]).length + 1,
      (at) => at > 0,
    ),
  ],
  'Rule 4: it is a whole commit, and its mark does not prove it': [WHOLE, `${LINES}\n]\n`],
  'Rule 5: a line is no pet, or not the next one': [
    LINES.replace('"id":9', '"id":10'),
    LINES.replace('é"', 'é'),
    LINES.replace('éé', 'é\x01'),
    LINES.replace('éé', 'é\t'),
    LINES.replace('éé', 'é\\x'),
    LINES.replace('éé', 'é\\u12G4'),
    LINES.replace('7,', '7.5,'),
    LINES.replace('7,', '"7",'),
    LINES.replace(KEY, KEY.toUpperCase()),
    LINES.replace(KEY, KEY.slice(1)),
    LINES.replace('"idempotencyKey"', '"status":"lost","idempotencyKey"'),
    LINES.replace('"idempotencyKey"', '"idempotencykey"'),
    `${LINES} \x01`,
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

test('Rule 1: the first pet of a file has no comma', () => {
  assert.ok(isTornCommit(Buffer.from(FIRST.slice(0, 40)), FIRST_LINE_BYTES, 0n));
  assert.ok(isTornCommit(Buffer.from(`]${FIRST.slice(1, 40)}`), FIRST_LINE_BYTES, 0n));
  assert.ok(!isTornCommit(Buffer.from(`,${FIRST.slice(0, 40)}`), FIRST_LINE_BYTES, 0n));
});

test('Rule 4: any bit of a whole commit may be another one', () => {
  for (let at = 0; at < COMMIT.length; at += 1) {
    for (let bit = 1; bit < 256; bit *= 2) {
      const changed = Buffer.from(COMMIT);
      changed[at]! ^= bit;
      assert.equal(isTornCommit(changed, 4100, 7n), false, `byte ${at}, ${bit}`);
    }
  }
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
