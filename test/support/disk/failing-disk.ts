/** A Disk around another that records each call, and fails or holds up those that a test picks. */

import type { Disk, DiskFile } from '../../../src/stores/file/disk.ts';

export interface DiskCall {
  readonly operation: keyof Disk | keyof DiskFile;
  readonly path: string;
  /** Of an open file: which one, counted from 1 in the order of opening. */
  readonly file?: number;
}

/**
 * Called at each operation. It throws, and the operation fails and does nothing; it returns a
 * number, and a read or write is that short; it returns a promise, and what can wait for it does.
 */
export type Fault = (call: DiskCall) => Promise<void> | number | void;

export interface FailingDisk extends Disk {
  /** All calls so far, those that failed too. */
  readonly calls: readonly DiskCall[];
  /** The paths of the files that are open, by their number. */
  readonly openFiles: ReadonlyMap<number, string>;
  /** What happens from now on; nothing unless it is set. */
  fault: Fault;
}

export function createFailingDisk(disk: Disk): FailingDisk {
  const calls: DiskCall[] = [];
  const openFiles = new Map<number, string>();
  let opened = 0;
  const enter = (call: DiskCall): Promise<void> | number | void => {
    calls.push(call);
    return failing.fault(call);
  };
  const failing: FailingDisk = {
    processId: disk.processId,
    calls,
    openFiles,
    fault: () => undefined,
    async open(path, how, making) {
      await enter({ operation: 'open', path });
      const wrapped = await disk.open(path, how, making);
      const file = (opened += 1);
      openFiles.set(file, path);
      const close = async (): Promise<void> => {
        // As on a real disk, a file is closed even when that fails.
        await wrapped.close();
        openFiles.delete(file);
        await enter({ operation: 'close', path, file });
      };
      return { ...wrapFile(wrapped, path, file, enter), close };
    },
    stat(path) {
      enter({ operation: 'stat', path });
      return disk.stat(path);
    },
    async resolve(path) {
      await enter({ operation: 'resolve', path });
      return disk.resolve(path);
    },
    async makeDirectory(path) {
      await enter({ operation: 'makeDirectory', path });
      return disk.makeDirectory(path);
    },
    async rename(from, to) {
      await enter({ operation: 'rename', path: from });
      return disk.rename(from, to);
    },
    async link(from, to) {
      await enter({ operation: 'link', path: from });
      return disk.link(from, to);
    },
    async remove(path) {
      await enter({ operation: 'remove', path });
      return disk.remove(path);
    },
    async syncDirectory(path) {
      await enter({ operation: 'syncDirectory', path });
      return disk.syncDirectory(path);
    },
    async list(path) {
      await enter({ operation: 'list', path });
      return disk.list(path);
    },
    async freeBytes(path) {
      await enter({ operation: 'freeBytes', path });
      return disk.freeBytes(path);
    },
    async lock(path, making) {
      await enter({ operation: 'lock', path });
      return disk.lock(path, making);
    },
  };
  return failing;
}

function wrapFile(
  wrapped: DiskFile,
  path: string,
  file: number,
  enter: Fault,
): Omit<DiskFile, 'close'> {
  return {
    async read(bytes, offset, length, position) {
      const most = await enter({ operation: 'read', path, file });
      return wrapped.read(bytes, offset, Math.min(length, most ?? length), position);
    },
    async write(bytes, offset, position) {
      const most = await enter({ operation: 'write', path, file });
      return wrapped.write(cut(bytes, offset, most), offset, position);
    },
    writeNow(bytes, offset, position) {
      const most = enter({ operation: 'writeNow', path, file });
      return wrapped.writeNow(cut(bytes, offset, most), offset, position);
    },
    async sync() {
      await enter({ operation: 'sync', path, file });
      return wrapped.sync();
    },
    stat: () => wrapped.stat(),
    async truncate(length) {
      await enter({ operation: 'truncate', path, file });
      return wrapped.truncate(length);
    },
  };
}

function cut(bytes: Buffer, offset: number, most: unknown): Buffer {
  return typeof most === 'number' ? bytes.subarray(0, offset + most) : bytes;
}
