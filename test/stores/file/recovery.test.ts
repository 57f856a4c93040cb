/** A start on real files: what it finds in each of them, and that a refusal changes nothing. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Log } from '../../../src/base/log.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { journalLines, REX, snapshotId } from '../../support/disk/journal-text.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

test('Without files the store starts empty, and makes its folders and a snapshot', async (t) => {
  const path = join(tempDir(t), 'a', 'b', 'pets.json');
  await (await openFileStore({ path })).close();
  assert.deepEqual(readdirSync(dirname(path)).sort(), ['pets.json', 'pets.json.lock']);
  assert.match(readFileSync(path, 'latin1'), /^\[\n[ \t]{32}\n\]\n/);
});

test('A start does not change a snapshot, and a checkpoint adds to it', async (t) => {
  const scene = makeScene(t, { snapshot: snapshotOf(3) });
  const before = scene.files();
  assert.deepEqual(await openedIds(scene), [1, 2, 3]);
  assert.deepEqual(scene.files(), before);
  const store = await openFileStore({ path: scene.path });
  assert.equal((await store.create(REX)).text, petText(4));
  await store.close();
  assert.deepEqual(await openedIds(scene), [1, 2, 3, 4]);
});

const GAPS = `[${petText(5)},${petText(9)}]`;

interface Files {
  readonly snapshot?: string | undefined;
  readonly journal?: string | undefined;
  readonly tmp?: string | undefined;
}

type Started = readonly [what: string, files: Files, ids: readonly number[]];

const AFTER_TWO: readonly Started[] = (
  [
    ['an empty journal', '', [1, 2]],
    ['a journal of zero bytes', '\0'.repeat(700), [1, 2]],
    ['the header of a journal, and zero bytes', journal(2, []) + '\0'.repeat(700), [1, 2]],
    ['a journal that ends with zero bytes', journal(2, [1]) + '\0'.repeat(700), [1, 2, 3]],
    ['a journal', journal(2, [1, 2]), [1, 2, 3, 4, 5]],
  ] as const
).map(([what, text, ids]) => [what, { snapshot: snapshotOf(2), journal: text }, ids]);

const STARTED: readonly Started[] = [
  ...AFTER_TWO,
  [
    'a journal that follows an empty snapshot',
    { snapshot: snapshotOf(0), journal: journal(0, [1, 3]) },
    [1, 2, 3, 4],
  ],
  [
    'a journal that follows a snapshot whose ids have gaps',
    { snapshot: GAPS, journal: linesAfter(GAPS, 9, [2]).join('') },
    [5, 9, 10, 11],
  ],
  [
    'a journal that follows a snapshot without its last line end',
    { snapshot: snapshotOf(2).trim(), journal: journal(2, [1]) },
    [1, 2, 3],
  ],
  [
    'a journal of an older snapshot, all of whose pets the new one has',
    { snapshot: snapshotOf(4), journal: journal(1, [1, 2]) },
    [1, 2, 3, 4],
  ],
  [
    'a journal of an older snapshot, with fewer pets than the new one',
    { snapshot: snapshotOf(5), journal: journal(1, [1, 2]) },
    [1, 2, 3, 4, 5],
  ],
  [
    'a torn journal of an older snapshot',
    { snapshot: snapshotOf(4), journal: journal(1, [1, 2, 1]).slice(0, -20) },
    [1, 2, 3, 4],
  ],
  [
    'a journal of another snapshot, without a commit',
    { snapshot: snapshotOf(4), journal: journal(1, []) },
    [1, 2, 3, 4],
  ],
  ['a torn header of a journal, and no snapshot', { journal: journal(0, [2]).slice(0, 30) }, []],
  ['an empty journal, and no snapshot', { journal: '' }, []],
];

for (const [what, files, ids] of STARTED) {
  test(`A start with ${what} finds the pets ${ids.join()}`, async (t) => {
    const scene = makeScene(t, files);
    assert.deepEqual(await openedIds(scene), ids);
    // Once more, with the files that the first start and stop left.
    assert.deepEqual(await openedIds(scene), ids);
  });
}

test('A start copies a torn journal without its tail to a new file, and goes on there', async (t) => {
  const scene = makeScene(t, {
    snapshot: snapshotOf(2),
    journal: journal(2, [1, 2]).slice(0, -9),
  });
  const before = statSync(`${scene.path}.journal`).ino;
  const store = await openFileStore({ path: scene.path });
  assert.equal(scene.files()['pets.json.journal'], journal(2, [1]));
  assert.notEqual(statSync(`${scene.path}.journal`).ino, before);
  await store.create(REX);
  assert.equal(scene.files()['pets.json.journal'], journal(2, [1, 1]));
  await store.close();
});

const MISSING = /\/pets\.json is damaged: It is missing, but its journal .*\.journal exists\. /;
const NO_LINE = 'This line of the journal is neither intact nor a torn last line';
const NO_HEADER = 'It does not begin like a journal of this version';

type Refused = readonly [
  what: string,
  snapshot: string | undefined,
  journal: string | undefined,
  complaint: RegExp,
];

const OTHER_SNAPSHOTS: readonly Refused[] = (
  [
    ['an empty snapshot and a journal of another', snapshotOf(0), journal(2, [1]), 2, 3],
    ['a snapshot from an earlier day than the journal', snapshotOf(2), journal(4, [1]), 4, 5],
    ['a snapshot with some of the pets of the journal', snapshotOf(3), journal(2, [2]), 2, 4],
    ['a snapshot with the same last id', texSnapshot(), journal(3, [3]), 3, 4],
    ['a snapshot with other pets of the same ids', texSnapshot(), journal(0, [3]), 0, 1],
    ['a snapshot with greater ids', `[${petText(50)}]`, journal(0, [1, 2]), 0, 1],
  ] as const
).map(([what, snapshot, text, follows, id]) => {
  const complaint = 'The journal follows another snapshot than the one next to it, whose pet';
  const at = journal(follows, []).length;
  return [what, snapshot, text, atByte(at, `${complaint} ${id} is missing`)];
});

const [HEADER = '', ...LINES] = lines(1, [1, 1, 1]);
const START = HEADER.length;
const SECOND = START + LINES[0]!.length;
const LENGTH = journal(1, [1, 1, 1]).length;

/** Journals after a snapshot of one pet, and the byte at which each is refused. */
const DAMAGED_JOURNALS: readonly Refused[] = (
  [
    ['a journal that lost its header', LINES.join(''), 0, NO_HEADER],
    ['a journal that lost a line', HEADER + LINES[1] + LINES[2], START, NO_LINE],
    ['a journal with a line twice', HEADER + LINES[0] + LINES[0], SECOND, NO_LINE],
    ['a journal with its lines in another order', HEADER + LINES[1] + LINES[0], START, NO_LINE],
    [
      'the last line of another journal',
      HEADER + LINES[0] + linesAfter(snapshotOf(1), 1, [2, 1])[2],
      SECOND,
      NO_LINE,
    ],
    [
      'a damaged line before a torn one',
      journal(1, [1, 1]).replace('Rex', 'Tex').slice(0, -3),
      START,
      NO_LINE,
    ],
    ...['\0', '\xff', 'x'].map((filler) => {
      const text = journal(1, [1, 1, 1]).slice(0, -99).padEnd(LENGTH, filler);
      return [`a journal filled up with ${JSON.stringify(filler)}`, text, SECOND, NO_LINE] as const;
    }),
    ...['\xff', 'x'].map((filler) => {
      const text = journal(1, [1]).padEnd(LENGTH, filler);
      return [`lines of ${JSON.stringify(filler)} in a journal`, text, SECOND, NO_LINE] as const;
    }),
    ['another text instead of the journal', 'Remember the milk\n', 0, NO_HEADER],
    [
      'a journal of an earlier version',
      '91dc63af {"after":1,"pets":[{"id":2,"name":"Rex","categoryId":7}]}\n',
      0,
      `${NO_HEADER}.* if another version wrote it, stop that version cleanly first`,
    ],
  ] as const
).map(([what, text, at, complaint]) => [what, snapshotOf(1), text, atByte(at, complaint)]);

