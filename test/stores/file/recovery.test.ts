/** Start-up on real files: what each state of them leads to, and that a refusal changes nothing. */

import assert from 'node:assert/strict';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { crc32, gzipSync } from 'node:zlib';
import type { Log } from '../../../src/base/log.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { journalLines, REX, snapshotId } from '../../support/disk/journal-text.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const POSIX = { skip: platform() === 'win32' && 'Symbolic links need a privilege on Windows' };

test('Neither file: the store starts empty and writes the first snapshot', async (t) => {
  const place = makePlace(t, {});
  assert.deepEqual(await openedIds(place), []);
  assert.deepEqual(Object.keys(place.files()), ['pets.json', 'pets.json.lock']);
  assert.match(place.files()['pets.json']!, /^\[\n[ \t]{32}\n\]\n/);
});

test('Folders that are missing are made', async (t) => {
  const path = join(tempDir(t), 'a', 'b', 'pets.json');
  await (await openFileStore({ path })).close();
  assert.ok(existsSync(path));
});

test('A snapshot only: its pets are there, and it stays until there are more', async (t) => {
  const place = makePlace(t, { snapshot: snapshotOf(3) });
  const before = place.files();
  assert.deepEqual(await openedIds(place), [1, 2, 3]);
  assert.deepEqual(place.files(), before);
  const store = await openFileStore({ path: place.path });
  assert.equal((await store.create(REX)).text, petText(4));
  await store.close();
  assert.deepEqual(await openedIds(place), [1, 2, 3, 4]);
});

for (const mode of [0o600, 0o640, 0o666]) {
  const name = `The journal of a data file with the mode ${mode.toString(8)} has it as well`;
  test(name, POSIX, async (t) => {
    const { path } = makePlace(t, { snapshot: snapshotOf(3) });
    chmodSync(path, mode);
    const store = await openFileStore({ path });
    await store.create(REX);
    for (const file of [path, `${path}.journal`]) assert.equal(statSync(file).mode & 0o777, mode);
    await store.close();
  });
}

const GAPS = `[${petText(5)},${petText(9)}]`;

interface Row {
  readonly name: string;
  readonly files: Files;
  readonly ids: readonly number[];
}

interface Files {
  readonly snapshot?: string | undefined;
  readonly journal?: string | undefined;
  readonly tmp?: string | undefined;
}

const started: readonly Row[] = [
  {
    name: 'An empty journal: the snapshot is all there is',
    files: { snapshot: snapshotOf(2), journal: '' },
    ids: [1, 2],
  },
  {
    name: 'A journal of zero bytes: it was never answered',
    files: { snapshot: snapshotOf(2), journal: '\0'.repeat(700) },
    ids: [1, 2],
  },
  {
    name: 'A journal cut off in its first line: it was never answered',
    files: { snapshot: snapshotOf(2), journal: journal(2, [1]).slice(0, 40) },
    ids: [1, 2],
  },
  {
    name: 'The first line of a journal, and nothing behind it',
    files: { snapshot: snapshotOf(2), journal: journal(2, []) },
    ids: [1, 2],
  },
  {
    name: 'The first line of a journal, and zero bytes behind it',
    files: { snapshot: snapshotOf(2), journal: journal(2, []) + '\0'.repeat(700) },
    ids: [1, 2],
  },
  {
    name: 'The first line of a journal, and a commit behind it that was cut off',
    files: { snapshot: snapshotOf(2), journal: journal(2, [2]).slice(0, -9) },
    ids: [1, 2],
  },
  {
    name: 'A journal that follows an empty snapshot: its pets are there',
    files: { snapshot: snapshotOf(0), journal: journal(0, [1, 3]) },
    ids: [1, 2, 3, 4],
  },
  {
    name: 'A journal that follows the snapshot: its pets are there',
    files: { snapshot: snapshotOf(2), journal: journal(2, [1, 2]) },
    ids: [1, 2, 3, 4, 5],
  },
  {
    name: 'A journal that follows a snapshot whose ids have gaps',
    files: { snapshot: GAPS, journal: linesBehind(GAPS, 9, [2]).join('') },
    ids: [5, 9, 10, 11],
  },
  {
    name: 'A journal that follows a snapshot whose seal somebody removed',
    files: { snapshot: snapshotOf(2).trim(), journal: journal(2, [1]) },
    ids: [1, 2, 3],
  },
  {
    name: 'A journal of an older snapshot, whose pets the new one has: it is passed over',
    files: { snapshot: snapshotOf(4), journal: journal(1, [1, 2]) },
    ids: [1, 2, 3, 4],
  },
  {
    name: 'A journal of an older snapshot, with fewer pets than the new one',
    files: { snapshot: snapshotOf(9), journal: journal(1, [1, 2]) },
    ids: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  },
  {
    name: 'A journal that is passed over, and was cut off',
    files: { snapshot: snapshotOf(4), journal: journal(1, [1, 2, 1]).slice(0, -20) },
    ids: [1, 2, 3, 4],
  },
  {
    name: 'A journal of another snapshot, without a commit: it is passed over',
    files: { snapshot: snapshotOf(4), journal: journal(1, []) },
    ids: [1, 2, 3, 4],
  },
  {
    name: 'A commit cut off at the end: it is dropped',
    files: { snapshot: snapshotOf(2), journal: journal(2, [1, 2]).slice(0, -9) },
    ids: [1, 2, 3],
  },
  {
    name: 'Zero bytes at the end: they are dropped',
    files: { snapshot: snapshotOf(2), journal: journal(2, [1]) + '\0'.repeat(700) },
    ids: [1, 2, 3],
  },
  {
    name: 'A journal cut off in its first line, and no snapshot: the store starts empty',
    files: { journal: journal(0, [2]).slice(0, 30) },
    ids: [],
  },
  {
    name: 'An empty journal and no snapshot: the store starts empty',
    files: { journal: '' },
    ids: [],
  },
];

