/**
 * Damaged files: a bit is flipped, a file is cut off, or a part of it is zeros. A start is refused
 * and changes no file, or it shows exactly the pets of the commits before. And what a crash leaves
 * of a commit, at each position in a sector, is never refused. What may follow the last commit is
 * in stores/file/torn-commit.test.ts, rule by rule.
 */

import { systemMemory } from '../../src/core/base/system.ts';
import type { DiskFile, FileStat } from '../../src/core/store/disk.ts';
import { firstLine, FIRST_LINE_BYTES, type Word } from '../../src/core/store/format.ts';
import { readDataFile } from '../../src/core/store/read-data-file.ts';
import { isChosen, rounds, SEED } from '../support/extent.ts';
import { createRandom } from '../support/random.ts';
import type { Callers, Script } from './callers.ts';
import { overwriteFile, type DiskImage } from './disk-image.ts';
import { DATA_FILE, live, type Moment } from './life.ts';
import { Model, type Knowledge } from './model.ts';
import { complaintsAbout, type Cases } from './simulation.ts';
import { SECTOR_BYTES } from './simulated-disk.ts';
import { mixturesOf } from './survival.ts';

/** A durable data file, and what is known of it. */
interface Found {
  readonly image: DiskImage;
  readonly known: Knowledge;
  readonly bytes: Buffer;
  /** How long the file was after each commit, and how many pets it had. */
  readonly commits: readonly (readonly [bytes: number, pets: number])[];
}

/** How many pets a start must show; or it must be refused. */
type Expected = number | typeof REFUSED;

const REFUSED: 'refused' = 'refused';

/** Starts with one bit of a file flipped; in the sample with one bit in nine. */
export async function* flipBits(): Cases {
  const found = await fileOfCommits(3);
  for (const word of ['in use', 'clean'] as const) {
    const bytes = withWord(found.bytes, word);
    for (let bit = 0; bit < 8 * bytes.length; bit += rounds(17, 1)) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      yield* startOn(`${word}, bit ${bit}`, found, flipped, REFUSED);
    }
  }
}

/** Starts with a file that is cut off after any byte: in use, clean, or without marks. */
export async function* cutFiles(): Cases {
  const found = await fileOfCommits(rounds(30, 300));
  for (const length of found.bytes.keys()) {
    const cut = found.bytes.subarray(0, length);
    // The mark of a commit is whole without the line feed, bracket and line feed behind it.
    const [, pets] = found.commits.findLast(([bytes]) => length >= bytes - 3) ?? [0, 0];
    const expected = length < FIRST_LINE_BYTES + 2 ? REFUSED : pets;
    yield* startOn(`in use, ${length} bytes`, found, withWord(cut, 'in use'), expected);
    yield* startOn(`clean, ${length} bytes`, found, withWord(cut, 'clean'), REFUSED);
  }
  const { pets } = found.known;
  const array = Buffer.from(`[\n${pets.join(',\n')}\n]\n`);
  for (const length of array.keys()) {
    const expected = length === array.length - 1 ? pets.length : REFUSED;
    yield* startOn(`array, ${length} bytes`, found, array.subarray(0, length), expected);
  }
}

/** Starts with zeros in a part of a file that is in use, such that no crash leaves them. */
export async function* zeroParts(): Cases {
  const found = await fileOfCommits(400);
  const random = createRandom(SEED);
  const { bytes } = found;
  for (let tried = 0; tried < rounds(150, 3000); tried += 1) {
    const start = FIRST_LINE_BYTES + random.below(bytes.length - FIRST_LINE_BYTES - 3);
    const end = Math.min(bytes.length, start + 1 + random.below(random.pick([3, 40, 1200])));
    // Behind a commit a sector is old up to where its bracket was, or up to a byte behind that.
    const isBehind = found.commits.some(([length]) => start >= length - 2 && start <= length);
    const isStart = isBehind || start % SECTOR_BYTES === 0;
    if (isStart && (end % SECTOR_BYTES === 0 || end === bytes.length)) continue;
    const zeros = Buffer.from(bytes).fill(0, start, end);
    yield* startOn(`zeros from ${start} to ${end}`, found, zeros, REFUSED);
  }
}

/**
 * What a crash leaves of a commit that begins at each position in a sector, of its roll-back, and
 * of the next start. Everything is read, and nothing that is known is lost.
 */
