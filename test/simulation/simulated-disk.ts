/**
 * The simulated disk: a Disk in memory whose every operation is counted, and can be made to fail.
 *
 * The hardware is one object, a process on it another: `startProcess` hands out the Disk of a new
 * process and ends the one before as kill -9 does. A crash needs no operation that fails: whoever
 * watches the operations keeps the image at any of them, and survival.ts tells what a power cut
 * would leave of it. The image before operation N + 1 is that of a crash after operation N.
 */

import type { Disk, DiskFile } from '../../src/storage/disk.ts';
import {
  changeFile,
  changeNames,
  createFile,
  EMPTY_DISK,
  failSyncFile,
  syncFile,
  syncNames,
  type DiskImage,
  type FileImage,
} from './disk-image.ts';

export type OperationKind = Exclude<keyof Disk | keyof DiskFile, 'writeNow'> | 'create' | 'unlock';

/** From operation `at` on, counted from 0. */
export interface Fault {
  readonly at: number;
  /** `short`: half of a write is written, and the disk is full from then on. */
  readonly kind: 'EIO' | 'ENOSPC' | 'EROFS' | 'short';
  /** Once strikes that one operation; for ever, all that such a disk cannot do. */
  readonly lasts: 'once' | 'for ever';
}

/** Called before each operation; the image is still as it was. */
export type Watch = (kind: OperationKind, path: string) => void;

/** What a disk cannot do while it is full or read-only; nothing at all after EIO. */
const FAILS_FOR_EVER: Readonly<Record<string, readonly OperationKind[]>> = {
  ENOSPC: ['create', 'write', 'rename'],
  EROFS: ['create', 'write', 'truncate', 'rename', 'remove'],
};

export class SimulatedDisk {
  image: DiskImage;
  /** How many operations there were. */
  operations = 0;
  /** Files and locks that the present process holds. */
  openCount = 0;
  fault: Fault | undefined;
  #isFull = false;
  #isLocked = false;
  #process = 0;
  readonly #watch: Watch;

  constructor(image: DiskImage = EMPTY_DISK, watch: Watch = () => undefined) {
    this.image = image;
    this.#watch = watch;
  }

  startProcess(): Disk {
    this.#process += 1;
    this.#isLocked = false;
    this.openCount = 0;
    const self = this.#process;
    /** One operation. What belongs to a process that was killed never comes back. */
    const run = <T>(kind: OperationKind, path: string, effect: () => T, failed?: () => void): T => {
      if (self !== this.#process) throw new Error('This process was killed');
      this.#begin(kind, path, failed);
      return effect();
    };
    return {
      open: async (path, how, mode = 0o644) =>
        run(how === 'create' ? 'create' : 'open', path, () => {
          const isThere = this.image.names.has(path);
          if (isThere === (how === 'create'))
            throw systemError(isThere ? 'EEXIST' : 'ENOENT', path);
          if (!isThere) this.image = createFile(this.image, path, mode);
          this.openCount += 1;
          return this.#openFile(this.image.names.get(path)!, path, run);
        }),
      stat: async (path) =>
        run('stat', path, () => {
          const file = this.#fileAt(path);
          return file && { isFile: true, sizeBytes: file.cached.length, mode: file.mode };
        }),
      resolve: async (path) => run('resolve', path, () => path),
      makeDirectory: async (path) => run('makeDirectory', path, () => undefined),
      rename: async (from, to) =>
        run('rename', from, () => {
          const file = this.image.names.get(from);
          if (file === undefined) throw systemError('ENOENT', from);
          this.image = changeNames(this.image, [
            [from, undefined],
            [to, file],
          ]);
        }),
      remove: async (path) =>
        run('remove', path, () => {
          if (!this.image.names.has(path)) return;
          this.image = changeNames(this.image, [[path, undefined]]);
        }),
      syncDirectory: async (path) =>
        run('syncDirectory', path, () => {
          this.image = syncNames(this.image);
        }),
      lock: async (path) =>
        run('lock', path, () => {
          if (this.#isLocked) return undefined;
          this.#isLocked = true;
          this.openCount += 1;
          const free = (): void => {
            this.#isLocked = false;
            this.openCount -= 1;
          };
          return { release: async () => run('unlock', path, free, free) };
        }),
    };
  }

  #openFile(
    id: number,
    path: string,
    run: <T>(kind: OperationKind, path: string, effect: () => T, failed?: () => void) => T,
  ): DiskFile {
    const write = (bytes: Buffer, offset: number, position: number): number =>
      run('write', path, () => {
        const wanted = bytes.subarray(offset);
        const count = this.#isShort() ? Math.ceil(wanted.length / 2) : wanted.length;
        this.image = changeFile(this.image, id, position, wanted.subarray(0, count));
        return count;
      });
    return {
      read: async (bytes, offset, length, position) =>
        run('read', path, () => {
          const { cached } = this.image.files.get(id)!;
          return cached.copy(bytes, offset, position, Math.min(position + length, cached.length));
        }),
      write: async (...args) => write(...args),
      writeNow: write,
      sync: async () =>
        run(
          'sync',
          path,
          () => void (this.image = syncFile(this.image, id)),
          () => void (this.image = failSyncFile(this.image, id)),
        ),
      truncate: async (length) =>
        run('truncate', path, () => {
          this.image = changeFile(this.image, id, length);
        }),
      close: async () => {
        const closed = (): void => void (this.openCount -= 1);
        run('close', path, closed, closed);
      },
    };
  }

  #fileAt(path: string): FileImage | undefined {
    const id = this.image.names.get(path);
    return id === undefined ? undefined : this.image.files.get(id);
  }

  /** Counts the operation, and throws when the fault strikes it. */
  #begin(kind: OperationKind, path: string, failed?: () => void): void {
    this.#watch(kind, path);
    this.operations += 1;
    const code = this.#failure(kind);
    if (code === undefined) return;
    failed?.();
    throw systemError(code, path);
  }

  #failure(kind: OperationKind): string | undefined {
    const since = this.fault === undefined ? -1 : this.operations - 1 - this.fault.at;
    if (since < 0) return undefined;
    const { kind: faultKind, lasts } = this.fault!;
    const code = faultKind === 'short' ? 'ENOSPC' : faultKind;
    if (faultKind === 'short' && since === 0) {
      this.#isFull = true;
      return undefined;
    }
    if (lasts === 'for ever')
      return (FAILS_FOR_EVER[code]?.includes(kind) ?? true) ? code : undefined;
    if (faultKind !== 'short') return since === 0 ? code : undefined;
    if (!this.#isFull || kind !== 'write') return undefined;
    this.#isFull = false;
    return code;
  }

  #isShort(): boolean {
    return this.fault?.kind === 'short' && this.operations - 1 === this.fault.at;
  }
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