const REFUSED: readonly Refused[] = [
  ['a journal and no snapshot', undefined, journal(2, [1]), MISSING],
  ['a journal without commits and no snapshot', undefined, journal(2, []), MISSING],
  ['another text for a journal and no snapshot', undefined, 'Remember the milk\n', MISSING],
  ...OTHER_SNAPSHOTS,
  ...DAMAGED_JOURNALS,
  [
    'a journal that lost a line, and whose pets the snapshot has',
    snapshotOf(5),
    HEADER + LINES[1] + LINES[2],
    atByte(START, NO_LINE),
  ],
  ['an empty snapshot', '', journal(0, [1]), /damaged at byte 0, line 1: The file is empty\. /],
  ['no array of pets', '{"pets":[]}', undefined, /byte 0, line 1: It is not an array of pets/],
  [
    'a damaged snapshot and a torn journal',
    `[\n${petText(2)},\n${petText(1)}\n]\n`,
    journal(2, [1]).slice(0, 40),
    /pets\.json is damaged at byte [0-9]+, line 3: id 1 does not come after 2: /,
  ],
];

for (const [what, snapshot, text, complaint] of REFUSED) {
  test(`A start with ${what} is refused, and changes nothing`, async (t) => {
    const scene = makeScene(t, { snapshot, journal: text, tmp: 'unfinished' });
    const before = scene.files();
    await assert.rejects(openFileStore({ path: scene.path }), (error: Error) => {
      assert.equal(error.name, 'DamagedFileError');
      assert.match(error.message, complaint);
      assert.ok(error.message.startsWith(scene.path));
      assert.match(error.message, /It was left as it is\. ./);
      return true;
    });
    assert.deepEqual(scene.files(), before);
  });
}

