/**
 * The simulated disk: a Disk in memory whose every operation is counted, and can be made to fail.
 *
 * The hardware is one object, a process on it another: `startProcess` hands out the Disk of a new
 * process and ends those before as kill -9 does. A crash needs no operation that fails: a
 * test keeps the image before any of them, and survival.ts says what a power failure would leave of
 * it. The image before operation N + 1 is that of a crash after operation N.
 */

import { basename, dirname } from 'node:path';
import type { Disk, FileStat, DiskFile } from '../../src/core/store/disk.ts';
import {
  changeFile,
  changeNames,
  createFile,
  EMPTY_DISK,
  failSyncFile,
  failSyncNames,
  oweNames,
  overwriteFile,
  FOLDER,
  NEW_FILE,
  syncFile,
  syncNames,
  type DiskImage,
} from './disk-image.ts';

export type OperationKind =
  Exclude<keyof Disk | keyof DiskFile, 'writeNow' | 'readNow' | 'lockBeside'> | 'create';

/** From operation `at` on, counted from 0. */
export interface Fault {
  readonly at: number;
  /**
   * `half`: half of a write is written, and that is reported. `short`: the same, and the disk is
   * full from then on. `late`: the operation takes effect, and reports EIO.
   */
  readonly kind: 'EIO' | 'ENOSPC' | 'EROFS' | 'half' | 'short' | 'late';
  /**
   * How many operations it strikes: once that one, twice the next one too; for ever, all that it
   * cannot do.
   */
  readonly lasts: 'once' | 'twice' | 'for ever' | number;
}

/** Called before each operation; the image is still as it was, and what it makes of it counts. */
export type Watch = (kind: OperationKind, path: string) => void;

/** What changes a file or its name. */
export const MUTATIONS: readonly OperationKind[] = [
  ...(['create', 'link', 'write', 'truncate', 'rename', 'remove'] as const),
];

/** What a disk cannot do while it is full or read-only; nothing at all after EIO. */
const FAILS_FOR_EVER: Readonly<Record<string, readonly OperationKind[]>> = {
  ENOSPC: ['create', 'link', 'write', 'rename'],
  EROFS: MUTATIONS,
};

/** What changes the disk, and so can do so in spite of the failure that it reports. */
export const CHANGES: typeof MUTATIONS = [...MUTATIONS, 'makeDirectory', 'sync', 'syncDirectory'];

export const SECTOR_BYTES = 512;

const OWNER = { user: 0, group: 0 };

const STRIKES = { once: 1, twice: 2, 'for ever': Infinity };

export class SimulatedDisk {
  image: DiskImage;
  /** How many operations there were. */
  operations = 0;
  /** How many of them failed. */
  failures = 0;
  faults: readonly Fault[] = [];
  /** False for a file system where no file can have two names. */
  hasLinks = true;
  /** False for a system that syncs no folder. */
  syncsFolders = true;
  /** The processes that were not killed. */
  readonly #alive: Set<object> = new Set();
  /** The files that a process has locked. */
  readonly #locked: Set<number> = new Set();
  /** How often another folder was put at its path. */
  readonly #replacedFolders: Map<string, number> = new Map();
  readonly #watch: Watch;

  constructor(image: DiskImage = EMPTY_DISK, watch: Watch = () => undefined) {
    this.image = image;
    this.#watch = watch;
  }