for (const { name, files, ids } of started) {
  test(name, async (t) => {
    const place = makePlace(t, files);
    assert.deepEqual(await openedIds(place), ids);
    // Once more, from what the first start and stop made of the files.
    assert.deepEqual(await openedIds(place), ids);
  });
}

test('A journal goes on where it was cut off, in a file that nobody else has', async (t) => {
  const place = makePlace(t, {
    snapshot: snapshotOf(2),
    journal: journal(2, [1, 2]).slice(0, -9),
  });
  const before = statSync(`${place.path}.journal`).ino;
  const store = await openFileStore({ path: place.path });
  assert.equal(place.files()['pets.json.journal'], journal(2, [1]));
  assert.notEqual(statSync(`${place.path}.journal`).ino, before);
  await store.create(REX);
  assert.equal(place.files()['pets.json.journal'], journal(2, [1, 1]));
  await store.close();
});

const MISSING = /\/pets\.json is damaged: It is not there, but its journal .*\.journal is\. /;
const NO_LINE = 'This line of the journal is no whole commit';
const NO_HEADER = 'It does not begin like a journal of this version';

const refused: readonly (Files & { readonly name: string; readonly complaint: RegExp })[] = [
  {
    name: 'A journal whose snapshot is missing',
    journal: journal(2, [1]),
    complaint: MISSING,
  },
  {
    name: 'A journal without commits whose snapshot is missing',
    journal: journal(2, []),
    complaint: MISSING,
  },
  {
    name: 'Some other text at the name of the journal, and no snapshot',
    journal: 'Remember the milk\n',
    complaint: MISSING,
  },
  {
    name: 'A journal whose snapshot is empty now',
    snapshot: snapshotOf(0),
    journal: journal(2, [1]),
    complaint: atByte(behindHeader(2), otherSnapshot(3)),
  },
  {
    name: 'A snapshot from an earlier day than the journal',
    snapshot: snapshotOf(2),
    journal: journal(4, [1]),
    complaint: atByte(behindHeader(4), otherSnapshot(5)),
  },
  {
    name: 'Another snapshot, which has the pets of the journal in part',
    snapshot: snapshotOf(3),
    journal: journal(2, [2]),
    complaint: atByte(behindHeader(2), otherSnapshot(4)),
  },
  {
    name: 'Another snapshot with the same last id',
    snapshot: snapshotOf(3).replace('Rex', 'Tex'),
    journal: journal(3, [3]),
    complaint: atByte(behindHeader(3), otherSnapshot(4)),
  },
  {
    name: 'Another snapshot, with other pets of the same ids',
    snapshot: snapshotOf(3).replace('Rex', 'Tex'),
    journal: journal(0, [3]),
    complaint: atByte(behindHeader(0), otherSnapshot(1)),
  },
  {
    name: 'Another snapshot, with pets of greater ids',
    snapshot: '[{"id":50,"name":"Rex","categoryId":1}]',
    journal: journal(0, [1, 2]),
    complaint: atByte(behindHeader(0), otherSnapshot(1)),
  },
  {
    name: 'A line lost from the middle of the journal',
    snapshot: snapshotOf(1),
    journal: without(1, lines(1, [1, 1, 1])),
    complaint: atByte(behindHeader(1), NO_LINE),
  },
  {
    name: 'A line lost from a journal that would be passed over',
    snapshot: snapshotOf(5),
    journal: without(1, lines(1, [1, 1, 1])),
    complaint: atByte(behindHeader(1), NO_LINE),
  },
  {
    name: 'The first line of the journal lost',
    snapshot: snapshotOf(1),
    journal: without(0, lines(1, [1, 1])),
    complaint: atByte(0, NO_HEADER),
  },
  {
    name: 'A line of the journal twice',
    snapshot: snapshotOf(1),
    journal: lines(1, [1]).join('') + lines(1, [1])[1],
    complaint: atByte(behindHeader(1, [1]), NO_LINE),
  },
  {
    name: 'Lines of the journal in another order',
    snapshot: snapshotOf(1),
    journal: inOrder([0, 2, 1], lines(1, [1, 1])),
    complaint: atByte(behindHeader(1), NO_LINE),
  },
  {
    name: 'The last line of another journal in the place of the last one',
    snapshot: snapshotOf(1),
    journal: lines(1, [1]).join('') + linesBehind(snapshotOf(1), 1, [2, 1])[2],
    complaint: atByte(behindHeader(1, [1]), NO_LINE),
  },
  {
    name: 'A changed letter in the middle of the journal',
    snapshot: snapshotOf(1),
    journal: journal(1, [1, 1, 1]).replace('Rex","categoryId":7}]}\n', 'Tex","categoryId":7}]}\n'),
    complaint: atByte(behindHeader(1), NO_LINE),
  },
  {
    name: 'A changed letter in the last line of the journal',
    snapshot: snapshotOf(1),
    journal: replaceLast(journal(1, [1, 1]), 'Rex', 'Tex'),
    complaint: atByte(behindHeader(1, [1]), NO_LINE),
  },
  {
    name: 'A damaged line before one that was cut off',
    snapshot: snapshotOf(1),
    journal: journal(1, [1, 1]).replace('Rex', 'Tex').slice(0, -3),
    complaint: atByte(behindHeader(1), NO_LINE),
  },
  ...['\0', '\xff', 'x'].map((filler) => ({
    name: `The last commits overwritten with ${JSON.stringify(filler)}, from within a line on`,
    snapshot: snapshotOf(1),
    journal: journal(1, [1, 1, 1])
      .slice(0, -99)
      .padEnd(journal(1, [1, 1, 1]).length, filler),
    complaint: atByte(behindHeader(1, [1]), NO_LINE),
  })),
  ...['\xff', 'x'].map((filler) => ({
    name: `The last commits overwritten with ${JSON.stringify(filler)}, from the start of one on`,
    snapshot: snapshotOf(1),
    journal: journal(1, [1]).padEnd(journal(1, [1, 1, 1]).length, filler),
    complaint: atByte(behindHeader(1, [1]), NO_LINE),
  })),
  {
    name: 'Some other text at the name of the journal',
    snapshot: snapshotOf(1),
    journal: 'Remember the milk\n',
    complaint: atByte(0, NO_HEADER),
  },
  {
    name: 'A compressed journal',
    snapshot: snapshotOf(1),
    journal: gzipSync(journal(1, [1, 2])).toString('latin1'),
    complaint: atByte(0, NO_HEADER),
  },
  {
    name: 'A journal of an earlier version',
    snapshot: snapshotOf(1),
    journal: '91dc63af {"after":1,"pets":[{"id":2,"name":"Rex","categoryId":7}]}\n',
    complaint: atByte(
      0,
      `${NO_HEADER}.* if another version wrote it, stop that version cleanly first`,
    ),
  },
  {
    name: 'An empty snapshot',
    snapshot: '',
    journal: journal(0, [1]),
    complaint: /pets\.json is damaged at byte 0, line 1: The file is empty\. /,
  },
  {
    name: 'A snapshot that is no array of pets',
    snapshot: '{"pets":[]}',
    tmp: 'left behind',
    complaint: /pets\.json is damaged at byte 0, line 1: It is no array of pets/,
  },
  {
    name: 'A snapshot cut off',
    snapshot: snapshotOf(9).slice(0, 60),
    complaint: /pets\.json is damaged at byte 60, line 2: /,
  },
  {
    name: 'A snapshot with a key twice in a pet',
    snapshot: '[\n{"id":1,"name":"Rex","name":"Tex","categoryId":7}\n]\n',
    complaint: /pets\.json is damaged at byte [0-9]+, line 2: .*name.*/,
  },
  {
    name: 'A snapshot whose ids do not ascend',
    snapshot: `[\n${petText(2)},\n${petText(1)}\n]\n`,
    complaint: /pets\.json is damaged at byte [0-9]+, line 3: id 1 does not come after 2: /,
  },
  {
    name: 'A damaged snapshot beside a journal that was cut off',
    snapshot: snapshotOf(2).replace('Rex', '\0'),
    journal: journal(2, [1]).slice(0, 40),
    tmp: 'left behind',
    complaint: /pets\.json is damaged at byte [0-9]+, line 1: Expected '"' at the end of a str/,
  },
];