test('A file that is not a data file is refused before a lock file is made', async (t) => {
  const folder = tempDir(t);
  const path = join(folder, 'notes.txt');
  writeFileSync(path, 'Remember the milk\n');
  await assert.rejects(openFileStore({ path }), { name: 'DamagedFileError' });
  assert.deepEqual(readdirSync(folder), ['notes.txt']);
});

for (const name of ['pets.json', 'pets.json.journal']) {
  test(`A folder instead of ${name} is refused`, async (t) => {
    const folder = tempDir(t);
    mkdirSync(join(folder, name));
    await assert.rejects(openFileStore({ path: join(folder, 'pets.json') }), {
      message: `${join(folder, name)} is not a file`,
    });
    assert.deepEqual(readdirSync(join(folder, name)), []);
  });
}

test('A torn commit is logged once, with its offset', async (t) => {
  const offset = journal(2, [1]).length;
  const scene = makeScene(t, {
    snapshot: snapshotOf(2),
    journal: journal(2, [1, 2]).slice(0, offset + 50),
  });
  const warned: unknown[][] = [];
  const log: Log = (...told) => told[0] === 'warn' && warned.push(told.slice(1));
  await (await openFileStore({ path: scene.path, log })).close();
  const details = { file: `${scene.path}.journal`, offset, bytes: 50 };
  const event = 'Dropped a torn commit that was never acknowledged';
  assert.deepEqual(warned, [[event, details]]);
  await (await openFileStore({ path: scene.path, log })).close();
  assert.equal(warned.length, 1);
});

