/**
 * Survival: what may be left of a disk image, after a kill -9 or a power failure.
 *
 * A kill leaves the system's cache. A power failure leaves what is durable, and of the rest
 * anything: all, nothing, the first few changes, the first part of a write, some sectors of it and
 * not others (what is missing is the old content, or zero where the file was shorter), and the
 * names that changed independently of the content; what is in a folder goes with the folder's name.
 * These are systematic, except for a few seeded choices of sectors.
 */

import { dirname } from 'node:path';
import { createRandom } from '../support/random.ts';
import {
  applyChanges,
  applyNames,
  FOLDER,
  resize,
  type DiskImage,
  type FileImage,
} from './disk-image.ts';

export interface Survivor {
  readonly how: string;
  readonly image: DiskImage;
}

export const SECTOR_BYTES = 512;

/** What an end leaves of an image: each of these is to be tried. */
export type Ends = (image: DiskImage) => Iterable<Survivor>;

export function* everyEnd(image: DiskImage): Generator<Survivor> {
  yield { how: 'kill -9', image };
  yield* afterPowerCut(image);
}

/** All that was written, and all that was synced: for files that are too long for more. */
export function* plainEnds(image: DiskImage): Generator<Survivor> {
  yield { how: 'kill -9', image };
  // The first one has nothing that is not durable.
  for (const survivor of afterPowerCut(image)) return yield survivor;
}

/** Every image after a power failure that is tried. */
function* afterPowerCut(image: DiskImage): Generator<Survivor> {
  for (const [names, how] of nameChoices(image)) {
    const reached = new Set([...names.values()].filter((id) => id !== FOLDER));
    const open = [...reached].filter((id) => image.files.get(id)!.changes.length > 0);
    const none = new Map([...reached].map((id) => [id, image.files.get(id)!.durable]));
    const all = new Map([...reached].map((id) => [id, allOf(image.files.get(id)!)]));
    yield { how: `power failure, ${how}, no content`, image: settledImage(image, names, none) };
    if (open.length === 0) continue;
    yield { how: `power failure, ${how}, all content`, image: settledImage(image, names, all) };
    for (const id of open) {
      for (const [content, part] of contentChoices(image.files.get(id)!)) {
        // What the other files kept is varied less: all or nothing.
        for (const others of open.length > 1 ? [none, all] : [none]) {
          const contents = new Map(others).set(id, content);
          const survivor = settledImage(image, names, contents);
          yield { how: `power failure, ${how}, ${part}`, image: survivor };
        }
      }
    }
  }
}

function settledImage(
  image: DiskImage,
  names: ReadonlyMap<string, number>,
  contents: ReadonlyMap<number, Buffer>,
): DiskImage {
  const files = new Map<number, FileImage>();
  const settledNames = new Map<string, number>();
  for (const [path, id] of [...names].sort()) {
    if (id === FOLDER) {
      settledNames.set(path, FOLDER);
      continue;
    }
    const content = contents.get(id)!;
    const { mode } = image.files.get(id)!;
    settledNames.set(path, files.size);
    files.set(files.size, { mode, cached: content, durable: content, changes: [], version: 0 });
  }
  return { files, names: settledNames, durableNames: settledNames, nameChanges: [] };
}

const MAX_NAME_CHANGES_IN_FULL = 4;

/**
 * Every subset of the changes where they are few, otherwise the first k for every k, all except one
 * of them, and seeded ones: a file system may make them durable in any order.
 */
function* nameChoices({
  durableNames,
  nameChanges: changes,
}: DiskImage): Generator<[names: ReadonlyMap<string, number>, how: string]> {
  for (const bits of subsetsOf(changes.length)) {
    const kept = changes.filter((_, index) => (bits >> index) & 1);
    const names = withoutLostFolders(applyNames(durableNames, kept));
    yield [names, `names ${bits.toString(2)}/${changes.length}`];
  }
}

function subsetsOf(count: number): Iterable<number> {
  const all = 2 ** count;
  if (count <= MAX_NAME_CHANGES_IN_FULL) return Array.from({ length: all }, (_, bits) => bits);
  const indexes = Array.from({ length: count }, (_, index) => index);
  const seeded = Array.from({ length: SEEDED_CHOICES }, (_, seed) => createRandom(seed).below(all));
  return new Set([
    ...indexes.map((first) => 2 ** first - 1),
    all - 1,
    ...indexes.map((missing) => all - 1 - 2 ** missing),
    ...seeded,
  ]);
}