for (const { name, complaint, ...files } of refused) {
  test(`${name}: refused, and nothing is changed`, async (t) => {
    const place = makePlace(t, files);
    const before = place.files();
    for (let round = 0; round < 2; round += 1) {
      await assert.rejects(openFileStore({ path: place.path }), (error: Error) => {
        assert.equal(error.name, 'DamagedFileError');
        assert.match(error.message, complaint);
        assert.ok(error.message.startsWith(place.path));
        assert.match(error.message, /It was left as it is\. ./);
        return true;
      });
      assert.deepEqual(place.files(), before);
    }
  });
}

test('What is no data file is refused before a lock file is made beside it', async (t) => {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'notes.txt'), 'Remember the milk\n');
  await assert.rejects(openFileStore({ path: join(folder, 'notes.txt') }), {
    name: 'DamagedFileError',
  });
  assert.deepEqual(readdirSync(folder), ['notes.txt']);
});

for (const name of ['pets.json', 'pets.json.journal']) {
  test(`A folder in the place of ${name} is refused`, async (t) => {
    const folder = tempDir(t);
    mkdirSync(join(folder, name));
    await assert.rejects(openFileStore({ path: join(folder, 'pets.json') }), {
      message: `${join(folder, name)} is not a file`,
    });
    assert.deepEqual(readdirSync(join(folder, name)), []);
  });
}

