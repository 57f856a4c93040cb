/** Reading a journal: what counts as cut off and is dropped, and what is damage and refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeNewPet } from '../../../src/model/encoded-pet.ts';
import { Histogram } from '../../../src/base/histogram.ts';
import { encodeCommit } from '../../../src/stores/commits/commit.ts';
import { Journal } from '../../../src/stores/file/journal.ts';
import { readJournal, type JournalContent } from '../../../src/stores/file/journal-reader.ts';
import { storePaths } from '../../../src/stores/file/store-paths.ts';
import { eachBitFlip } from '../../support/bit-flips.ts';
import { createFailingDisk } from '../../support/failing-disk.ts';
import { createMemoryDisk } from '../../support/memory-disk.ts';

const SECTOR = 512;

test('A journal is read commit by commit, each with its offset', async () => {
  const lines = linesOf([1, 3, 2]);
  const { commits, lengthBytes, tornBytes } = await read(Buffer.concat(lines));
  assert.deepEqual(commits, [
    { after: 0n, pets: 1, offset: 0 },
    { after: 1n, pets: 3, offset: lines[0]!.length },
    { after: 4n, pets: 2, offset: lines[0]!.length + lines[1]!.length },
  ]);
  assert.deepEqual({ lengthBytes, tornBytes }, { lengthBytes: sum(lines), tornBytes: 0 });
});

test('An empty journal holds no commit', async () => {
  const content = await read(Buffer.alloc(0));
  assert.deepEqual(content, { commits: [], lengthBytes: 0, tornBytes: 0 });
});

test('Lines longer than what is read at once, or across its border, are read whole', async () => {
  const sizes = [10, 3_000_000, 10, 700_000, 700_000, 700_000, 10];
  const lines = sizes.map((size, index) => lineOf(BigInt(index), 'é'.repeat(size / 2)));
  const { commits, lengthBytes } = await read(Buffer.concat(lines));
  assert.equal(commits.length, sizes.length);
  assert.equal(lengthBytes, sum(lines));
  assert.equal(commits.at(-1)?.offset, sum(lines.slice(0, -1)));
});

test('Reads may be as short as a single byte', async () => {
  const lines = linesOf([1, 2]);
  const disk = createFailingDisk(createMemoryDisk({ j: Buffer.concat(lines) }));
  disk.fault = ({ operation }) => (operation === 'read' ? 1 : undefined);
  let commits = 0;
  await readJournal('j', await disk.open('j', 'read'), () => (commits += 1));
  assert.equal(commits, 2);
});

test('Wherever the last line is cut, it is dropped and all before it stays', async () => {
  const lines = linesOf([1, 2, 3]);
  const bytes = Buffer.concat(lines);
  const start = bytes.length - lines[2]!.length;
  for (let end = start; end < bytes.length; end += 1) {
    const { commits, ...content } = await read(bytes.subarray(0, end));
    assert.equal(commits.length, 2);
    assert.deepEqual(content, { lengthBytes: start, tornBytes: end - start });
  }
});

test('Zero bytes behind the last line are room for more, and nothing is torn', async () => {
  const bytes = Buffer.concat(linesOf([1, 2]));
  for (const zeros of [1, 2, 511, 512, 5000]) {
    const { commits, ...content } = await read(Buffer.concat([bytes, Buffer.alloc(zeros)]));
    assert.equal(commits.length, 2);
    assert.deepEqual(content, { lengthBytes: bytes.length, tornBytes: 0 });
  }
});

test('A last line that was cut and filled up with zero bytes is dropped', async () => {
  const lines = linesOf([1, 2]);
  const bytes = Buffer.concat(lines);
  for (let end = lines[0]!.length; end < bytes.length; end += 7) {
    const cut = Buffer.concat([bytes.subarray(0, end)], end + 600);
    const { commits, lengthBytes } = await read(cut);
    assert.equal(commits.length, 1);
    assert.equal(lengthBytes, lines[0]!.length);
  }
});

for (const ending of ['within a sector', 'at the end of a sector', 'alone in a sector']) {
  test(`A last line with sectors of zeros is dropped, its line feed ${ending}`, async () => {
    const { bytes, start } = longLastLine(ending);
    const first = Math.floor(start / SECTOR);
    const sectors = Math.ceil(bytes.length / SECTOR) - first;
    assert.ok(sectors >= 4);
    for (let lost = 1; lost < 2 ** sectors; lost += 1) {
      const torn = Buffer.from(bytes);
      for (let sector = 0; sector < sectors; sector += 1) {
        const from = Math.max(start, (first + sector) * SECTOR);
        const to = Math.min(bytes.length, (first + sector + 1) * SECTOR);
        if ((lost >> sector) & 1) torn.fill(0, from, to);
      }
      const { commits, lengthBytes, tornBytes } = await read(torn);
      assert.equal(commits.length, 1);
      assert.equal(lengthBytes, start);
      assert.equal(tornBytes, `${torn}`.replace(/\0+$/, '').length - start);
    }
  });
}

test('A line feed at the very end that became another byte is damage, not a cut', async () => {
  for (const ending of ['within a sector', 'at the end of a sector', 'alone in a sector']) {
    const { bytes, start } = longLastLine(ending);
    for (let byte = 1; byte < 256; byte += 1) {
      bytes[bytes.length - 1] = byte;
      if (byte !== 0x0a) await assertDamaged(bytes, start);
    }
  }
});

test('A zero byte that does not fill its part of a sector is damage', async () => {
  const { bytes, start } = longLastLine('within a sector');
  // At the very end it is no different from a line that was cut off before its line feed.
  for (const offset of [start, start + 20, start + 700, bytes.length - 2]) {
    const damaged = Buffer.from(bytes);
    damaged[offset] = 0;
    await assertDamaged(damaged, start);
  }
});

test('Sectors of zeros with a whole commit behind them are damage', async () => {
  const { bytes, start } = longLastLine('within a sector');
  const damaged = Buffer.concat([bytes, lineOf(2n, 'Rex')]);
  damaged.fill(0, SECTOR * 2, SECTOR * 3);
  await assertDamaged(damaged, start);
});

test('Sectors of zeros with some other text behind them are damage', async () => {
  const { bytes, start } = longLastLine('within a sector');
  const damaged = Buffer.concat([bytes, Buffer.from('Remember the milk\n')]);
  damaged.fill(0, SECTOR * 2, SECTOR * 3);
  await assertDamaged(damaged, start);
});

test('A sector of zeros that took the line feed between two commits is damage', async () => {
  const { bytes, start } = longLastLine('at the end of a sector');
  const damaged = Buffer.concat([bytes, lineOf(2n, 'Rex')]);
  damaged.fill(0, bytes.length - SECTOR, bytes.length);
  await assertDamaged(damaged, start);
});

test('A line that is cut off does not hide that the one before it lost its line feed', async () => {
  const lines = linesOf([1, 2, 3]);
  const bytes = Buffer.concat(lines);
  const start = lines[0]!.length;
  const end = start + lines[1]!.length;
  bytes[end - 1] = 0x0b;
  for (let cut = end + 30; cut < bytes.length; cut += 1) {
    await assertDamaged(bytes.subarray(0, cut), start);
  }
});

test('One bit flipped anywhere is refused, at the offset of its line', async () => {
  const lines = linesOf([1, 2, 1]);
  const starts = [0, lines[0]!.length, lines[0]!.length + lines[1]!.length];
  await eachBitFlip(Buffer.concat(lines), async (flipped, offset) => {
    await assertDamaged(
      flipped,
      starts.findLast((start) => start <= offset)!,
    );
  });
});

test('A line that is missing its middle is refused, wherever it is', async () => {
  for (const index of [0, 1, 2]) {
    const lines = linesOf([1, 2, 1]);
    const line = lines[index]!;
    lines[index] = Buffer.concat([line.subarray(0, 20), line.subarray(30)]);
    await assertDamaged(Buffer.concat(lines), sum(lines.slice(0, index)));
  }
});

test('An empty line is refused', async () => {
  const [line] = linesOf([1]);
  await assertDamaged(Buffer.concat([line!, Buffer.from('\n')]), line!.length);
});

test('A line takes a reserve along, and the lines after it go over that', async () => {
  const disk = createMemoryDisk({});
  const lines = linesOf([1, 1, 1, 1, 1]);
  const reserve = 3 * lines[0]!.length;
  const journal = new Journal(disk, storePaths('/pets'), reserve, new Histogram([]));
  const sizes: number[] = [];
  for (const [index, line] of lines.entries()) {
    await journal.append(line);
    const length = sum(lines.slice(0, index + 1));
    assert.equal(journal.lengthBytes, length);
    const { commits, ...content } = await read(disk.read('/pets.journal'));
    assert.equal(commits.length, index + 1);
    assert.deepEqual(content, { lengthBytes: length, tornBytes: 0 });
    sizes.push(disk.read('/pets.journal').length);
  }
  const first = lines[0]!.length + reserve;
  assert.deepEqual(sizes, [first, first, first, first, sum(lines) + reserve]);
});

test('A disk with room for the line alone takes the line', async () => {
  const [line] = linesOf([1]);
  const memory = createMemoryDisk({});
  const disk = createFailingDisk(memory);
  disk.fault = ({ operation }) => (operation === 'writeNow' ? line!.length : undefined);
  const journal = new Journal(disk, storePaths('/pets'), 200, new Histogram([]));
  await journal.append(line!);
  assert.deepEqual(memory.read('/pets.journal'), line);
});

interface ReadCommit {
  readonly after: bigint;
  readonly pets: number;
  readonly offset: number;
}

type ReadJournal = Omit<JournalContent, 'lastOffset'> & { readonly commits: ReadCommit[] };

async function read(bytes: Buffer): Promise<ReadJournal> {
  const path = 'pets.json.journal';
  const file = await createMemoryDisk({ [path]: bytes }).open(path, 'read');
  const commits: ReadCommit[] = [];
  const content = await readJournal(path, file, ({ after, pets }, offset) => {
    commits.push({ after, pets: pets.length, offset });
  });
  const { lengthBytes, tornBytes } = content;
  return { commits, lengthBytes, tornBytes };
}

async function assertDamaged(bytes: Buffer, offset: number): Promise<void> {
  await assert.rejects(read(bytes), {
    name: 'DamagedFileError',
    message:
      `pets.json.journal is damaged at byte ${offset}: ` +
      'This line of the journal is no whole commit. It was left as it is',
  });
}

/** Commits of so many pets each, from pet 1 on. */
function linesOf(sizes: readonly number[]): Buffer[] {
  let after = 0n;
  return sizes.map((size) => {
    const pets = Array.from({ length: size }, () => encodeNewPet({ name: 'Rex', categoryId: 7n }));
    const { line } = encodeCommit(after, pets);
    after += BigInt(size);
    return line;
  });
}

function lineOf(after: bigint, name: string): Buffer {
  return encodeCommit(after, [encodeNewPet({ name, categoryId: 7n })]).line;
}

/** A short line and one over several sectors, whose line feed is in the given place. */
function longLastLine(ending: string): { bytes: Buffer; start: number } {
  const first = lineOf(0n, 'Rex');
  const remainder = { 'within a sector': 77, 'at the end of a sector': 0, 'alone in a sector': 1 };
  for (let size = 1500; ; size += 1) {
    const bytes = Buffer.concat([first, lineOf(1n, 'n'.repeat(size))]);
    if (bytes.length % SECTOR === remainder[ending as keyof typeof remainder]) {
      return { bytes, start: first.length };
    }
  }
}

function sum(lines: readonly Buffer[]): number {
  return lines.reduce((total, line) => total + line.length, 0);
}