/** The names whose folders are there. */
function withoutLostFolders(names: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const isThere = (path: string): boolean => path === '/' || names.get(path) === FOLDER;
  return new Map([...names].filter(([path]) => isThere(dirname(path))));
}

function allOf({ durable, changes }: FileImage): Buffer {
  return applyChanges(durable, changes);
}

function* contentChoices(file: FileImage): Generator<[content: Buffer, how: string]> {
  const { durable, changes } = file;
  const undropped = changes.filter(({ isDropped }) => !isDropped);
  if (undropped.length < changes.length)
    yield [applyChanges(durable, undropped), 'no dropped change'];
  for (const [index, change] of changes.entries()) {
    const before = applyChanges(durable, changes.slice(0, index));
    yield [before, `first ${index} of ${changes.length} changes`];
    const { position, bytes } = change;
    if (bytes === undefined) continue;
    for (const cut of cutsOf(position, bytes.length)) {
      const part = { ...change, bytes: bytes.subarray(0, cut) };
      yield [applyChanges(before, [part]), `change ${index}, ${cut} bytes of ${bytes.length}`];
    }
    // After a short write a sector may keep what that left, although the others have the rest.
    const all = allOf(file);
    const last = position + bytes.length - 1;
    const start = last - (last % SECTOR_BYTES);
    const stale = resize(applyChanges(before, [change]), all.length);
    if (start >= all.length) continue;
    stale.copy(all, start, start, start + SECTOR_BYTES);
    yield [all, `the last sector of change ${index} without later ones`];
  }
  yield* sectorChoices(file);
}

/** Lengths of a write's first part: near its ends, in its middle, and at its sectors' ends. */
function cutsOf(position: number, length: number): ReadonlySet<number> {
  const cuts = [1, 8, 9, 10, length >> 1, length - 2, length - 1];
  const firstEnd = SECTOR_BYTES - (position % SECTOR_BYTES);
  for (let end = firstEnd; end < length && cuts.length < 20; end += SECTOR_BYTES) cuts.push(end);
  return new Set(cuts.filter((cut) => cut > 0 && cut < length));
}

const SEEDED_CHOICES = 3;
const MAX_SECTORS_IN_FULL = 4;

/** The whole file in its new size, with some of the sectors that were written and others not. */
function* sectorChoices(file: FileImage): Generator<[content: Buffer, how: string]> {
  const all = allOf(file);
  const old = resize(file.durable, all.length);
  const sectors: number[] = [];
  for (let at = 0; at < all.length; at += SECTOR_BYTES) {
    const end = at + SECTOR_BYTES;
    if (!all.subarray(at, end).equals(old.subarray(at, end))) sectors.push(at);
  }
  for (const [isKept, how] of sectorPatterns(sectors.length)) {
    const content = Buffer.from(old);
    sectors.forEach((at, index) => {
      if (isKept(index)) all.copy(content, at, at, at + SECTOR_BYTES);
    });
    yield [content, `${how} of ${sectors.length} sectors`];
  }
}

type Pattern = (index: number) => boolean;

function* sectorPatterns(count: number): Generator<[isKept: Pattern, how: string]> {
  if (count <= MAX_SECTORS_IN_FULL) {
    for (let bits = 0; bits < 1 << count; bits += 1) {
      yield [(index) => ((bits >> index) & 1) === 1, `those of ${bits.toString(2)}`];
    }
    return;
  }
  yield [() => false, 'none'];
  for (const one of [0, 1, count >> 1, count - 2, count - 1]) {
    yield [(index) => index === one, `only ${one}`];
    yield [(index) => index !== one, `all except ${one}`];
  }
  yield [(index) => index % 2 === 0, 'the even'];
  yield [(index) => index % 2 === 1, 'the odd'];
  for (let seed = 1; seed <= SEEDED_CHOICES; seed += 1) {
    const random = createRandom(seed);
    const bits = Array.from({ length: count }, () => random.below(2) === 0);
    yield [(index) => bits[index]!, `seed ${seed}`];
  }
}
