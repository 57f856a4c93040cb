/**
 * Survival: what may be left of a disk image, after a kill -9 or a power failure.
 *
 * A kill leaves the system's cache. A power failure leaves what is durable, and of the rest
 * anything: the names that changed, in any order, and independently of the content; what is in a
 * folder goes with the folder's name. Of a content it leaves the first few changes, the first part
 * of a write, or a mixture: each sector as it was after any change, in a length that the file had
 * after any. All combinations are tried, or a few seeded ones if there are many.
 */

import { dirname } from 'node:path';
import { createRandom, type Random } from '../support/random.ts';
import { applyChanges, applyNames, FOLDER, type DiskImage, type FileImage } from './disk-image.ts';
import { SECTOR_BYTES, wholeSectors } from './simulated-disk.ts';

export interface Survivor {
  readonly how: string;
  readonly image: DiskImage;
}

/** What an end leaves of an image: each of these is to be tried. */
export type Ends = (image: DiskImage) => Iterable<Survivor>;

/** A kill, and a power failure after which only what is durable is left. */
export function* plainEnds(image: DiskImage): Generator<Survivor> {
  yield { how: 'kill -9', image };
  yield { how: 'power failure, nothing else', image: worstEnd(image) };
}

/** Returns what is durable; names may count as durable. */
export function worstEnd(image: DiskImage, keepsNames = false): DiskImage {
  return settledImage(image, keepsNames ? image.names : image.durableNames, new Map());
}

/** Any one image after a power failure. */
export function randomEnd(image: DiskImage, random: Random, keepsNames: boolean): DiskImage {
  const kept = image.nameChanges.filter(() => random.oneIn(2));
  const names = keepsNames ? image.names : withoutLostFolders(applyNames(image.durableNames, kept));
  const below = (count: number): number => random.below(count);
  const contents = [...image.files].map(
    ([id, file]) => [id, mixture(statesOf(file), below)] as const,
  );
  return settledImage(image, names, new Map(random.oneIn(3) ? [] : contents));
}

/** A kill, and every image after a power failure that is tried. */
export function* everyEnd(image: DiskImage): Generator<Survivor> {
  yield { how: 'kill -9', image };
  const { durableNames, nameChanges } = image;
  for (const bits of combinations(nameChanges.map(() => 2))) {
    const kept = nameChanges.filter((_, index) => bits[index] === 1);
    const names = withoutLostFolders(applyNames(durableNames, kept));
    // No start reads an unfinished file: its content says nothing.
    const read = [...names].filter(([path]) => !path.includes('.unfinished-')).map(([, id]) => id);
    const open = [...new Set(read)].filter((id) => (image.files.get(id)?.changes.length ?? 0) > 0);
    const how = `power failure, names ${bits.join('')}`;
    const all = new Map(open.map((id) => [id, statesOf(image.files.get(id)!).at(-1)!]));
    yield { how: `${how}, no content`, image: settledImage(image, names, new Map()) };
    if (open.length > 0) yield { how: `${how}, all`, image: settledImage(image, names, all) };
    for (const id of open) {
      for (const [content, part] of contentsAfter(image.files.get(id)!)) {
        // What the other files kept is varied less: all or nothing.
        for (const others of open.length > 1 ? [new Map(), all] : [new Map()]) {
          const contents = new Map(others).set(id, content);
          yield { how: `${how}, ${part}`, image: settledImage(image, names, contents) };
        }
      }
    }
  }
}

/** The image with these names, and these contents or the durable ones. */
function settledImage(
  image: DiskImage,
  names: ReadonlyMap<string, number>,
  contents: ReadonlyMap<number, Buffer>,
): DiskImage {
  const files = new Map<number, FileImage>();
  const settledNames = new Map<string, number>();
  for (const [path, id] of [...names].sort()) {
    settledNames.set(path, id === FOLDER ? FOLDER : files.size);
    if (id === FOLDER) continue;
    const { mode, durable } = image.files.get(id)!;
    const cached = contents.get(id) ?? durable;
    files.set(files.size, { mode, cached, durable: cached, changes: [], version: 0 });
  }
  return { files, names: settledNames, durableNames: settledNames, nameChanges: [] };
}

