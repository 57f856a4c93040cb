/**
 * Damage: every truncation and every flipped bit of the files that a store wrote.
 *
 * A start then finds exactly the pets that it may find, or is refused, names the file and changes no
 * byte. Thousands of cases run on files in memory, and some of them on real files.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Histogram } from '../../../src/base/histogram.ts';
import { silent } from '../../../src/base/log.ts';
import { systemMemory } from '../../../src/base/memory.ts';
import { PET_STATUSES, type NewPet } from '../../../src/model/pet.ts';
import type { PetPage, PetStore } from '../../../src/model/pet-store.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { recover } from '../../../src/stores/file/recovery.ts';
import { systemClock } from '../../../src/stores/file/store-clock.ts';
import { storePaths } from '../../../src/stores/file/store-paths.ts';
import { KeyTable } from '../../../src/stores/idempotency/key-table.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { eachBitFlip } from '../../support/disk/bit-flips.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const paths = storePaths('/d/pets.json');

const deps = {
  paths,
  memory: systemMemory,
  log: silent,
  longJournalBytes: Infinity,
  assertLockHeld: () => undefined,
  syncSeconds: new Histogram([]),
  clock: systemClock,
};

interface Files {
  readonly snapshot: Buffer;
  readonly journal: Buffer;
  readonly keys: Buffer;
}

/** The files of a store: a snapshot, and after it commits of one and of several pets. */
const { files, texts } = await writeFiles();
const snapshotEnd = files.snapshot.indexOf('\n]') + 2;
const [, ...commitEnds] = lineEnds(files.journal);
const commits = commitEnds.map((end) => ({
  end,
  pets: texts.length - countPets(files.journal.subarray(end)),
}));
const snapshotPets = texts.length - countPets(files.journal);

test('The files under test have the expected pets and commits', async () => {
  assert.deepEqual(await outcomeOf(files), texts);
  assert.equal(snapshotPets, 5);
  const sizes = commits.map(({ pets }, index) => pets - (commits[index - 1]?.pets ?? snapshotPets));
  assert.deepEqual(sizes, [1, 3, 1, 2, 1]);
});

test('A start with a journal that is cut off anywhere finds the commits before the cut', async (t) => {
  let cases = 0;
  for (let length = 0; length <= files.journal.length; length += 1) {
    const whole = commits.filter(({ end }) => end <= length).at(-1);
    const cut = files.journal.subarray(0, length);
    const outcome = await outcomeOf({ ...files, journal: cut });
    assert.deepEqual(outcome, texts.slice(0, whole?.pets ?? snapshotPets), `${length} bytes`);
    cases += 1;
  }
  t.diagnostic(`${cases} truncations of the journal`);
});

for (const name of ['snapshot', 'journal', 'keys'] as const) {
  test(`The file ${name} with any bit flipped is refused`, async (t) => {
    const bytes = Buffer.from(files[name]);
    const cases = await eachBitFlip(bytes, async (_, offset) => {
      assert.equal(await outcomeOf({ ...files, [name]: bytes }), 'refused', `byte ${offset}`);
    });
    t.diagnostic(`${cases} bit flips of the file`);
  });
}

test('A snapshot that is cut off before its bracket or in its checksum line is refused', async (t) => {
  let cases = 0;
  for (let length = 0; length <= files.snapshot.length; length += 1) {
    const snapshot = files.snapshot.subarray(0, length);
    // The beginning of a seal is told from white space by a tab or eight spaces.
    const isInSeal = /\t| {8}/.test(`${snapshot.subarray(snapshotEnd)}`);
    const isWhole = length === files.snapshot.length || (length >= snapshotEnd && !isInSeal);
    const expected = isWhole ? texts : 'refused';
    assert.deepEqual(await outcomeOf({ ...files, snapshot }), expected, `${length} bytes`);
    cases += 1;
  }
  t.diagnostic(`${cases} truncations of the snapshot`);
});

test('An idempotency file that is cut off anywhere is refused', async (t) => {
  for (let length = 0; length < files.keys.length; length += 1) {
    const keys = files.keys.subarray(0, length);
    assert.equal(await outcomeOf({ ...files, keys }), 'refused', `${length} bytes`);
  }
  t.diagnostic(`${files.keys.length} truncations of the idempotency file`);
});

test('An idempotency file with bytes after its line is refused', async () => {
  for (const more of ['\n', '\0', ' ', files.keys.toString(), 'x'.repeat(20_000_000)]) {
    const keys = Buffer.concat([files.keys, Buffer.from(more)]);
    assert.equal(await outcomeOf({ ...files, keys }), 'refused', more.slice(0, 20));
  }
});