test('A commit that was cut off is told of once, with its place', async (t) => {
  const whole = journal(2, [1]);
  const place = makePlace(t, {
    snapshot: snapshotOf(2),
    journal: journal(2, [1, 2]).slice(0, whole.length + 50),
  });
  const events: unknown[][] = [];
  const log: Log = (...told) => events.push(told);
  const options = { path: place.path, log };
  const store = await openFileStore(options);
  const file = `${place.path}.journal`;
  assert.deepEqual(
    events.filter(([level]) => level !== 'info'),
    [
      [
        'warn',
        'Dropped a commit that was cut off before it was answered',
        { file, offset: whole.length, bytes: 50 },
      ],
    ],
  );
  await store.close();
  events.length = 0;
  await (await openFileStore(options)).close();
  assert.deepEqual(events, []);
});

test('A snapshot without a seal is told of', async (t) => {
  for (const [snapshot, said] of [
    [sealed(2), 0],
    [snapshotOf(2), 1],
  ] as const) {
    const place = makePlace(t, { snapshot });
    const events: string[] = [];
    const log: Log = (_level, event) => events.push(event);
    await (await openFileStore({ path: place.path, log })).close();
    assert.equal(events.filter((event) => event.includes('has no seal')).length, said);
  }
});

test('A checkpoint that was cut off: it is removed', async (t) => {
  const files = { snapshot: snapshotOf(2), journal: journal(2, [1]), tmp: '[\n{"id":1,"na' };
  const place = makePlace(t, files);
  const store = await openFileStore({ path: place.path });
  assert.ok(!existsSync(`${place.path}.tmp`));
  assert.equal(store.count().total, 3);
  await store.close();
});