/** How many combinations are tried. */
const MOST = 16;

/** All combinations of one number below each of these, or some of them if there are many. */
function* combinations(counts: readonly number[]): Generator<readonly number[]> {
  const total = counts.reduce((product, count) => product * count, 1);
  const random = createRandom(1);
  for (let number = 0; number < Math.min(total, MOST); number += 1) {
    let rest = number;
    yield counts.map((count) => {
      if (total > MOST) return random.below(count);
      const digit = rest % count;
      rest = Math.floor(rest / count);
      return digit;
    });
  }
}

/** The names whose folders are there. */
function withoutLostFolders(names: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const isThere = (path: string): boolean => path === '/' || names.get(path) === FOLDER;
  return new Map([...names].filter(([path]) => isThere(dirname(path))));
}

/** The contents after each change; without those that a failed sync has dropped, and with them. */
function statesOf({ durable, changes }: FileImage): readonly Buffer[] {
  const kept = changes.filter(({ isDropped }) => !isDropped);
  const after = (list: typeof changes): readonly Buffer[] =>
    list.map((_, at) => applyChanges(durable, list.slice(0, at + 1)));
  return [durable, ...(kept.length < changes.length ? after(kept) : []), ...after(changes)];
}

function* contentsAfter(file: FileImage): Generator<[content: Buffer, how: string]> {
  const states = statesOf(file);
  for (const [at, state] of states.entries()) yield [state, `state ${at} of ${states.length}`];
  for (const [index, change] of file.changes.entries()) {
    const { position, bytes } = change;
    if (bytes === undefined) continue;
    const before = applyChanges(file.durable, file.changes.slice(0, index));
    for (const cut of cutsOf(position, bytes.length, before.length)) {
      const part = { ...change, bytes: bytes.subarray(0, cut) };
      yield [applyChanges(before, [part]), `change ${index}, ${cut} bytes of ${bytes.length}`];
    }
  }
  let count = 0;
  for (const content of mixturesOf(file)) yield [content, `mixture ${(count += 1)}`];
}

/**
 * Lengths of a write's first part: near its ends, in its middle, and at its sectors' ends. No
 * sector of old content is overwritten in part.
 */
function cutsOf(position: number, length: number, oldLength: number): ReadonlySet<number> {
  const cuts = [1, 8, 9, 10, length >> 1, length - 2, length - 1];
  const firstEnd = SECTOR_BYTES - (position % SECTOR_BYTES);
  for (let end = firstEnd; end < length && cuts.length < 20; end += SECTOR_BYTES) cuts.push(end);
  const whole = cuts.map((cut) => wholeSectors(position, cut, oldLength));
  return new Set(whole.filter((cut) => cut > 0 && cut < length));
}

/** Yields different mixtures of what the file was. */
function* mixturesOf(file: FileImage): Generator<Buffer> {
  const states = statesOf(file);
  const counts: number[] = [];
  mixture(states, (count) => {
    counts.push(count);
    return 0;
  });
  for (const digits of combinations(counts)) {
    const left = [...digits];
    yield mixture(states, () => left.shift()!);
  }
}

/** Returns a file with a length and with sectors that `choose` takes: it returns an index. */
function mixture(states: readonly Buffer[], choose: (count: number) => number): Buffer {
  const lengths = [...new Set(states.map(({ length }) => length))];
  const content = Buffer.alloc(Math.max(...lengths));
  const length = lengths[choose(lengths.length)]!;
  for (let at = 0; at < content.length; at += SECTOR_BYTES) {
    const sectors = states.map((state) => state.subarray(at, at + SECTOR_BYTES));
    const different = sectors.filter((sector, index) => {
      return sectors.findIndex((other) => other.equals(sector)) === index;
    });
    different[choose(different.length)]!.copy(content, at);
  }
  return content.subarray(0, length);
}
