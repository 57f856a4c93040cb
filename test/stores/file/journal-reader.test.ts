/** Reading a journal: lines of any length, in windows, and what is refused in bounded memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { systemMemory, type Memory } from '../../../src/base/memory.ts';
import type { DiskFile } from '../../../src/stores/file/disk.ts';
import { readJournal, type JournalContent } from '../../../src/stores/file/journal-reader.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { countingMemory, floodedFile } from '../../support/disk/flooded-file.ts';
import { journalLines, linesOf, REX } from '../../support/disk/journal-text.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';

const PATH = 'pets.json.journal';
const SNAPSHOT = { crc: 0x5b4e8c1a, lastId: 0n };

test('Lines longer than the window, or across its border, are read whole', async () => {
  const sizes = [10, 3_000_000, 10, 700_000, 700_000, 700_000, 10];
  const names = sizes.map((size) => 'é'.repeat(size / 2));
  const lines = journalLines(
    SNAPSHOT,
    names.map((name) => [{ name, categoryId: 7n }]),
  );
  const { content, pets } = await read(Buffer.concat(lines));
  assert.equal(pets.length, sizes.length);
  assert.equal(content.lengthBytes, sum(lines));
  for (const [index, name] of names.entries()) {
    assert.ok(pets.get(BigInt(index + 1))?.name === name);
  }
});

test('Lines after the longest one are read, though they end beyond the longest window', async () => {
  const long = { name: 'x'.repeat(4 << 20), categoryId: 7n };
  const commits = [[long, long, long, long, long], [long], [long], [long]];
  const lines = journalLines(SNAPSHOT, commits);
  const { content, pets } = await read(Buffer.concat(lines));
  assert.equal(pets.length, 8);
  assert.equal(content.lengthBytes, sum(lines));
});

test('Many lines, over several windows, are read like few', async () => {
  const lines = petLines(Array.from({ length: 40_000 }, (_, index) => 1 + (index % 3)));
  const bytes = Buffer.concat(lines);
  assert.ok(bytes.length > 3 << 20);
  const { content, pets } = await read(bytes);
  assert.equal(content.lengthBytes, bytes.length);
  assert.equal(content.lastOffset, bytes.length - lines.at(-1)!.length);
  assert.equal(pets.lastId, BigInt(pets.length));
  // Damage far from the start is found at its offset.
  const damaged = lines[30_000]!;
  damaged[40]! ^= 1;
  await assertDamaged(Buffer.concat(lines), sum(lines.slice(0, 30_000)));
});

test('Reads may be as short as a single byte', async () => {
  const bytes = Buffer.concat(petLines([1, 2]));
  const file = await createMemoryDisk({ [PATH]: bytes }).open(PATH, 'read');
  const read: DiskFile['read'] = (into, offset, _length, position) =>
    file.read(into, offset, 1, position);
  const { pets } = await readFile({ ...file, read });
  assert.equal(pets.length, 3);
});

const HEADER = '{"journal":1,"snapshot":"5b4e8c1a","lastId":0}';

for (const [name, texts, complaint] of [
  ['an empty line', [HEADER, ''], /is not a (complete )?commit/],
  ['a line that is not JSON', [HEADER, 'Remember the milk'], /is not a commit of this version/],
  [
    'a commit that does not follow on',
    [HEADER, '{"after":1,"pets":[{"id":2,"name":"","categoryId":7}]}'],
    /This commit follows pet 1, but the line before it ends with pet 0/,
  ],
  [
    'a header of another version',
    ['{"journal":2,"snapshot":"5b4e8c1a","lastId":0}'],
    /It does not begin like a journal of this version/,
  ],
] as const) {
  test(`A journal with ${name} is refused, though its CRC is right`, async () => {
    await assert.rejects(read(Buffer.concat(linesOf(texts))), {
      name: 'DamagedFileError',
      message: complaint,
    });
  });
}

test('A line that is not UTF-8 is refused, though its CRC is right', async () => {
  const commit = '{"after":0,"pets":[{"id":1,"name":"ÿ","categoryId":7}]}';
  const [header, line] = linesOf([HEADER, commit]) as [Buffer, Buffer];
  line[line.indexOf(0xc3)] = 0xff;
  const crc = crc32(line.subarray(8), crc32(header));
  line.write(crc.toString(16).padStart(8, '0'));
  const message = /at byte 65: This line of the journal is not a commit of this version/;
  await assert.rejects(read(Buffer.concat([header, line])), message);
});

/** Gigabytes, as a file has them that was filled by something gone wild. */
const FLOODS: readonly (readonly [string, string])[] = [
  ['zero bytes', '\0'],
  ['a line that says it is as long', 'ffffffff ffffffff {"after":3,"pets":[{"id":4,"name":"'],
  ['lines that are not commits', 'ffffffff 00000020 {"after":3,"p}\n'],
];

for (const [name, filler] of FLOODS) {
  for (const begin of ['from the start on', 'after commits']) {
    test(`Gigabytes of ${name} ${begin} are refused in bounded memory`, async () => {
      const lines = begin === 'after commits' ? petLines([1, 2]) : [];
      const { memory, most } = countingMemory();
      const file = floodedFile(Buffer.concat(lines), Buffer.from(filler, 'latin1'), 5e9);
      await assert.rejects(readFile(file, memory), (error: Error) => {
        assert.equal(error.name, 'DamagedFileError');
        assert.match(error.message, new RegExp(`at byte ${sum(lines)}: `));
        return true;
      });
      assert.ok(most() <= 128 << 20, `${most()} bytes`);
    });
  }
}

async function read(bytes: Buffer): Promise<{ content: JournalContent; pets: PetTable }> {
  return readFile(await createMemoryDisk({ [PATH]: bytes }).open(PATH, 'read'));
}

async function readFile(
  file: DiskFile,
  memory: Memory = systemMemory,
): Promise<{ content: JournalContent; pets: PetTable }> {
  const pets = new PetTable();
  return { content: await readJournal(PATH, file, SNAPSHOT, pets, memory), pets };
}

async function assertDamaged(bytes: Buffer, offset: number): Promise<void> {
  await assert.rejects(read(bytes), (error: Error) => {
    assert.equal(error.name, 'DamagedFileError');
    const complaint = offset === 0 ? 'It does not begin like a j' : 'This line of the journal is n';
    assert.ok(
      error.message.startsWith(`${PATH} is damaged at byte ${offset}: ${complaint}`),
      `${error.message}, and not at ${offset}`,
    );
    return true;
  });
}

/** The header and commits of so many pets each. */
function petLines(sizes: readonly number[]): readonly Buffer[] {
  const commits = sizes.map((length) => Array.from({ length }, () => REX));
  return journalLines(SNAPSHOT, commits);
}

function sum(lines: readonly Buffer[]): number {
  return lines.reduce((total, line) => total + line.length, 0);
}
