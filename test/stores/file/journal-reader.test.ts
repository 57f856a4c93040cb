/** Reading a journal: lines of any length, in windows, and what is refused in bounded memory. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { systemMemory, type Memory } from '../../../src/base/system.ts';
import type { NewPet } from '../../../src/model/pet.ts';
import { createCommit, encodeCommit, encodeKeysLine } from '../../../src/stores/commit.ts';
import type { DiskFile } from '../../../src/stores/file/disk.ts';
import { headerText } from '../../../src/stores/file/journal-line.ts';
import { readJournal, type JournalContent } from '../../../src/stores/file/journal-reader.ts';
import { MAX_IDEMPOTENCY_KEYS } from '../../../src/stores/table/idempotency-keys.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { assertFloodRefused } from '../../support/disk/flooded-file.ts';
import { journalLines, linesOf, pendingPet, REX } from '../../support/disk/journal-text.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { usedBytes } from '../../support/process/heap.ts';
import { until } from '../../support/until.ts';

const PATH = 'pets.json.journal';
const DATA_FILE = { crc: 0x5b4e8c1a, lastId: 0n };
const HEADER = headerText(DATA_FILE);

/** A commit of so many pets. */
const rexes = (count: number): readonly NewPet[] => Array<NewPet>(count).fill(REX);
const named = (length: number): NewPet => ({ name: 'é'.repeat(length / 2), categoryId: 7n });

/** The sizes of lines, over windows of 64 KiB, which grow for a longer line. */
const JOURNALS: Readonly<Record<string, readonly (readonly NewPet[])[]>> = {
  'lines longer than a window, or across its end': [
    10, 3_000_000, 10, 700_000, 700_000, 700_000, 10,
  ].map((length) => [named(length)]),
  'lines after the longest one, which end beyond the longest window': [5, 1, 1, 1].map((count) =>
    Array<NewPet>(count).fill(named(4 << 20)),
  ),
  'many lines': Array.from({ length: 40_000 }, (_, index) => rexes(1 + (index % 3))),
};

for (const [what, commits] of Object.entries(JOURNALS)) {
  test(`A journal with ${what} is read, and damage is found at its offset`, async () => {
    const lines = journalLines(DATA_FILE, commits);
    const { content, pets } = await read(Buffer.concat(lines));
    assert.equal(content.lengthBytes, sum(lines));
    assert.equal(content.lastOffset, sum(lines.slice(0, -1)));
    const names = commits.flat().map(({ name }) => name);
    assert.equal(pets.lastId, BigInt(names.length));
    for (const [index, name] of names.entries()) {
      if (index < 100) assert.ok(pets.get(BigInt(index + 1))?.name === name);
    }
    const at = Math.ceil(lines.length * 0.7);
    lines[at]![40]! ^= 1;
    const message = new RegExp(`^${PATH} is damaged at byte ${sum(lines.slice(0, at))}: This line`);
    await assert.rejects(read(Buffer.concat(lines)), { name: 'DamagedFileError', message });
  });
}

test('A line that is not UTF-8 is refused, though its CRC is right', async () => {
  const commit = '{"after":0,"pets":[{"id":1,"name":"ÿ","categoryId":7}]}';
  const [header, line] = linesOf([HEADER, commit]) as [Buffer, Buffer];
  line[line.indexOf(0xc3)] = 0xff;
  const crc = crc32(line.subarray(8), crc32(header));
  line.write(crc.toString(16).padStart(8, '0'));
  const message = /at byte 118: Not UTF-8/;
  await assert.rejects(read(Buffer.concat([header, line])), message);
});

test('The newest 100,000 keys of a journal are read', async () => {
  const perCommit = 10_000;
  const texts = Array.from({ length: 11 }, (_, commit) => {
    const after = commit * perCommit;
    const pets = Array.from({ length: perCommit }, (_, i) => {
      return pendingPet(REX, requestKey(after + i + 1));
    });
    return encodeCommit(createCommit(BigInt(after), pets, 0));
  });
  const { keys } = (await read(Buffer.concat(linesOf([HEADER, ...texts])))).content;
  assert.deepEqual([keys.length, keys[0]?.id], [MAX_IDEMPOTENCY_KEYS, 10_001n]);
  assert.equal(keys.at(-1)?.key, requestKey(11 * perCommit));
});

test('The keys of a journal keep nothing else of it in memory', async () => {
  const texts = Array.from({ length: 300 }, (_, i) => {
    return encodeCommit(createCommit(BigInt(i), [pendingPet(named(50_000), requestKey(i))], 0));
  });
  const bytes = Buffer.concat(linesOf([HEADER, ...texts]));
  const before = usedBytes();
  const { keys } = (await read(bytes)).content;
  // Node 26 counts buffers that were freed until a later turn of the event loop.
  await until(() => usedBytes() - before < 4 << 20);
  assert.ok(keys.length === 300 && bytes.length > 15_000_000);
});

test('The examples of the page are what the store writes', () => {
  // The compiled tests are in .build/test.
  const path = new URL('../../../../src/stores/file/README.md', import.meta.url);
  const page = readFileSync(path, 'utf8');
  const array = /^\[\n\{[^\]]*\n\]/m.exec(page)![0];
  const [key, expiresAt] = ['9f86d081884c7d659a2feaa0c55ad015', 1795305600000];
  const lines = linesOf([
    headerText({ crc: crc32(array), lastId: 2n }),
    encodeKeysLine([{ key, id: 1n, expiresAt }]),
    '{"after":2,"pets":[{"id":3,"name":"Kit","categoryId":1}]}',
  ]);
  assert.ok(page.includes(`\n${lines.join('')}`), lines.join(''));
});

/** Gigabytes, as a file has them that was filled by something gone wild. */
const FLOODS: readonly (readonly [string, string])[] = [
  ['zero bytes', '\0'],
  ['a line that says it is as long', 'ffffffff ffffffff {"after":3,"pets":[{"id":4,"name":"'],
  ['lines that are not commits', 'ffffffff 00000020 {"after":3,"p}\n'],
];

for (const [what, filler] of FLOODS) {
  test(`Gigabytes of ${what} are refused in bounded memory`, async () => {
    for (const lines of [[], journalLines(DATA_FILE, [rexes(1), rexes(2)])]) {
      const start = Buffer.concat(lines);
      await assertFloodRefused([start, filler], start.length, 128 << 20, readFile);
    }
  });
}

async function read(bytes: Buffer): Promise<{ content: JournalContent; pets: PetTable }> {
  return readFile(await createMemoryDisk({ [PATH]: bytes }).open(PATH, 'read'));
}

async function readFile(
  file: DiskFile,
  memory: Memory = systemMemory,
): Promise<{ content: JournalContent; pets: PetTable }> {
  const pets = new PetTable();
  return { content: await readJournal(PATH, file, DATA_FILE, pets, memory), pets };
}

function sum(lines: readonly Buffer[]): number {
  return lines.reduce((total, line) => total + line.length, 0);
}