test('A short journal is carried on with; a long one becomes a snapshot at start', async (t) => {
  const length = journal(0, [1, 1]).length;
  for (const [longJournalBytes, stays] of [
    [length, true],
    [length - 1, false],
  ] as const) {
    const place = makePlace(t, { snapshot: snapshotOf(0), journal: journal(0, [1, 1]) });
    const store = await openFileStore({ path: place.path, longJournalBytes });
    assert.equal(existsSync(`${place.path}.journal`), stays);
    assert.equal(place.files()['pets.json'] === snapshotOf(0), stays);
    assert.equal((await store.create(REX)).text, petText(3));
    await store.close();
    assert.deepEqual(await openedIds(place), [1, 2, 3]);
  }
});

test('Closing brings everything into the snapshot and leaves no journal', async (t) => {
  const place = makePlace(t, { snapshot: snapshotOf(1) });
  const store = await openFileStore({ path: place.path });
  await store.create(REX);
  assert.equal(place.files()['pets.json.journal'], journal(1, [1]));
  await store.close();
  const files = place.files();
  assert.deepEqual(Object.keys(files), ['pets.json', 'pets.json.lock']);
  assert.ok(files['pets.json']!.startsWith(`[\n${petText(1)},\n${petText(2)}\n]\n`));
});

