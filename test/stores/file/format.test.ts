/** The form of the data file, to the byte: what is written is read back, at any size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock, systemMemory } from '../../../src/core/base/system.ts';
import { formatMembers, formatPet } from '../../../src/core/pets/pet-text.ts';
import type { DiskFile, FileStat } from '../../../src/core/store/disk.ts';
import {
  blanksOf,
  bytesOfFile,
  firstLine,
  lineOf,
  writeFile,
} from '../../../src/core/store/format.ts';
import { readDataFile } from '../../../src/core/store/read-data-file.ts';
import { emptyTables } from '../../../src/core/store/tables.ts';
import { fileOf, line, linesOf, PATH, read } from '../../support/disk/data-files.ts';
import { rounds } from '../../support/extent.ts';
import { randomNewPet } from '../../support/pets/random-pet.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { createRandom, type Random } from '../../support/random.ts';

const KEY = '9f86d081884c7d659a2feaa0c55ad015';
const TOM = '{"id":2,"name":"Tom","categoryId":7,"status":"sold"}';
const blanks = (bits: string): string => blanksOf(parseInt(bits, 2));
/** How many bytes the reader takes from the file at a time. */
const WINDOW = 1 << 16;

test('A file is an array with a pet a line, and a mark at the end of each commit', async () => {
  // Another program has computed the CRCs.
  const [inUse, first, second] = [
    blanks('01110011111110011000110001111010'),
    blanks('10110110011101101000001001011110'),
    blanks('01001110011010111000100011011101'),
  ];
  const { bytes } = fileOf([[line(1)], [TOM, line(3, 'Ü', KEY).replace('7', '1')]]);
  const text = `[${inUse}\n${line(1)}${first}\n,${TOM}\n,${line(3, 'Ü', KEY).replace('7', '1')}${second}\n]\n`;
  assert.equal(bytes.toString(), text);
  assert.equal((JSON.parse(text) as unknown[]).length, 3);
  const clean = `[${blanks('11110001101100001010110101001001')}\n`;
  assert.equal(firstLine('clean').toString(), clean);
  const content = await read(bytes);
  assert.ok(content.form === 'commits');
  const { end, word, lastCommitAt } = content;
  assert.deepEqual([end, word], ['whole', 'in use']);
  assert.equal(content.chain.end, bytes.length - 2);
  assert.equal(lastCommitAt, bytes.indexOf(`,${TOM}`));
  assert.equal(content.keys.find(KEY), 3n);
});

/** Random pets, often long ones, with ids of every size, and some with keys. */
function randomLines(random: Random, hasGaps: boolean): readonly string[] {
  let id = hasGaps ? random.pick([0n, 41n, 2n ** 53n - 5n]) : 0n;
  return Array.from({ length: 1 + random.below(200) }, (_, index) => {
    id += hasGaps && random.oneIn(20) ? BigInt(1 + random.below(1e6)) : 1n;
    const pet = randomNewPet(random);
    const name = pet.name.repeat(random.oneIn(20) ? random.below(5000) : 1);
    const text = formatPet(id, formatMembers({ ...pet, name }));
    return lineOf(text, random.oneIn(3) ? requestKey(index) : undefined);
  });
}

/** The lines in commits of one to five. */
function inCommits(random: Random, lines: readonly string[]): string[][] {
  const commits: string[][] = [];
  for (const text of lines) {
    const last = commits.at(-1);
    if (last === undefined || random.oneIn(3)) commits.push([text]);
    else last.push(text);
  }
  return commits;
}

test('Random pets are read as they were written: by their marks, by the parser, and from memory', async () => {
  for (let seed = 1; seed <= rounds(20, 400); seed += 1) {
    const random = createRandom(seed);
    const lines = randomLines(random, random.oneIn(2));
    const { bytes } = fileOf(inCommits(random, lines));
    const content = await read(bytes);
    assert.deepEqual(linesOf(content), lines, `seed ${seed}`);
    // Without the blanks of its first line it is any array.
    const parsed = await read(Buffer.concat([Buffer.from('[\n'), bytes.subarray(34)]));
    assert.equal(parsed.form, 'array');
    assert.deepEqual(linesOf(parsed), lines, `seed ${seed}`);
    const written: Buffer[] = [];
    const append = async (part: Buffer): Promise<void> => void written.push(Buffer.from(part));
    const { end } = await writeFile(content, 'clean', append);
    const copy = Buffer.concat(written);
    assert.equal(end, copy.length - 2);
    // A greater estimate would keep a store from a write that has room.
    const spare = bytesOfFile(content) - copy.length;
    assert.ok(spare >= 0 && spare < 1024, `${spare} more than ${copy.length} bytes`);
    assert.deepEqual(linesOf(await read(copy)), lines, `seed ${seed}`);
  }
});

/** One pet and several, with keys and without, in more than one sector. */
const COMMITS = [
  [line(1, 'é'.repeat(200)), line(2)],
  [line(3, 'Tom', KEY)],
  [line(4), line(5), line(6)],
  [line(7, 'Kim', requestKey(1))],
];
const WRONG = /pets\.json is (damaged|not a)/;

