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
import type { Log } from '../../../src/base/log.ts';
import { encodeNewPet } from '../../../src/model/encoded-pet.ts';
import { encodeCommit } from '../../../src/stores/commits/commit.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { tempDir } from '../../support/temp-dir.ts';

const POSIX = { skip: platform() === 'win32' && 'Symbolic links need a privilege on Windows' };
const rex = encodeNewPet({ name: 'Rex', categoryId: 7n });

test('Neither file: the store starts empty and writes the first snapshot', async (t) => {
  const place = makePlace(t, {});
  assert.deepEqual(await openedIds(place), []);
  assert.deepEqual(Object.keys(place.files()), ['pets.json', 'pets.json.lock']);
  assert.match(place.files()['pets.json']!, /^\[\n\]\n/);
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
  assert.equal(`${await store.create(rex)}`, petText(4));
  await store.close();
  assert.deepEqual(await openedIds(place), [1, 2, 3, 4]);
});

for (const mode of [0o600, 0o640, 0o666]) {
  const name = `The journal of a data file with the mode ${mode.toString(8)} has it as well`;
  test(name, POSIX, async (t) => {
    const { path } = makePlace(t, { snapshot: snapshotOf(3) });
    chmodSync(path, mode);
    const store = await openFileStore({ path });
    await store.create(rex);
    for (const file of [path, `${path}.journal`]) assert.equal(statSync(file).mode & 0o777, mode);
    await store.close();
  });
}

interface Row {
  readonly name: string;
  readonly files: Files;
  readonly ids: readonly number[];
}

interface Files {
  readonly snapshot?: string;
  readonly journal?: string;
  readonly tmp?: string;
}