test('What a store had written when its process died is all there', async (t) => {
  const place = makePlace(t, {});
  const store = await openFileStore({ path: place.path });
  await Promise.all(Array.from({ length: 40 }, () => store.create(REX)));
  const after = makePlace(t, {});
  cpSync(place.folder, after.folder, { recursive: true });
  await store.close();
  assert.deepEqual(
    await openedIds(after),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
});

test('A copy whose checkpoint fell in between is refused, or whole', async (t) => {
  const place = makePlace(t, { snapshot: snapshotOf(2) });
  const store = await openFileStore({ path: place.path });
  await store.create(REX);
  // The journal first, as a back-up should: the newer snapshot has its pets.
  const copied = place.files()['pets.json.journal'];
  const older = place.files()['pets.json'];
  await store.close();
  const newer = place.files()['pets.json'];
  const good = makePlace(t, { snapshot: newer, journal: copied });
  assert.deepEqual(await openedIds(good), [1, 2, 3]);
  const again = await openFileStore({ path: place.path });
  await again.create(REX);
  // The snapshot first: the newer journal does not follow it.
  const bad = makePlace(t, { snapshot: older, journal: place.files()['pets.json.journal'] });
  await assert.rejects(openFileStore({ path: bad.path }), { name: 'DamagedFileError' });
  await again.close();
});

for (const mode of [0o640, 0o444]) {
  const name = `A checkpoint keeps the mode ${mode.toString(8)} of the data file`;
  test(name, POSIX, async (t) => {
    const place = makePlace(t, { snapshot: snapshotOf(0) });
    chmodSync(place.path, mode);
    // With 0444, its journal was made so that the next start could not write to it.
    for (let id = 1; id <= 3; id += 1) {
      const store = await openFileStore({ path: place.path });
      assert.equal((await store.create(REX)).text, petText(id));
      assert.equal(statSync(`${place.path}.journal`).mode & 0o777, mode | 0o600);
      await store.close();
      assert.equal(statSync(place.path).mode & 0o777, mode);
    }
  });
}

for (const [what, target] of [
  ['a file', '[]'],
  ['nothing yet', undefined],
] as const) {
  test(`A symbolic link to ${what} is followed: all is done beside it`, POSIX, async (t) => {
    const folder = tempDir(t);
    mkdirSync(join(folder, 'real'));
    if (target !== undefined) writeFileSync(join(folder, 'real', 'data.json'), target);
    symlinkSync(join('real', 'data.json'), join(folder, 'second.json'));
    symlinkSync('second.json', join(folder, 'pets.json'));
    const store = await openFileStore({ path: join(folder, 'pets.json') });
    await store.create(REX);
    const inReal = ['data.json', 'data.json.journal', 'data.json.lock'];
    assert.deepEqual(readdirSync(join(folder, 'real')).sort(), inReal);
    await store.close();
    assert.deepEqual(readdirSync(folder).sort(), ['pets.json', 'real', 'second.json']);
    assert.ok(lstatSync(join(folder, 'pets.json')).isSymbolicLink());
    assert.match(readFileSync(join(folder, 'real', 'data.json'), 'utf8'), /^\[\n\{"id":1,/);
  });
}

interface Place {
  readonly folder: string;
  readonly path: string;
  /** All that lies in the folder, byte for byte. */
  files(): Record<string, string>;
}

/** A folder with these files, and with the lock file that every store leaves. */
function makePlace(t: TestContext, { snapshot, journal, tmp }: Files): Place {
  const folder = tempDir(t);
  const path = join(folder, 'pets.json');
  const contents = { '': snapshot, '.journal': journal, '.tmp': tmp, '.lock': '' };
  for (const [suffix, content] of Object.entries(contents)) {
    if (content !== undefined) writeFileSync(path + suffix, content);
  }
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(folder)
        .sort()
        // What is in a lock file is for people only.
        .map((name) => [
          name,
          name.endsWith('.lock') ? '' : readFileSync(join(folder, name), 'latin1'),
        ]),
    );
  return { folder, path, files };
}

/** Opens the store, closes it, and gives the ids of the pets it had. */
async function openedIds({ path }: Place): Promise<readonly number[]> {
  const store = await openFileStore({ path });
  const { pets } = await store.list({ limit: 1000 });
  await store.close();
  return pets.map(({ id }) => Number(id));
}

function petText(id: number): string {
  return `{"id":${id},"name":"Rex","categoryId":7}`;
}

function snapshotOf(count: number): string {
  return `[${Array.from({ length: count }, (_, index) => petText(index + 1)).join(',\n')}]\n`;
}

/** The same, as a store writes it. */
function sealed(count: number): string {
  const pets = Array.from({ length: count }, (_, index) => petText(index + 1));
  const text = `[\n${pets.join(',\n')}\n]`;
  const bits = crc32(text).toString(2).padStart(32, '0');
  return `${text}\n${bits.replaceAll('0', ' ').replaceAll('1', '\t')}\n`;
}

/** A journal behind a snapshot of so many pets, with commits of so many each. */
function journal(snapshotPets: number, sizes: readonly number[]): string {
  return lines(snapshotPets, sizes).join('');
}

function lines(snapshotPets: number, sizes: readonly number[]): readonly string[] {
  return linesBehind(snapshotOf(snapshotPets), snapshotPets, sizes);
}

function linesBehind(
  snapshot: string,
  lastId: number,
  sizes: readonly number[],
): readonly string[] {
  const commits = sizes.map((length) => Array.from({ length }, () => REX));
  return journalLines(snapshotId(snapshot, lastId), commits).map((line) => `${line}`);
}

function without(index: number, journalLines: readonly string[]): string {
  return journalLines.filter((_, other) => other !== index).join('');
}

function inOrder(order: readonly number[], journalLines: readonly string[]): string {
  return order.map((index) => journalLines[index]).join('');
}

function replaceLast(text: string, from: string, to: string): string {
  const at = text.lastIndexOf(from);
  return text.slice(0, at) + to + text.slice(at + from.length);
}

/** Where in such a journal the line behind these commits begins. */
function behindHeader(snapshotPets: number, sizes: readonly number[] = []): number {
  return journal(snapshotPets, sizes).length;
}

function otherSnapshot(id: number): string {
  return `The journal follows another snapshot than the one beside it, which has not its pet ${id}, `;
}

function atByte(offset: number, complaint: string): RegExp {
  return new RegExp(`\\.journal is damaged at byte ${offset}, line [0-9]+: ${complaint}`);
}
