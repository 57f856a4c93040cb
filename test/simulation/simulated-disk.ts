/**
 * The simulated disk: a Disk in memory whose every operation is counted, and can be made to fail.
 *
 * The hardware is one object, a process on it another: `startProcess` hands out the Disk of a new
 * process and ends the one before as kill -9 does. A crash needs no operation that fails: a
 * test keeps the image before any of them, and survival.ts says what a power failure would leave of
 * it. The image before operation N + 1 is that of a crash after operation N.
 */

import { basename, dirname } from 'node:path';
import type { Disk, FileStat, DiskFile } from '../../src/stores/file/disk.ts';
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
  /** Once strikes that one operation, twice the next one too; for ever, all that it cannot do. */
  readonly lasts: 'once' | 'twice' | 'for ever';
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

const OWNER = { user: 0, group: 0 };

/** How many operations fail. */
const STRIKES = { once: 1, twice: 2, 'for ever': Infinity };

export class SimulatedDisk {
  image: DiskImage;
  /** How many operations there were. */
  operations = 0;
  /** Files and locks that the present process holds. */
  openCount = 0;
  fault: Fault | undefined;
  /** False for a file system where no file can have two names. */
  hasLinks = true;
  /** False for a system that syncs no folder. */
  syncsFolders = true;
  /** The files that are locked, by the present process or by another one. */
  readonly #locked: Set<number> = new Set();
  #process = 0;
  readonly #watch: Watch;

  constructor(image: DiskImage = EMPTY_DISK, watch: Watch = () => undefined) {
    this.image = image;
    this.#watch = watch;
  }

  startProcess(): Disk {
    this.#process += 1;
    // This one cannot know that a sync failed in an earlier one, so no store could do better.
    this.image = oweNames(this.image);
    this.#locked.clear();
    this.openCount = 0;
    const self = this.#process;
    /** One operation. What belongs to a process that was killed never comes back. */
    const run: Run = (kind, path, effect, failed) => {
      if (self !== this.#process) throw new Error('This process was killed');
      this.#watch(kind, path);
      const failure = this.#failure(kind);
      this.operations += 1;
      if (failure === undefined || failure === 'half') return effect(failure);
      if (failure === 'late') effect(failure);
      else failed?.();
      throw systemError(failure === 'late' ? 'EIO' : failure, path);
    };
    return {
      open: async (path, how, { mode = 0o600 } = {}) =>
        run(how === 'create' ? 'create' : 'open', path, (failure) => {
          if (how === 'create') {
            if (this.image.names.has(path)) throw systemError('EEXIST', path);
            this.image = createFile(this.image, path, mode);
          }
          const id = this.#idAt(path);
          // A caller that gets an error cannot close it.
          if (failure === undefined) this.openCount += 1;
          return this.#openFile(id, run);
        }),
      stat: (path) =>
        run('stat', path, () => {
          const id = this.image.names.get(path);
          return id === undefined ? undefined : this.#entryOf(id);
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

  /** Another process locks the file, or frees it. */
  lockByAnother(path: string, isLocked: boolean): void {
    if (isLocked) this.#locked.add(this.#idAt(path));
    else this.#locked.delete(this.#idAt(path));
  }

  /** Another program changes the file in its place, and syncs it. */
  edit(path: string, content: Buffer): void {
    this.image = overwriteFile(this.image, this.#idAt(path), content);
  }

  /** Another program puts a copy of the file in its place, and syncs its name, but not the copy. */
  restore(path: string): void {
    this.intrude(path, this.image.files.get(this.#idAt(path))!.cached, false);
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
    const write = (bytes: Buffer, offset: number, position: number): number => {
      const wanted = bytes.subarray(offset);
      return run('write', pathNow(), (failure) => {
        const count = failure === 'half' ? Math.ceil(wanted.length / 2) : wanted.length;
        this.image = changeFile(this.image, id, position, wanted.subarray(0, count));
        return count;
      });
    };
    return {
      read: async (bytes, offset, length, position) =>
        run('read', pathNow(), () => {
          const { cached } = this.image.files.get(id)!;
          return cached.copy(bytes, offset, position, Math.min(position + length, cached.length));
        }),
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
      readNow: (bytes, position) =>
        run('read', pathNow(), () => this.image.files.get(id)!.cached.copy(bytes, 0, position)),
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
          this.openCount -= 1;
          if (isHolder) this.#locked.delete(id);
        };
        run('close', pathNow(), closed, closed);
      },
    };
  }

  #entryOf(id: number): FileStat {
    const { cached, mode, version } = this.image.files.get(id) ?? { ...NEW_FILE, mode: 0o700 };
    return {
      owner: OWNER,
      device: 1n,
      inode: BigInt(id),
      kind: id === FOLDER ? 'directory' : 'file',
      links: this.#linksTo(id),
      sizeBytes: cached.length,
      mode,
      changedAt: BigInt(version),
    };
  }

  #linksTo(id: number): number {
    return [...this.image.names.values()].filter((named) => named === id).length;
  }

  /** How the next operation fails. */
  #failure(kind: OperationKind): Fault['kind'] | undefined {
    if (this.fault === undefined) return undefined;
    const { at, kind: how, lasts } = this.fault;
    const since = this.operations - at;
    const isShort = how === 'short';
    // After a short write the next one fails, too.
    if (since < 0 || since >= STRIKES[lasts] + Number(isShort)) return undefined;
    if (how === 'half' || (isShort && since === 0)) return kind === 'write' ? 'half' : undefined;
    if (how === 'late') return CHANGES.includes(kind) ? how : undefined;
    const code = isShort ? 'ENOSPC' : how;
    const isAny = !isShort && lasts !== 'for ever';
    return isAny || FAILS_FOR_EVER[code]?.includes(kind) !== false ? code : undefined;
  }
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