const started: readonly Row[] = [
  {
    name: 'A journal only, from the first pet on: its pets are there',
    files: { journal: commit(0, 1) + commit(1, 3) },
    ids: [1, 2, 3, 4],
  },
  {
    name: 'An empty journal: the snapshot is all there is',
    files: { snapshot: snapshotOf(2), journal: '' },
    ids: [1, 2],
  },
  {
    name: 'Commits after the snapshot: they are applied',
    files: { snapshot: snapshotOf(2), journal: commit(2, 1) + commit(3, 2) },
    ids: [1, 2, 3, 4, 5],
  },
  {
    name: 'Commits after a snapshot whose ids have gaps: they are applied',
    files: { snapshot: `[${petText(5)},${petText(9)}]`, journal: commit(9, 2) },
    ids: [5, 9, 10, 11],
  },
  {
    name: 'Commits that the snapshot holds: they are skipped',
    files: { snapshot: snapshotOf(4), journal: commit(1, 1) + commit(2, 2) },
    ids: [1, 2, 3, 4],
  },
  {
    name: 'Commits far below the last pet of the snapshot: they are skipped',
    files: { snapshot: snapshotOf(9), journal: commit(0, 1) + commit(1, 2) },
    ids: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  },
  {
    name: 'Commits some of which the snapshot holds: the others are applied',
    files: { snapshot: snapshotOf(3), journal: commit(0, 1) + commit(1, 2) + commit(3, 2) },
    ids: [1, 2, 3, 4, 5],
  },
  {
    name: 'A commit cut off at the end: it is dropped',
    files: { snapshot: snapshotOf(2), journal: commit(2, 1) + commit(3, 2).slice(0, -9) },
    ids: [1, 2, 3],
  },
  {
    name: 'Zero bytes at the end: they are dropped',
    files: { snapshot: snapshotOf(2), journal: commit(2, 1) + '\0'.repeat(700) },
    ids: [1, 2, 3],
  },
  {
    name: 'A first commit cut off without a snapshot: the store starts empty',
    files: { journal: commit(0, 2).slice(0, 30) },
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

const refused: readonly (Files & { readonly name: string; readonly complaint: RegExp })[] = [
  {
    name: 'A journal whose snapshot is missing',
    journal: commit(2, 1),
    complaint: /\.journal is damaged at byte 0: This commit follows pet 2, .* end with 0: the snap/,
  },
  {
    name: 'A journal whose snapshot is empty now',
    snapshot: '[\n]\n',
    journal: commit(2, 1),
    complaint: /\.journal is damaged at byte 0: This commit follows pet 2, .* end with 0: the snap/,
  },
  {
    name: 'A snapshot from an earlier day than the journal',
    snapshot: snapshotOf(2),
    journal: commit(4, 1),
    complaint: /\.journal is damaged at byte 0: This commit follows pet 4, .* end with 2: the snap/,
  },
  {
    name: 'A commit that the snapshot holds in part',
    snapshot: snapshotOf(3),
    journal: commit(2, 2),
    complaint: /\.journal is damaged at byte 0: This commit follows pet 2, .* end with 3: the snap/,
  },
  {
    name: 'A journal beside a snapshot of other pets with the same ids',
    snapshot: snapshotOf(3).replace('Rex', 'Tex'),
    journal: commit(0, 3),
    complaint: atByte(0, 'This commit has a pet 1 that the snapshot has not, or not like this: '),
  },
  {
    name: 'A journal beside a snapshot of other pets with greater ids',
    snapshot: '[{"id":50,"name":"Rex","categoryId":1}]',
    journal: commit(0, 1) + commit(1, 2),
    complaint: atByte(0, 'This commit has a pet 1 that the snapshot has not, or not like this: '),
  },
  {
    name: 'A line lost from the middle of the journal',
    snapshot: snapshotOf(1),
    journal: commit(1, 1) + commit(3, 1),
    complaint: atByte(commit(1, 1).length, 'This commit follows pet 3, but .* end with 2: '),
  },
  {
    name: 'A line lost from among those that the snapshot holds',
    snapshot: snapshotOf(5),
    journal: commit(1, 1) + commit(3, 1),
    complaint: atByte(commit(1, 1).length, 'This commit follows pet 3, but .* end with 5: '),
  },
  {
    name: 'A line lost between those that the snapshot holds and the others',
    snapshot: snapshotOf(5),
    journal: commit(1, 1) + commit(5, 1),
    complaint: atByte(commit(1, 1).length, 'This commit follows pet 5, but .* end with 5: '),
  },
  {
    name: 'A line of the journal twice',
    snapshot: snapshotOf(1),
    journal: commit(1, 1) + commit(1, 1),
    complaint: atByte(commit(1, 1).length, 'This commit follows pet 1, but .* end with 2: '),
  },
  {
    name: 'Lines of the journal in another order',
    snapshot: snapshotOf(1),
    journal: commit(2, 1) + commit(1, 1),
    complaint: atByte(0, 'This commit follows pet 2, but .* end with 1: '),
  },
  {
    name: 'A changed letter in the middle of the journal',
    snapshot: snapshotOf(1),
    journal: commit(1, 1) + commit(2, 1).replace('Rex', 'Tex') + commit(3, 1),
    complaint: atByte(commit(1, 1).length, 'This line of the journal is no whole commit'),
  },
  {
    name: 'A changed letter in the last line of the journal',
    snapshot: snapshotOf(1),
    journal: commit(1, 1) + commit(2, 1).replace('Rex', 'Tex'),
    complaint: atByte(commit(1, 1).length, 'This line of the journal is no whole commit'),
  },
  {
    name: 'A damaged line before one that was cut off',
    snapshot: snapshotOf(1),
    journal: commit(1, 1).replace('Rex', 'Tex') + commit(2, 1).slice(0, -3),
    complaint: atByte(0, 'This line of the journal is no whole commit'),
  },
  {
    name: 'A journal that is some other text',
    snapshot: snapshotOf(1),
    journal: 'Remember the milk\n',
    complaint: atByte(0, 'This line of the journal is no whole commit'),
  },
  {
    name: 'An empty snapshot',
    snapshot: '',
    journal: commit(0, 1),
    complaint: /pets\.json is damaged at byte 0: The file is empty/,
  },
  {
    name: 'A snapshot that is no array of pets',
    snapshot: '{"pets":[]}',
    tmp: 'left behind',
    complaint: /pets\.json is damaged at byte 0: Expected an array of pets/,
  },
  {
    name: 'A snapshot cut off',
    snapshot: snapshotOf(9).slice(0, 60),
    complaint: /pets\.json is damaged at byte 60: /,
  },
  {
    name: 'A damaged snapshot beside a journal that was cut off',
    snapshot: snapshotOf(2).replace('Rex', '\0'),
    journal: commit(2, 1).slice(0, 40),
    tmp: 'left behind',
    complaint: /pets\.json is damaged at byte [0-9]+: /,
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
        assert.match(error.message, /It was left as it is$/);
        return true;
      });
      assert.deepEqual(place.files(), before);
    }
  });
}

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

