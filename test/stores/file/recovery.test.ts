/** A start: what it finds in each file, what it logs, and that a refusal changes nothing. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { journalLines, REX, snapshotId } from '../../support/disk/journal-text.ts';
import { createMemoryDisk, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import {
  copyOf,
  idsIn,
  JOURNAL,
  LOCK,
  SNAPSHOT,
  UNFINISHED,
} from '../../support/disk/store-scene.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

test('Without files the store starts empty, and makes its folders and a snapshot of its own', async (t) => {
  const snapshots = new Set<string>();
  for (const name of ['a', 'b']) {
    const path = join(tempDir(t), name, 'c', 'pets.json');
    await (await openFileStore({ path })).close();
    assert.deepEqual(readdirSync(dirname(path)).sort(), ['pets.json', 'pets.json.lock']);
    snapshots.add(readFileSync(path, 'latin1'));
  }
  for (const text of snapshots) assert.match(text, /^\[\n[ \t]{32}\n\]\n/);
  // Else the journal of one new data file would fit the other one.
  assert.equal(snapshots.size, 2);
});

const GAPS = `[${petText(5)},${petText(9)}]`;

type Text = string | undefined;
type Started = readonly [what: string, snapshot: Text, journal: string, ids: readonly number[]];

const STARTED: readonly Started[] = [
  ['an empty journal', snapshotOf(2), '', [1, 2]],
  [
    'a journal that follows a snapshot whose ids have gaps',
    GAPS,
    linesAfter(GAPS, 9, [2]).join(''),
    [5, 9, 10, 11],
  ],
  [
    'a journal that follows a snapshot without its last line end',
    snapshotOf(2).trim(),
    journal(2, [1]),
    [1, 2, 3],
  ],
  [
    'a journal of an older snapshot, all of whose pets the new one has',
    snapshotOf(4),
    journal(1, [1, 2]),
    [1, 2, 3, 4],
  ],
  [
    'a torn journal of an older snapshot',
    snapshotOf(4),
    journal(1, [1, 2, 1]).slice(0, -20),
    [1, 2, 3, 4],
  ],
  ['a journal of another snapshot, without a commit', snapshotOf(2), journal(1, []), [1, 2]],
  ['a torn header of a journal, and no snapshot', undefined, journal(0, [2]).slice(0, 30), []],
  ['an empty journal, and no snapshot', undefined, '', []],
];

for (const [what, snapshot, text, ids] of STARTED) {
  test(`A start with ${what} finds the pets ${ids.join()}`, async () => {
    const disk = diskOf(snapshot, text);
    assert.deepEqual(await openedIds(disk), ids);
    // Once more, with the files that the first start and stop left.
    assert.deepEqual(await openedIds(disk), ids);
  });
}

test('A start writes a torn journal anew without its tail, and logs the torn commit once', async () => {
  const offset = journal(2, [1]).length;
  const disk = diskOf(snapshotOf(2), journal(2, [1, 2]).slice(0, offset + 50), '[\n{"id":1,"na');
  const before = disk.stat(JOURNAL)?.number;
  const warned: unknown[] = [];
  const log = (level: string, ...told: unknown[]): unknown =>
    level === 'warn' && warned.push(...told);
  const store = await openFileStore({ path: SNAPSHOT, disk, log });
  assert.equal(`${disk.read(JOURNAL)}`, journal(2, [1]));
  assert.notEqual(disk.stat(JOURNAL)?.number, before);
  const names = Object.keys(disk.contents()).sort();
  assert.deepEqual(names, [SNAPSHOT, JOURNAL, LOCK], 'An unfinished file is removed');
  await store.create(REX);
  assert.equal(`${disk.read(JOURNAL)}`, journal(2, [1, 1]));
  await store.close();
  await (await openFileStore({ path: SNAPSHOT, disk, log })).close();
  const event = 'Dropped a torn commit that was never acknowledged';
  assert.deepEqual(warned, [event, { file: JOURNAL, offset, bytes: 50 }]);
});

const NO_LINE = 'This line of the journal is neither intact nor a torn last line';
const NO_HEADER = 'It does not begin like a journal of this version';
const OTHER = 'The journal follows another snapshot than the one next to it, whose pet';
const TEX_SNAPSHOT = snapshotOf(3).replace('Rex', 'Tex');

const [HEADER = '', ...LINES] = linesAfter(snapshotOf(1), 1, [1, 1, 1]);
const START = HEADER.length;

type Refused = readonly [what: string, snapshot: Text, journal: Text, complaint: RegExp];

const REFUSED: readonly Refused[] = [
  [
    'a snapshot from an earlier day than the journal',
    snapshotOf(2),
    journal(4, [1]),
    atByte(journal(4, []).length, `${OTHER} 5 is missing`),
  ],
  [
    'a snapshot with other pets of the same ids',
    TEX_SNAPSHOT,
    journal(0, [3]),
    atByte(journal(0, []).length, `${OTHER} 1 is missing or different`),
  ],
  ['a journal that lost its header', snapshotOf(1), LINES.join(''), atByte(0, NO_HEADER)],
  [
    'a journal that lost a line',
    snapshotOf(1),
    HEADER + LINES[1] + LINES[2],
    atByte(START, NO_LINE),
  ],
  [
    'a damaged line before a torn one',
    snapshotOf(1),
    journal(1, [1, 1]).replace('Rex', 'Tex').slice(0, -3),
    atByte(START, NO_LINE),
  ],
  [
    'a journal of an earlier version',
    snapshotOf(1),
    '91dc63af {"after":1,"pets":[{"id":2,"name":"Rex","categoryId":7}]}\n',
    atByte(0, `${NO_HEADER}.* If another version wrote it, stop that version cleanly first`),
  ],
  [
    'a damaged snapshot and a torn journal',
    `[\n${petText(2)},\n${petText(1)}\n]\n`,
    journal(2, [1]).slice(0, 40),
    /pets\.json is damaged at byte [0-9]+, line 3: pet 2: id 1 does not come after 2: /,
  ],
];

for (const [what, snapshot, text, complaint] of REFUSED) {
  test(`A start with ${what} is refused, and changes nothing`, async () => {
    const disk = diskOf(snapshot, text, 'unfinished');
    const before = disk.contents();
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), (error: Error) => {
      assert.equal(error.name, 'DamagedFileError');
      assert.match(error.message, complaint);
      assert.ok(error.message.startsWith(SNAPSHOT));
      assert.match(error.message, /It was left as it is\. ./);
      return true;
    });
    assert.notEqual(await disk.lock(LOCK), undefined, 'The lock is still held');
    // The lock file has the process id now.
    assert.deepEqual({ ...disk.contents(), [LOCK]: '' }, { ...before, [LOCK]: '' });
  });
}

for (const [what, content, message] of [
  ['notes', 'Remember the milk\n', /\/d\/other is not a petstore data file, which is a JSON array/],
  [
    '100 NUL bytes',
    Buffer.alloc(100),
    /is not a petstore data file, which is a JSON array of pets in UTF-8.*backup/,
  ],
] as const) {
  test(`A file with ${what} is refused in words that fit, before a lock file is made`, async () => {
    const disk = createMemoryDisk({ '/d/other': content });
    await assert.rejects(openFileStore({ path: '/d/other', disk }), { message });
    assert.deepEqual(Object.keys(disk.contents()), ['/d/other']);
  });
}

test('A start does not change a snapshot without a checksum line; a checkpoint adds to it', async () => {
  const disk = diskOf(snapshotOf(2));
  const before = disk.contents();
  await (await openFileStore({ path: SNAPSHOT, disk })).close();
  assert.deepEqual({ ...disk.contents(), [LOCK]: '' }, before);
  const store = await openFileStore({ path: SNAPSHOT, disk });
  assert.equal((await store.create(REX)).text, petText(3));
  await store.close();
  assert.deepEqual(await openedIds(disk), [1, 2, 3]);
});

test('A start merges many short commits into lines of at most 1,024 pets and 1 MiB', async () => {
  const commits = Array.from({ length: 2500 }, () => 1);
  const disk = diskOf(snapshotOf(2600), journal(2600, commits));
  const store = await openFileStore({ path: SNAPSHOT, disk });
  const [key, name] = ['a'.repeat(32), 'x'.repeat(400_000)];
  await store.createOnce({ ...REX, name }, key);
  for (let count = 0; count < 2; count += 1) await store.create({ ...REX, name });
  await store.create({ ...REX, name: 'x'.repeat(1_000_000) });
  const killed = copyOf(disk);
  const again = await openFileStore({ path: SNAPSHOT, disk: killed });
  assert.equal(again.count().total, 5104);
  assert.deepEqual(petsPerLine(killed), [0, 1024, 1024, 454, 1, 1]);
  assert.equal((await again.createOnce({ ...REX, name }, key)).isReplayed, true);
});

test('A start with more pets in the journal than in the snapshot writes a snapshot', async () => {
  const disk = diskOf(snapshotOf(1), journal(1, [1, 1]));
  const store = await openFileStore({ path: SNAPSHOT, disk });
  assert.match(disk.read(SNAPSHOT).toString(), /"id":3/);
  assert.deepEqual(petsPerLine(disk), [0]);
  const key = 'a'.repeat(32);
  for (let count = 0; count < 4; count += 1) await store.create(REX);
  await store.createOnce(REX, key);
  const killed = copyOf(disk);
  const again = await openFileStore({ path: SNAPSHOT, disk: killed });
  // The second line has the key.
  assert.deepEqual(petsPerLine(killed), [0, 0]);
  assert.equal((await again.createOnce(REX, key)).isReplayed, true);
});

for (const [what, text] of [
  ['a journal without commits', journal(2, [])],
  ['another text for a journal', 'Remember the milk\n'],
] as const) {
  test(`A start with ${what} and no data file is refused, and changes nothing`, async () => {
    const disk = diskOf(undefined, text);
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), {
      message:
        /^There is no data file \S+pets\.json, but its journal \S+ exists\. Nothing was changed\./,
    });
    assert.deepEqual(Object.keys(disk.contents()), [LOCK, JOURNAL]);
  });
}

// Saved files

const SAVED = `${SNAPSHOT}.saved-20261121T201500123Z`;

for (const [what, snapshot, text] of [
  ['no data file', undefined, undefined],
  ['no data file, and a torn header of a journal', undefined, '1e0d9802 00000041 {"jour'],
  ['no data file, and a journal', undefined, journal(1, [1])],
  ['a damaged data file', '[', undefined],
  ['a data file that is not an array', 'Remember the milk\n', undefined],
  ['a data file that lacks the last pet of the saved file', snapshotOf(1), undefined],
  ['a data file and a journal that lack the last pet', snapshotOf(0), journal(0, [1])],
  ['a data file with another pet of the same id', snapshotOf(2).replace('Rex', 'Tom'), undefined],
] as const) {
  test(`A start beside a saved file is refused with ${what}, and names the saved file first`, async () => {
    const disk = diskOf(snapshot, text);
    const earlier = `${SNAPSHOT}.saved-20261120T000000000Z`;
    for (const path of [earlier, SAVED]) disk.write(path, snapshotOf(2));
    const before = { ...disk.contents(), [LOCK]: '' };
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), (error: Error) => {
      assert.ok(error.message.startsWith(`${SAVED} has `), error.message);
      assert.match(error.message, /: rename it to the data file, and move the journal away; or/);
      return true;
    });
    assert.deepEqual({ ...disk.contents(), [LOCK]: '' }, before);
  });
}

test('A start beside a saved file succeeds if data file and journal have all its pets', async () => {
  for (const [snapshot, text] of [
    [snapshotOf(2), undefined],
    [snapshotOf(4), undefined],
    [snapshotOf(1), journal(1, [1, 1])],
  ] as const) {
    const disk = diskOf(snapshot, text);
    disk.write(SAVED, snapshotOf(2));
    const store = await openFileStore({ path: SNAPSHOT, disk });
    assert.ok(store.count().total >= 2);
    assert.equal(`${disk.read(SAVED)}`, snapshotOf(2));
  }
});

test('A start passes over a saved file that was moved away, or that is not complete', async () => {
  const disk = diskOf(snapshotOf(1));
  // The second name is that of an unfinished saved file of release 1.2.
  for (const ending of ['.old', '-4711.part']) disk.write(SAVED + ending, 'no pets');
  assert.deepEqual(await openedIds(disk), [1]);
});

/** How many pets each line of the journal has; none of them above a megabyte, unless it has one. */
function petsPerLine(disk: MemoryDisk): readonly number[] {
  const lines = disk.read(JOURNAL).toString('latin1').split('\n').slice(0, -1);
  return lines.map((line) => {
    const pets = line.split('{"id":').length - 1;
    assert.ok(pets <= 1 || line.length <= 1 << 20, `${line.length} bytes`);
    return pets;
  });
}

