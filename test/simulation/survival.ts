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

const SECTOR_BYTES = 512;

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

/** What a folder may show: a file system may make the changes of names durable in any order. */
function* nameChoices({
  durableNames,
  nameChanges: changes,
}: DiskImage): Generator<[names: ReadonlyMap<string, number>, how: string]> {
  for (const isKept of subsetsOf(changes.length)) {
    const kept = changes.filter((_, index) => isKept(index));
    const names = withoutLostFolders(applyNames(durableNames, kept));
    yield [names, `names ${changes.map((_, index) => Number(isKept(index))).join('')}`];
  }
}

type Subset = (index: number) => boolean;

/** Every subset of a few; otherwise the first k for every k, all except one, and seeded ones. */
function subsetsOf(count: number): readonly Subset[] {
  if (count <= 4) {
    return Array.from({ length: 2 ** count }, (_, bits) => (index) => ((bits >> index) & 1) === 1);
  }
  const subsets: Subset[] = [() => true];
  for (let at = 0; at < count; at += 1) {
    subsets.push(
      (index) => index < at,
      (index) => index !== at,
    );
  }
  for (let seed = 0; seed < 3; seed += 1) {
    const random = createRandom(seed);
    const bits = Array.from({ length: count }, () => random.oneIn(2));
    subsets.push((index) => bits[index]!);
  }
  return subsets;
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

/** The whole file in its new size, with some of the sectors that were written and others not. */
function* sectorChoices(file: FileImage): Generator<[content: Buffer, how: string]> {
  const all = allOf(file);
  const old = resize(file.durable, all.length);
  const sectors: number[] = [];
  for (let at = 0; at < all.length; at += SECTOR_BYTES) {
    const end = at + SECTOR_BYTES;
    if (!all.subarray(at, end).equals(old.subarray(at, end))) sectors.push(at);
  }
  for (const isKept of subsetsOf(sectors.length)) {
    const kept = sectors.filter((_, index) => isKept(index));
    const content = Buffer.from(old);
    for (const at of kept) all.copy(content, at, at, at + SECTOR_BYTES);
    yield [content, `of ${sectors.length} sectors those at ${kept.join()}`];
  }
}