test('A snapshot without a checksum line is logged', async (t) => {
  const { path } = makeScene(t, { snapshot: snapshotOf(2) });
  const events: string[] = [];
  const log: Log = (_level, event) => events.push(event);
  const store = await openFileStore({ path, log });
  await store.create(REX);
  await store.close();
  await (await openFileStore({ path, log })).close();
  assert.equal(events.filter((event) => event.includes('has no checksum line')).length, 1);
});

test('A start removes an unfinished checkpoint', async (t) => {
  const files = { snapshot: snapshotOf(2), journal: journal(2, [1]), tmp: '[\n{"id":1,"na' };
  const { path } = makeScene(t, files);
  const store = await openFileStore({ path });
  assert.ok(!existsSync(`${path}.tmp`));
  assert.equal(store.count().total, 3);
  await store.close();
});

test('A start keeps a short journal, and merges a long one into a new snapshot', async (t) => {
  const length = journal(0, [1, 1]).length;
  for (const [longJournalBytes, stays] of [
    [length, true],
    [length - 1, false],
  ] as const) {
    const scene = makeScene(t, { snapshot: snapshotOf(0), journal: journal(0, [1, 1]) });
    const store = await openFileStore({ path: scene.path, longJournalBytes });
    assert.equal(existsSync(`${scene.path}.journal`), stays);
    assert.equal(scene.files()['pets.json'] === snapshotOf(0), stays);
    assert.equal((await store.create(REX)).text, petText(3));
    await store.close();
    assert.deepEqual(await openedIds(scene), [1, 2, 3]);
  }
});

test('A copy made during a checkpoint is refused, or has all pets', async (t) => {
  const scene = makeScene(t, { snapshot: snapshotOf(2) });
  const store = await openFileStore({ path: scene.path });
  await store.create(REX);
  // The journal first, as the page says: the newer snapshot has its pets.
  const { 'pets.json': older, 'pets.json.journal': copied } = scene.files();
  await store.close();
  const good = makeScene(t, { snapshot: scene.files()['pets.json'], journal: copied });
  assert.deepEqual(await openedIds(good), [1, 2, 3]);
  const again = await openFileStore({ path: scene.path });
  await again.create(REX);
  // The snapshot first: the newer journal does not follow it.
  const bad = makeScene(t, { snapshot: older, journal: scene.files()['pets.json.journal'] });
  await assert.rejects(openFileStore({ path: bad.path }), { name: 'DamagedFileError' });
  await again.close();
});

interface Scene {
  readonly path: string;
  /** The content of each file in the folder. */
  files(): Record<string, string>;
}

/** A folder with these files, and with the lock file that every store leaves. */
function makeScene(t: TestContext, { snapshot, journal, tmp }: Files): Scene {
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
        // The content of a lock file is for people only.
        .map((name) => [
          name,
          name.endsWith('.lock') ? '' : readFileSync(join(folder, name), 'latin1'),
        ]),
    );
  return { path, files };
}

/** Opens the store, closes it, and gives the ids of the pets it had. */
async function openedIds({ path }: Scene): Promise<readonly number[]> {
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

/** The snapshot of three pets, the first of them with another name. */
function texSnapshot(): string {
  return snapshotOf(3).replace('Rex', 'Tex');
}

/** A journal after a snapshot of so many pets, with commits of so many each. */
function journal(snapshotPets: number, sizes: readonly number[]): string {
  return lines(snapshotPets, sizes).join('');
}

function lines(snapshotPets: number, sizes: readonly number[]): readonly string[] {
  return linesAfter(snapshotOf(snapshotPets), snapshotPets, sizes);
}

function linesAfter(snapshot: string, lastId: number, sizes: readonly number[]): readonly string[] {
  const commits = sizes.map((length) => Array.from({ length }, () => REX));
  return journalLines(snapshotId(snapshot, lastId), commits).map((line) => `${line}`);
}

function atByte(offset: number, complaint: string): RegExp {
  return new RegExp(`\\.journal is damaged at byte ${offset}, line [0-9]+: ${complaint}`);
}
