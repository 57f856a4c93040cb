/**
 * Damaged files: a bit is flipped, a file is cut off, or a data file is exchanged. A start is
 * refused and changes no file, or it shows exactly the pets of the complete commits before the end
 * of the file.
 */

import { isChosen, rounds } from '../support/extent.ts';
import type { Callers } from './callers.ts';
import { overwriteFile, type DiskImage } from './disk-image.ts';
import { DATA_FILE, JOURNAL, Life, live } from './life.ts';
import type { Knowledge } from './model.ts';
import { complaintsAbout, type Cases } from './simulation.ts';

interface Found {
  readonly image: DiskImage;
  readonly known: Knowledge;
}

/** Starts with one bit of a file flipped; in the sample with one bit in nine. */
export async function* flipBits(): Cases {
  const found = await shortJournal(3);
  for (const path of [DATA_FILE, JOURNAL]) {
    const bytes = contentOf(found, path);
    for (let bit = 0; bit < 8 * bytes.length; bit += rounds(9, 1)) {
      const where = `${path}, bit ${bit}`;
      if (!isChosen(where)) continue;
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const complaints = await startOn(found, path, flipped, REFUSED);
      yield complaintsAbout(where, complaints);
    }
  }
}

/** Starts with a file that is cut off after any byte, or that goes on. */
export async function* cutFiles(): Cases {
  const found = await shortJournal(rounds(30, 300));
  for (const path of [DATA_FILE, JOURNAL]) {
    const bytes = contentOf(found, path);
    for (const length of bytes.keys()) {
      const where = `${path}, ${length} bytes`;
      if (!isChosen(where)) continue;
      const expected = path === JOURNAL ? commitsBefore(found, length) : undefined;
      const complaints = await startOn(found, path, bytes.subarray(0, length), expected);
      yield complaintsAbout(where, complaints);
    }
  }
}

/** Starts with the data file of another store under a journal; the last ids are the same. */
export async function* swapDataFiles(): Cases {
  const other = contentOf(await shortJournal(3, 4), DATA_FILE);
  yield startOn(await shortJournal(3), DATA_FILE, other);
}

/** What a start must do; it is undefined if the start must show all pets or be refused. */
type Expected = Pick<Knowledge, 'pets'> | typeof REFUSED | undefined;

const REFUSED: 'refused' = 'refused';

/**
 * The pets of the data file, and of the lines that are complete in so many bytes of the journal.
 * The header, and the line with the keys of the data file's pets, are never torn.
 */
function commitsBefore(found: Found, length: number): Expected {
  const journal = contentOf(found, JOURNAL);
  const keysAt = journal.indexOf('{"keys":[');
  if (length > 0 && length <= journal.indexOf('\n')) return REFUSED;
  if (length > keysAt + 2 && length <= journal.indexOf('\n', keysAt)) return REFUSED;
  const end = journal.subarray(0, length).lastIndexOf('\n') + 1;
  const missing = journal.toString('latin1', end).split('{"id":').length - 1;
  const { pets } = found.known;
  return { pets: pets.slice(0, pets.length - missing) };
}

/** Starts with another content of a file, and compares what the start does with `expected`. */
async function startOn(
  { image, known }: Found,
  path: string,
  content: Buffer,
  expected?: Expected,
): Promise<readonly string[]> {
  const id = image.names.get(path)!;
  const damaged = overwriteFile(image, id, content);
  const start = (callers: Callers): Promise<void> => callers.start();
  const pets = typeof expected === 'object' ? expected : {};
  const life = await live(start, { image: damaged, known: { ...known, ...pets } });
  if (life.stores.length > 0) {
    return expected === REFUSED ? ['the file is accepted'] : life.complaints;
  }
  const { name, message } = life.startError as Error;
  const isDamage =
    name === 'DamagedFileError' || / is not a (list of pets|petstore data file)/.test(message);
  if (typeof expected === 'object' || !isDamage) return [String(life.startError)];
  const { names, files } = life.disk.image;
  const isAsItWas = names.size === damaged.names.size && files.get(id)!.cached.equals(content);
  return isAsItWas ? [] : ['the file was changed'];
}

/** Pets in the data file and in the journal, all durable. */
async function shortJournal(nameLength: number, firstLength = 3): Promise<Found> {
  const life = new Life();
  const { callers } = life;
  await callers.start();
  await callers.create(30, 10 * firstLength);
  await callers.createOnce(3);
  await callers.stop();
  await callers.start();
  await callers.createOnce(3);
  await callers.create(nameLength, 3, 3);
  await callers.create(nameLength);
  return { image: life.disk.image, known: life.model.knowledge() };
}

function contentOf({ image }: Found, path: string): Buffer {
  return image.files.get(image.names.get(path)!)!.cached;
}