/** A disk with these files, and with the lock file that every store leaves. */
function diskOf(
  snapshot: string | Buffer | undefined,
  journal?: string | Buffer,
  unfinished?: string,
): MemoryDisk {
  const disk = createMemoryDisk({ [LOCK]: '' });
  if (snapshot !== undefined) disk.write(SNAPSHOT, snapshot);
  if (journal !== undefined) disk.write(JOURNAL, journal);
  if (unfinished !== undefined) disk.write(`${UNFINISHED}0123abcd`, unfinished);
  return disk;
}

/** Opens the store, closes it, and returns the ids of the pets that it had. */
async function openedIds(disk: MemoryDisk): Promise<readonly number[]> {
  const store = await openFileStore({ path: SNAPSHOT, disk });
  const ids = await idsIn(store);
  await store.close();
  return ids;
}

function petText(id: number): string {
  return `{"id":${id},"name":"Rex","categoryId":7}`;
}

function snapshotOf(count: number): string {
  return `[${Array.from({ length: count }, (_, index) => petText(index + 1)).join(',\n')}]\n`;
}

/** A journal after a snapshot of so many pets, with commits of so many each. */
function journal(snapshotPets: number, sizes: readonly number[]): string {
  return linesAfter(snapshotOf(snapshotPets), snapshotPets, sizes).join('');
}

function linesAfter(snapshot: string, lastId: number, sizes: readonly number[]): readonly string[] {
  const commits = sizes.map((length) => Array.from({ length }, () => REX));
  return journalLines(snapshotId(snapshot, lastId), commits).map((line) => `${line}`);
}

function atByte(offset: number, complaint: string): RegExp {
  return new RegExp(`\\.journal is damaged at byte ${offset}, line [0-9]+: ${complaint}`);
}