test('A file with any bit flipped is refused', async () => {
  for (const word of ['in use', 'clean'] as const) {
    const { bytes } = fileOf(COMMITS, word);
    for (let bit = 0; bit < 8 * bytes.length; bit += rounds(17, 1)) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      await assert.rejects(read(flipped), WRONG, `${word}, bit ${bit}`);
    }
  }
});

test('Of a file that is cut anywhere the whole commits are read; a clean one, or an array, is refused', async () => {
  const { bytes, ends } = fileOf(COMMITS);
  const clean = fileOf(COMMITS, 'clean').bytes;
  const array = Buffer.from(`[\n${COMMITS.flat().join(',\n')}\n]`);
  for (const length of bytes.keys()) {
    const found = await read(bytes.subarray(0, length)).then(linesOf, () => undefined);
    // A mark proves its commit without the line feed behind it.
    const whole = COMMITS.slice(0, ends.filter((end) => end <= length + 1).length);
    assert.deepEqual(found, length < 36 ? undefined : whole.flat(), `${length} bytes`);
    await assert.rejects(read(clean.subarray(0, length)), WRONG, `clean, ${length} bytes`);
    if (length < array.length) await assert.rejects(read(array.subarray(0, length)), WRONG);
  }
});

test('A mark may be anywhere: across the end of a window, and of a window that has grown', async () => {
  for (const window of [WINDOW, 2 * WINDOW]) {
    for (let offset = -80; offset <= 120; offset += 1) {
      const short = fileOf([[line(1, '')]]).ends[0]!;
      const name = 'n'.repeat(window + offset - (window === WINDOW ? short : 0));
      const { bytes, ends } = fileOf([[line(1, name)], [line(2)], [line(3)]]);
      assert.equal((await read(bytes)).pets.length, 3, `${window} ${offset}`);
      // Each mark is looked for if the end is torn.
      const torn = await read(bytes.subarray(0, -40));
      assert.ok(torn.form === 'commits' && torn.end === 'torn', `${window} ${offset}`);
      assert.deepEqual([torn.chain.end, torn.lastCommitAt], [ends[1], ends[0]]);
    }
  }
});

test('A new file has a mark after at most 64 pets or 1 MiB, and a doubt by itself', async () => {
  const tables = emptyTables({ clock: systemClock });
  for (let id = 1; id <= 3000; id += 1) {
    const name = id > 2900 ? 'x'.repeat(20_000) : 'Rex';
    tables.pets.append({ id: BigInt(id), text: line(id, name) });
  }
  const parts: Buffer[] = [];
  const append = async (part: Buffer): Promise<void> => void parts.push(Buffer.from(part));
  await writeFile(tables, 'in use', append, `${line(3001)}\n,${line(3002)}`);
  const [, ...commits] = parts.slice(0, -1).map((part) => part.toString());
  const counts = commits.map((text) => text.split('"id":').length - 1);
  assert.deepEqual([Math.max(...counts), counts.at(-1)], [64, 2]);
  assert.ok(commits.every((text) => text.length < 1.1 * (1 << 20)));
  assert.deepEqual((await read(Buffer.concat(parts))).pets.length, 3002);
});

/** The beginning of each file, what follows to its end, and the message. */
const FLOODS: readonly (readonly [what: string, start: Buffer, filler: string, message: RegExp])[] =
  [
    ['a name without end', fileOf([]).bytes.subarray(0, 34), 'x', /begins in line 2, at byte 34/],
    ['zeros', fileOf([[line(1)]]).bytes, '\0', /begins in line 3, at byte 103/],
    ['an array', Buffer.from(`[\n${line(1)},\n{"id":2,"tag":[`), '[7],', /byte 38 neither/],
    ['blanks', Buffer.from(' '), ' ', /byte 0 neither/],
  ];

/** More than one string can have. */
const FLOOD_BYTES = 6e8;

/** A file that begins so, and goes on with the filler to its end. */
function flooded(start: Buffer, filler: string): DiskFile {
  const block = Buffer.alloc(1 << 16, filler, 'latin1');
  return {
    ...({} as DiskFile),
    stat: () => ({ sizeBytes: FLOOD_BYTES }) as FileStat,
    async read(into, position) {
      if (position < start.length) return start.copy(into, 0, position);
      const room = Math.min(into.length, FLOOD_BYTES - position);
      // Short, so that the filler goes on where it stopped.
      const phase = (position - start.length) % filler.length;
      return block.copy(into, 0, phase, Math.min(block.length, phase + room));
    },
  };
}

for (const [what, start, filler, message] of FLOODS) {
  test(`An endless file of ${what} is refused in bounded memory`, async (t) => {
    let taken = 0;
    const { bytes } = systemMemory;
    t.mock.method(systemMemory, 'bytes', (length: number) => {
      taken += length;
      assert.ok(taken <= 64 << 20, `${taken} bytes`);
      return bytes(length);
    });
    const deps = { clock: systemClock };
    await assert.rejects(readDataFile(PATH, flooded(start, filler), deps), { message });
  });
}
