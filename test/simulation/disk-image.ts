/**
 * A disk image: what a simulated disk holds at one moment, with what was written and what would
 * survive a power failure kept apart.
 *
 * A file has its durable content, the changes since, and the cached content that reads show. Names,
 * those of folders too, are held apart from files, in the same three parts: syncing a file does not
 * make its name durable. Images never change; every step makes a new one, so that keeping one costs
 * nothing.
 */

import { createHash } from 'node:crypto';
import { dirname } from 'node:path';

export interface DiskImage {
  readonly files: ReadonlyMap<number, FileImage>;
  /** Path to file, as a process sees it. */
  readonly names: ReadonlyMap<string, number>;
  readonly durableNames: ReadonlyMap<string, number>;
  readonly nameChanges: readonly NameChange[];
}

export interface FileImage {
  readonly mode: number;
  readonly cached: Buffer;
  readonly durable: Buffer;
  readonly changes: readonly FileChange[];
  /** How often its content was changed. */
  readonly version: number;
}

/** A write, or a truncate where there are no bytes. */
export interface FileChange {
  readonly position: number;
  readonly bytes: Buffer | undefined;
  /** A sync failed: it may be on the disk or not, and the next sync does not write it again. */
  readonly isDropped: boolean;
}

/** Names that change together: one name, or the two of a rename. */
export interface NameChange {
  readonly names: readonly (readonly [path: string, file: number | undefined])[];
  /** A sync failed: it may be on the disk or not, and the next sync does not write it again. */
  readonly isDropped: boolean;
}

/** The content that marks a folder at the path of a file. */
export const FOLDER = -1;

export const EMPTY_DISK: DiskImage = {
  files: new Map(),
  names: new Map(),
  durableNames: new Map(),
  nameChanges: [],
};

export const NEW_FILE = {
  cached: Buffer.alloc(0),
  durable: Buffer.alloc(0),
  changes: [],
  version: 0,
};

export function createFile(image: DiskImage, path: string, mode: number): DiskImage {
  const id = image.files.size;
  const files = new Map(image.files).set(id, { ...NEW_FILE, mode });
  return changeNames({ ...image, files }, [[path, id]]);
}

export function changeNames(image: DiskImage, names: NameChange['names']): DiskImage {
  const change = { names, isDropped: false };
  const nameChanges = [...image.nameChanges, change];
  return { ...image, names: applyNames(image.names, [change]), nameChanges };
}

/** Writes the bytes at the position, or truncates to it. */
export function changeFile(
  image: DiskImage,
  id: number,
  position: number,
  bytes?: Buffer,
): DiskImage {
  const file = image.files.get(id)!;
  const change = { position, bytes: bytes && Buffer.from(bytes), isDropped: false };
  const cached = applyChanges(file.cached, [change]);
  const changes = [...file.changes, change];
  return setFile(image, id, { ...file, cached, changes, version: file.version + 1 });
}

/** Gives the file another content, durably, as another program would. */
export function overwriteFile(image: DiskImage, id: number, content: Buffer): DiskImage {
  return syncFile(changeFile(changeFile(image, id, 0), id, 0, content), id);
}

export function syncFile(image: DiskImage, id: number): DiskImage {
  const file = image.files.get(id)!;
  const changes = file.changes.filter(({ isDropped }) => !isDropped);
  return setFile(image, id, { ...file, durable: applyChanges(file.durable, changes), changes: [] });
}

/** As Linux does it: what could not be written stays readable, and counts as written. */
export function failSyncFile(image: DiskImage, id: number): DiskImage {
  const file = image.files.get(id)!;
  const changes = file.changes.map((change) => ({ ...change, isDropped: true }));
  return setFile(image, id, { ...file, changes });
}

/** The names in one folder. A change that was dropped counts no more once its paths have others. */
export function syncNames(image: DiskImage, folder: string): DiskImage {
  const here = image.nameChanges.filter((change) => isIn(folder, change));
  const synced = here.filter(({ isDropped }) => !isDropped);
  const settled = new Set(synced.flatMap(({ names }) => names.map(([path]) => path)));
  const nameChanges = image.nameChanges.flatMap((change) => {
    if (!isIn(folder, change)) return [change];
    const names = change.names.filter(([path]) => !settled.has(path));
    return change.isDropped && names.length > 0 ? [{ ...change, names }] : [];
  });
  return { ...image, durableNames: applyNames(image.durableNames, synced), nameChanges };
}

/** As a failed sync of a file: what could not be written stays visible, and counts as written. */
export function failSyncNames(image: DiskImage, folder: string): DiskImage {
  const nameChanges = image.nameChanges.map((change) => {
    return isIn(folder, change) ? { ...change, isDropped: true } : change;
  });
  return { ...image, nameChanges };
}

/** The next sync writes all changes of names again. */
export function oweNames(image: DiskImage): DiskImage {
  if (image.nameChanges.every(({ isDropped }) => !isDropped)) return image;
  const nameChanges = image.nameChanges.map((change) => ({ ...change, isDropped: false }));
  return { ...image, nameChanges };
}

function isIn(folder: string, { names }: NameChange): boolean {
  return names.every(([path]) => dirname(path) === folder);
}

export function applyNames(
  names: ReadonlyMap<string, number>,
  changes: readonly NameChange[],
): ReadonlyMap<string, number> {
  const result = new Map(names);
  for (const [path, file] of changes.flatMap(({ names }) => names)) {
    if (file === undefined) result.delete(path);
    else result.set(path, file);
  }
  return result;
}

export function applyChanges(content: Buffer, changes: readonly FileChange[]): Buffer {
  for (const { position, bytes } of changes) {
    const size = bytes ? Math.max(content.length, position + bytes.length) : position;
    const result = Buffer.alloc(size);
    content.copy(result);
    bytes?.copy(result, position);
    content = result;
  }
  return content;
}

function setFile(image: DiskImage, id: number, file: FileImage): DiskImage {
  return { ...image, files: new Map(image.files).set(id, file) };
}

/** Returns the same for images that nothing can tell apart, now or after a power failure. */
export function partsOf(image: DiskImage): readonly unknown[] {
  const { files, names, durableNames, nameChanges } = image;
  const changed = nameChanges.flatMap((change) => change.names);
  const ids = new Set([...names, ...durableNames, ...changed].map(([, id]) => id));
  const contents = [...ids].map((id) => {
    const file = id === undefined ? undefined : files.get(id);
    return [id, file && keyOfFile(file)];
  });
  return [[...names], [...durableNames], nameChanges, contents];
}

const fileKeys = new WeakMap<FileImage, string>();

function keyOfFile(file: FileImage): string {
  let key = fileKeys.get(file);
  if (key === undefined) {
    const hash = createHash('sha1');
    for (const content of [file.cached, file.durable])
      hash.update(`${content.length} `).update(content);
    for (const { position, bytes, isDropped } of file.changes) {
      hash.update(`${position} ${bytes?.length} ${isDropped} `).update(bytes ?? '');
    }
    fileKeys.set(file, (key = hash.digest('base64')));
  }
  return key;
}