export async function* crashImages(): Cases {
  for (let at = 0; at < SECTOR_BYTES; at += rounds(61, 1)) {
    const random = createRandom(SEED + at);
    const lengths = [random.below(20), random.below(300), random.below(900)];
    const first = random.below(3);
    const script: Script = async (callers) => {
      await callers.start();
      await callers.create(at + 20);
      await callers.create(...lengths.slice(first));
      callers.kill();
      await callers.start();
      await callers.createOnce(3);
    };
    const { operations } = await live(script, { keepsFrom: Infinity });
    const writes = [...operations.keys()].filter((at) => operations[at]!.kind === 'write');
    for (const half of [Infinity, random.pick(writes), random.pick(writes)]) {
      const where = `commit at ${at}, half at operation ${half}`;
      if (!isChosen(where)) continue;
      const faults = [{ at: half, kind: 'half', lasts: 'once' }] as const;
      const { moments, complaints } = await live(script, { faults });
      yield complaintsAbout(where, complaints);
      for (const moment of moments) yield* readMixtures(moment, where);
    }
  }
}

async function* readMixtures({ before, image, known }: Moment, where: string): Cases {
  const file = image.files.get(image.durableNames.get(DATA_FILE) ?? NaN);
  if (file === undefined || file.changes.length === 0) return;
  for (const content of mixturesOf(file)) {
    const complaints: string[] = [];
    try {
      new Model(known).reopened(await petsOf(content));
    } catch (error) {
      complaints.push(`before ${before}: ${String(error)}`);
    }
    yield complaintsAbout(where, complaints);
  }
}

/** The texts of the pets that a start would find. */
async function petsOf(content: Buffer): Promise<readonly string[]> {
  const file = {
    read: async (bytes, position) => content.copy(bytes, 0, position),
    stat: () => ({ sizeBytes: content.length }) as FileStat,
  } satisfies Partial<DiskFile> as DiskFile;
  const deps = { memory: systemMemory, clock: { now: () => 0 } };
  const { pets } = await readDataFile(DATA_FILE, file, deps);
  return Array.from(pets.pets(), ({ text }) => text);
}

/** Starts with another content of the file, and compares what the start does with `expected`. */
async function* startOn(name: string, found: Found, content: Buffer, expected: Expected): Cases {
  if (!isChosen(name)) return;
  const { image, known } = found;
  const id = image.names.get(DATA_FILE)!;
  const damaged = overwriteFile(image, id, content);
  const start = (callers: Callers): Promise<void> => callers.start();
  const pets = expected === REFUSED ? [] : known.pets.slice(0, expected);
  const options = { image: damaged, known: { ...known, pets }, keepsFrom: Infinity };
  const { stores, complaints, startError, disk } = await live(start, options);
  const isRefused = stores.length === 0;
  const { names, files } = disk.image;
  const isChanged = names.size !== damaged.names.size || !files.get(id)!.cached.equals(content);
  yield complaintsAbout(name, [
    ...(isRefused ? [] : complaints),
    ...(isRefused === (expected === REFUSED) ? [] : [`not as expected: ${String(startError)}`]),
    ...(isRefused && !/damaged|is not a/.test(String(startError)) ? [String(startError)] : []),
    ...(isRefused && isChanged ? ['the file was changed'] : []),
  ]);
}

/** Commits of one pet and of several, with keys and without, all durable; in use. */
async function fileOfCommits(nameLength: number): Promise<Found> {
  const commits: (readonly [number, number])[] = [];
  const { moments, disk, model } = await live(async (callers) => {
    await callers.start();
    await callers.create(30, nameLength);
    await callers.createOnce(3);
    await callers.create(nameLength, 3, 3);
    await callers.createOnce(nameLength);
  });
  const id = disk.image.names.get(DATA_FILE)!;
  for (const { image } of moments) {
    const file = image.files.get(id);
    if (file === undefined || file.changes.length > 0) continue;
    commits.push([file.cached.length, file.cached.toString().split('{"id":').length - 1]);
  }
  const bytes = disk.image.files.get(id)!.cached;
  return { image: disk.image, known: model.knowledge(), bytes, commits };
}

/** A file that is in use, with a torn commit at its end. */
export async function tornFile(): Promise<Pick<Found, 'image' | 'known'>> {
  const { image, known, bytes } = await fileOfCommits(3);
  const tail = Buffer.from(`,{"id":${known.pets.length + 1},"name":"${'x'.repeat(300)}`);
  const torn = Buffer.concat([bytes.subarray(0, -2), tail]);
  return { image: overwriteFile(image, image.names.get(DATA_FILE)!, torn), known };
}

/** The bytes with another first line, as far as they have one. */
function withWord(bytes: Buffer, word: Word): Buffer {
  const line = firstLine(word).subarray(0, bytes.length);
  return Buffer.concat([line, bytes.subarray(line.length)]);
}