test('A commit that was cut off is told of once, with its place, and cut away', async (t) => {
  const whole = commit(2, 1);
  const journal = whole + commit(3, 2).slice(0, 50);
  const place = makePlace(t, { snapshot: snapshotOf(2), journal });
  const events: unknown[] = [];
  const log: Log = (level, event, details) => events.push([level, event, details]);
  const store = await openFileStore({ path: place.path, log, journalReserveBytes: 0 });
  assert.deepEqual(events, [
    [
      'warn',
      'Dropped a commit that was cut off before it was answered',
      { file: `${place.path}.journal`, offset: whole.length, bytes: 50 },
    ],
  ]);
  assert.equal(place.files()['pets.json.journal'], whole);
  await store.create(rex);
  assert.equal(place.files()['pets.json.journal'], whole + commit(3, 1));
  await store.close();
});

test('A checkpoint that was cut off: it is removed', async (t) => {
  const files = { snapshot: snapshotOf(2), journal: commit(2, 1), tmp: '[\n{"id":1,"na' };
  const place = makePlace(t, files);
  const store = await openFileStore({ path: place.path });
  assert.ok(!existsSync(`${place.path}.tmp`));
  assert.equal(store.count().total, 3);
  await store.close();
});

test('A short journal is carried on with; a long one becomes a snapshot at start', async (t) => {
  const long = Array.from({ length: 16_000 }, (_, index) => commit(index, 1)).join('');
  assert.ok(long.length > 1 << 20);
  for (const [journal, stays] of [
    [commit(0, 1) + commit(1, 1), true],
    [long, false],
  ] as const) {
    const place = makePlace(t, { snapshot: '[]', journal });
    const store = await openFileStore({ path: place.path });
    assert.equal(existsSync(`${place.path}.journal`), stays);
    assert.equal(place.files()['pets.json'] === '[]', stays);
    await store.close();
  }
});

test('Closing brings everything into the snapshot and leaves no journal', async (t) => {
  const place = makePlace(t, { snapshot: snapshotOf(1) });
  const store = await openFileStore({ path: place.path });
  await store.create(rex);
  assert.equal(place.files()['pets.json.journal']?.replace(/\0+$/, ''), commit(1, 1));
  await store.close();
  const files = place.files();
  assert.deepEqual(Object.keys(files), ['pets.json', 'pets.json.lock']);
  assert.ok(files['pets.json']!.startsWith(`[\n${petText(1)},\n${petText(2)}\n]\n`));
});

test('What a store had written when its process died is all there', async (t) => {
  const place = makePlace(t, {});
  const store = await openFileStore({ path: place.path });
  await Promise.all(Array.from({ length: 40 }, () => store.create(rex)));
  const after = makePlace(t, {});
  cpSync(place.folder, after.folder, { recursive: true });
  await store.close();
  assert.deepEqual(
    await openedIds(after),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
});

test('A checkpoint keeps the mode of the data file', POSIX, async (t) => {
  const place = makePlace(t, { snapshot: '[]', journal: commit(0, 1) });
  chmodSync(place.path, 0o640);
  assert.deepEqual(await openedIds(place), [1]);
  assert.notEqual(place.files()['pets.json'], '[]');
  assert.equal(statSync(place.path).mode & 0o777, 0o640);
});

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
    await store.create(rex);
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
  const { json } = await store.list({ limit: 1000 });
  await store.close();
  return (JSON.parse(`${json}`) as { id: number }[]).map(({ id }) => id);
}

function petText(id: number): string {
  return `{"id":${id},"name":"Rex","categoryId":7}`;
}

function snapshotOf(count: number): string {
  return `[${Array.from({ length: count }, (_, index) => petText(index + 1)).join(',\n')}]\n`;
}

function commit(after: number, count: number): string {
  return `${
    encodeCommit(
      BigInt(after),
      Array.from({ length: count }, () => rex),
    ).line
  }`;
}

function atByte(offset: number, complaint: string): RegExp {
  return new RegExp(`\\.journal is damaged at byte ${offset}: ${complaint}`);
}