  /** Kills every process before, unless it is to continue beside the new one. */
  startProcess(isBeside = false): Disk {
    if (!isBeside) {
      this.#alive.clear();
      this.#locked.clear();
      // It cannot know that a sync failed in an earlier one, so no store could do better.
      this.image = oweNames(this.image);
    }
    const self = {};
    this.#alive.add(self);
    /** One operation. What belongs to a process that was killed never comes back. */
    const run: Run = (kind, path, effect, failed) => {
      if (!this.#alive.has(self)) throw new Error('This process was killed');
      this.#watch(kind, path);
      const failures = this.faults.map((one) => failureOf(one, this.operations - one.at, kind));
      const failure = failures.find((one) => one !== undefined);
      this.operations += 1;
      if (failure !== undefined) this.failures += 1;
      if (failure === undefined || failure === 'half') return effect(failure);
      if (failure === 'late') effect(failure);
      else failed?.();
      throw systemError(failure === 'late' ? 'EIO' : failure, path);
    };
    return {
      open: async (path, how, { mode = 0o600 } = {}) =>
        run(how === 'create' ? 'create' : 'open', path, () => {
          if (how === 'create') {
            if (this.image.names.has(path)) throw systemError('EEXIST', path);
            this.image = createFile(this.image, path, mode);
          }
          const id = this.#idAt(path);
          return this.#openFile(id, run);
        }),
      stat: (path) =>
        run('stat', path, () => {
          const id = this.image.names.get(path);
          return id === undefined ? undefined : this.#entryOf(id, path);
        }),
      resolve: async (path) => run('resolve', path, () => path),
      makeDirectory: async (path) =>
        run('makeDirectory', path, () => {
          if (path === '/' || this.image.names.has(path)) return;
          this.image = changeNames(this.image, [[path, FOLDER]]);
        }),
      rename: async (from, to) =>
        run('rename', from, () => {
          const moved = [from, undefined] as const;
          this.image = changeNames(this.image, [moved, [to, this.#idAt(from)]]);
        }),
      link: async (from, to) =>
        run('link', from, () => {
          const file = this.#idAt(from);
          if (!this.hasLinks) throw systemError('EPERM', from);
          if (this.image.names.has(to)) throw systemError('EEXIST', to);
          this.image = changeNames(this.image, [[to, file]]);
        }),
      remove: async (path) =>
        run('remove', path, () => {
          if (!this.image.names.has(path)) return;
          this.image = changeNames(this.image, [[path, undefined]]);
        }),
      syncDirectory: async (path) =>
        run(
          'syncDirectory',
          path,
          () => {
            if (this.syncsFolders) this.image = syncNames(this.image, path);
            return this.syncsFolders;
          },
          () => void (this.image = failSyncNames(this.image, path)),
        ),
      list: async (path) =>
        run('list', path, () => {
          const names = [...this.image.names.keys()].filter((name) => dirname(name) === path);
          return names.map((name) => basename(name));
        }),
      freeBytes: async (path) => run('freeBytes', path, () => Infinity),
    };
  }

  /** Another program removes the file, or replaces it by one with this content. */
  intrude(path: string, content?: Buffer, isSynced = true): void {
    this.image = changeNames(this.image, [[path, undefined]]);
    if (content !== undefined) {
      this.image = createFile(this.image, path, 0o644);
      const id = this.#idAt(path);
      this.image = changeFile(this.image, id, 0, content);
      if (isSynced) this.image = syncFile(this.image, id);
    }
    this.image = syncNames(this.image, dirname(path));
  }

  /** Another program changes the file in its place, and syncs it; its time changes in any case. */
  edit(path: string, change: (content: Buffer) => Buffer): void {
    const id = this.#idAt(path);
    const content = Buffer.from(this.image.files.get(id)!.cached);
    this.image = overwriteFile(this.image, id, change(content));
  }

  /** Another program puts a copy of the file in its place, and syncs its name, but not the copy. */
  restore(path: string): void {
    this.intrude(path, this.image.files.get(this.#idAt(path))!.cached, false);
  }

  /** Another program gives the file a second name. */
  addName(path: string, other: string): void {
    this.image = syncNames(changeNames(this.image, [[other, this.#idAt(path)]]), dirname(path));
  }

  /** Another program moves a folder with all that is in it, or removes it; durably. */
  moveFolder(path: string, to?: string): void {
    const names = new Map<string, number>();
    for (const [name, id] of this.image.names) {
      if (name !== path && !name.startsWith(`${path}/`)) names.set(name, id);
      else if (to !== undefined) names.set(to + name.slice(path.length), id);
    }
    this.image = { ...this.image, names, durableNames: names, nameChanges: [] };
    this.#replacedFolders.set(path, (this.#replacedFolders.get(path) ?? 0) + 1);
  }

  #idAt(path: string): number {
    const id = this.image.names.get(path);
    if (id === undefined) throw systemError('ENOENT', path);
    return id;
  }

  #openFile(id: number, run: Run): DiskFile {
    let isHolder = false;
    // The one to which it was renamed last.
    const pathNow = (): string => {
      const names = [...this.image.names];
      return names.find(([, named]) => named === id)?.[0] ?? 'a file without a name';
    };
    const read = (bytes: Buffer, position: number): number =>
      run('read', pathNow(), () => this.image.files.get(id)!.cached.copy(bytes, 0, position));
    const write = (wanted: Buffer, position: number): number => {
      return run('write', pathNow(), (failure) => {
        const { length } = this.image.files.get(id)!.cached;
        const half = wholeSectors(position, Math.ceil(wanted.length / 2), length);
        const count = failure === 'half' ? half : wanted.length;
        this.image = changeFile(this.image, id, position, wanted.subarray(0, count));
        return count;
      });
    };
    return {
      read: async (...args) => read(...args),
      readNow: read,
      write: async (...args) => write(...args),
      writeNow: write,
      sync: async () =>
        run(
          'sync',
          pathNow(),
          () => void (this.image = syncFile(this.image, id)),
          () => void (this.image = failSyncFile(this.image, id)),
        ),
      truncate: async (length) =>
        run('truncate', pathNow(), () => {
          this.image = changeFile(this.image, id, length);
        }),
      stat: () => run('stat', pathNow(), () => this.#entryOf(id)),
      lock: async (how) =>
        run('lock', pathNow(), () => {
          if (this.#locked.has(id)) return false;
          isHolder = how === 'exclusive';
          if (isHolder) this.#locked.add(id);
          return true;
        }),
      close: async () => {
        const closed = (): void => {
          if (isHolder) this.#locked.delete(id);
        };
        run('close', pathNow(), closed, closed);
      },
    };
  }

  #entryOf(id: number, path = ''): FileStat {
    const { cached, mode, version } = this.image.files.get(id) ?? { ...NEW_FILE, mode: 0o700 };
    return {
      owner: OWNER,
      device: 1n,
      inode: BigInt(id - (this.#replacedFolders.get(path) ?? 0)),
      kind: id === FOLDER ? 'directory' : 'file',
      links: [...this.image.names.values()].filter((named) => named === id).length,
      sizeBytes: cached.length,
      mode,
      changedAt: BigInt(version),
    };
  }
}

/** How a fault strikes an operation of this kind, which is so many after the first one. */
function failureOf(
  { kind: how, lasts }: Fault,
  since: number,
  kind: OperationKind,
): Fault['kind'] | undefined {
  const isShort = how === 'short';
  // After a short write the next one fails, too.
  const strikes = typeof lasts === 'number' ? lasts : STRIKES[lasts];
  if (since < 0 || since >= strikes + Number(isShort)) return undefined;
  if (how === 'half' || (isShort && since === 0)) return kind === 'write' ? 'half' : undefined;
  if (how === 'late') return CHANGES.includes(kind) ? how : undefined;
  const code = isShort ? 'ENOSPC' : how;
  const isAny = !isShort && lasts !== 'for ever';
  return isAny || FAILS_FOR_EVER[code]?.includes(kind) !== false ? code : undefined;
}

/** How many bytes of a write are written at most `count`, if no sector is overwritten in part. */
export function wholeSectors(position: number, count: number, oldLength: number): number {
  const end = position + count;
  const isSplit = end < oldLength && end % SECTOR_BYTES !== 0;
  return isSplit ? Math.max(0, end - (end % SECTOR_BYTES) - position) : count;
}

/** `effect` gets `half` if a write is to be short, and `late` if a failure will be reported. */
type Run = <T>(
  kind: OperationKind,
  path: string,
  effect: (failure?: 'half' | 'late') => T,
  failed?: () => void,
) => T;

/** An error as node:fs throws it. */
export function systemError(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, syscall: 'simulated' });
}