test('A start on real files finds the same as on files in memory', async (t) => {
  let cases = 0;
  for (const name of ['snapshot', 'journal', 'keys'] as const) {
    for (let offset = 3; offset < files[name].length; offset += 61) {
      const flipped = Buffer.from(files[name]);
      flipped[offset]! ^= 1 << (offset % 8);
      for (const damaged of [flipped, files[name].subarray(0, offset)]) {
        const onDisk = { ...files, [name]: damaged };
        assert.deepEqual(await realOutcomeOf(tempDir(t), onDisk), await outcomeOf(onDisk));
        cases += 1;
      }
    }
  }
  t.diagnostic(`${cases} cases on real files`);
});

type Outcome = readonly string[] | 'refused';

/**
 * Returns the texts of the pets in these files, or `refused`. A refusal must name the file and
 * change nothing. Otherwise only the journal may change: to its complete commits, or to no file.
 */
async function outcomeOf({ snapshot, journal, keys }: Files): Promise<Outcome> {
  const disk = createMemoryDisk({
    [paths.snapshot]: snapshot,
    [paths.journal]: journal,
    [paths.keys]: keys,
  });
  const pets = new PetTable();
  const table = new KeyTable({ now: () => 0, timeOfDay: () => 0 });
  const opened = await recover({ ...deps, disk, pets, keys: table }).catch((error: Error) => {
    assert.equal(error.name, 'DamagedFileError', error.stack);
    assert.match(
      error.message,
      /^\/d\/pets\.json(\.journal|\.keys)? is damaged( at byte [0-9]+)?: /,
    );
    return undefined;
  });
  const wholeBytes = commits.filter(({ end }) => end <= journal.length).at(-1)?.end;
  const kept = opened === undefined ? journal.length : wholeBytes;
  assert.deepEqual(disk.contents(), {
    [paths.snapshot]: snapshot.toString('latin1'),
    [paths.keys]: keys.toString('latin1'),
    ...(kept !== undefined && { [paths.journal]: journal.toString('latin1', 0, kept) }),
  });
  return opened === undefined ? 'refused' : petTexts(pets.list({ limit: 1000 }));
}

async function realOutcomeOf(folder: string, { snapshot, journal, keys }: Files): Promise<Outcome> {
  const path = join(folder, 'pets.json');
  writeFileSync(path, snapshot);
  writeFileSync(`${path}.journal`, journal);
  writeFileSync(`${path}.keys`, keys);
  try {
    const store = await openFileStore({ path });
    const page = await store.list({ limit: 1000 });
    await store.close();
    return petTexts(page);
  } catch (error) {
    assert.equal((error as Error).name, 'DamagedFileError');
    assert.ok((error as Error).message.startsWith(path));
    assert.ok(readFileSync(path).equals(snapshot));
    assert.ok(readFileSync(`${path}.journal`).equals(journal));
    assert.ok(readFileSync(`${path}.keys`).equals(keys));
    return 'refused';
  }
}

async function writeFiles(): Promise<{ files: Files; texts: readonly string[] }> {
  const disk = createMemoryDisk();
  const names = ['Rex', 'Tömé', '', '😀\ud800', 'J*@ `"\\\0'];
  const newPets = [...names, ...names, ...names.slice(0, 3)].map((name, index) => {
    const pet: NewPet = { name, categoryId: BigInt(index) ** 14n };
    const status = PET_STATUSES[index % 4];
    return status === undefined ? pet : { ...pet, status };
  });
  const create = async (store: PetStore, index: number): Promise<unknown> =>
    index % 3 === 0
      ? store.createOnce?.(newPets[index]!, requestKey(index))
      : store.create(newPets[index]!);
  const first = await openFileStore({ path: paths.snapshot, disk });
  for (const index of [0, 1, 2, 3, 4]) await create(first, index);
  await first.close();
  const store = await openFileStore({ path: paths.snapshot, disk });
  // Of creates that come together, the first goes alone: the others wait for its sync.
  await Promise.all([5, 6, 7, 8].map((index) => create(store, index)));
  await Promise.all([9, 10, 11].map((index) => create(store, index)));
  await create(store, 12);
  const files = {
    snapshot: disk.read(paths.snapshot),
    journal: disk.read(paths.journal),
    keys: disk.read(paths.keys),
  };
  return { files, texts: petTexts(await store.list({ limit: 1000 })) };
}

function petTexts({ text }: PetPage): readonly string[] {
  return text.slice(1, -1).split(',\n');
}

function lineEnds(journal: Buffer): readonly number[] {
  const ends: number[] = [];
  journal.forEach((byte, index) => byte === 0x0a && ends.push(index + 1));
  return ends;
}

function countPets(journal: Buffer): number {
  return journal.toString().split('{"id":').length - 1;
}
