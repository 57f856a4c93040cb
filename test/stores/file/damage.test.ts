/**
 * Damage: every truncation and every flipped bit of the files that a store wrote.
 *
 * Whatever one such fault does, a store that opens has exactly the pets it may have, and a store
 * that refuses names the file and leaves every byte as it was. Nothing is ever changed silently.
 * Thousands of cases run on files in memory, some of them on real ones too.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { silent } from '../../../src/base/log.ts';
import { systemMemory } from '../../../src/base/memory.ts';
import { PET_STATUSES, type NewPet } from '../../../src/model/pet.ts';
import type { PetPage } from '../../../src/model/pet-store.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { recover } from '../../../src/stores/file/recovery.ts';
import { storePaths } from '../../../src/stores/file/store-paths.ts';
import { eachBitFlip } from '../../support/bit-flips.ts';
import { createMemoryDisk } from '../../support/memory-disk.ts';
import { tempDir } from '../../support/temp-dir.ts';

const paths = storePaths('/d/pets.json');

const place = {
  paths,
  memory: systemMemory,
  log: silent,
  longJournalBytes: Infinity,
  guard: () => undefined,
};

interface Files {
  readonly snapshot: Buffer;
  readonly journal: Buffer;
}

/** What a store wrote: a snapshot of some pets, and commits of one and of several pets after it. */
const { files, texts } = await writeFiles();
const snapshotEnd = files.snapshot.indexOf('\n]') + 2;
const [, ...commitEnds] = lineEnds(files.journal);
const commits = commitEnds.map((end) => ({
  end,
  pets: texts.length - countPets(files.journal.subarray(end)),
}));
const snapshotPets = texts.length - countPets(files.journal);

test('The files under test hold what they are meant to hold', async () => {
  assert.deepEqual(await outcomeOf(files), texts);
  assert.equal(snapshotPets, 5);
  const sizes = commits.map(({ pets }, index) => pets - (commits[index - 1]?.pets ?? snapshotPets));
  assert.deepEqual(sizes, [1, 3, 1, 2, 1]);
});

test('A journal cut off anywhere holds the commits before the cut, and they stay', async (t) => {
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

test('A journal with any bit flipped is refused', async (t) => {
  const journal = Buffer.from(files.journal);
  const cases = await eachBitFlip(journal, async (_, offset) => {
    assert.equal(await outcomeOf({ ...files, journal }), 'refused', `byte ${offset}`);
  });
  t.diagnostic(`${cases} bit flips of the journal`);
});

test('A snapshot cut off before its bracket or in its seal is refused, else whole', async (t) => {
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

test('A snapshot with any bit flipped is refused', async (t) => {
  const snapshot = Buffer.from(files.snapshot);
  const cases = await eachBitFlip(snapshot, async (_, offset) => {
    assert.equal(await outcomeOf({ ...files, snapshot }), 'refused', `byte ${offset}`);
  });
  t.diagnostic(`${cases} bit flips of the snapshot`);
});

test('Real files behave as those in memory: some cuts and flips of both', async (t) => {
  let cases = 0;
  for (const name of ['snapshot', 'journal'] as const) {
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

/**
 * The texts of the pets that these files hold, or `refused`; asserts that a refusal names the file
 * and changes nothing, and that all else changes nothing but to cut the journal to whole
 * commits, or to remove it where there are none.
 */
async function outcomeOf({ snapshot, journal }: Files): Promise<readonly string[] | 'refused'> {
  const disk = createMemoryDisk({ [paths.snapshot]: snapshot, [paths.journal]: journal });
  const opened = await recover({ ...place, disk }).catch((error: Error) => {
    assert.equal(error.name, 'DamagedFileError', error.stack);
    assert.match(error.message, /^\/d\/pets\.json(\.journal)? is damaged( at byte [0-9]+)?: /);
    return undefined;
  });
  const wholeBytes = commits.filter(({ end }) => end <= journal.length).at(-1)?.end;
  const kept = opened === undefined ? journal.length : wholeBytes;
  assert.deepEqual(disk.contents(), {
    [paths.snapshot]: snapshot.toString('latin1'),
    ...(kept !== undefined && { [paths.journal]: journal.toString('latin1', 0, kept) }),
  });
  return opened === undefined ? 'refused' : petTexts(opened.pets.list({ limit: 1000 }));
}

async function realOutcomeOf(
  folder: string,
  { snapshot, journal }: Files,
): Promise<readonly string[] | 'refused'> {
  const path = join(folder, 'pets.json');
  writeFileSync(path, snapshot);
  writeFileSync(`${path}.journal`, journal);
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
  const first = await openFileStore({ path: paths.snapshot, disk });
  for (const pet of newPets.slice(0, 5)) await first.create(pet);
  await first.close();
  const store = await openFileStore({ path: paths.snapshot, disk });
  // Of creates that come together, the first goes alone: the others wait for its sync.
  await Promise.all(newPets.slice(5, 9).map((pet) => store.create(pet)));
  await Promise.all(newPets.slice(9, 12).map((pet) => store.create(pet)));
  await store.create(newPets[12]!);
  const files = { snapshot: disk.read(paths.snapshot), journal: disk.read(paths.journal) };
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
