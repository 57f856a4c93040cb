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

/** The operations on a path, except for `open`, and for `stat`, which is synchronous. */
const OPERATIONS = [
  ...(['resolve', 'makeDirectory', 'rename', 'link', 'remove'] as const),
  ...(['syncDirectory', 'list', 'freeBytes', 'lock'] as const),
];

type Operation = (path: string, ...rest: readonly never[]) => unknown;

export function createFailingDisk(disk: Disk): FailingDisk {
  const calls: DiskCall[] = [];
  const openFiles = new Map<number, string>();
  let opened = 0;
  const enter = (call: DiskCall): Promise<void> | number | void => {
    calls.push(call);
    return failing.fault(call);
  };
  const wrap =
    (operation: (typeof OPERATIONS)[number]): Operation =>
    async (path, ...rest) => {
      await enter({ operation, path });
      return (disk[operation] as Operation)(path, ...rest);
    };
  const wrapped = OPERATIONS.map((operation) => [operation, wrap(operation)]);
  const failing: FailingDisk = {
    ...(Object.fromEntries(wrapped) as Pick<Disk, (typeof OPERATIONS)[number]>),
    processId: disk.processId,
    calls,
    openFiles,
    fault: () => undefined,
    stat(path) {
      enter({ operation: 'stat', path });
      return disk.stat(path);
    },
    async open(path, how, making) {
      await enter({ operation: 'open', path });
      const file = await disk.open(path, how, making);
      const number = (opened += 1);
      openFiles.set(number, path);
      const close = async (): Promise<void> => {
        // As on a real disk, a file is closed even when that fails.
        await file.close();
        openFiles.delete(number);
        await enter({ operation: 'close', path, file: number });
      };
      const call = (operation: keyof DiskFile): ReturnType<Fault> =>
        enter({ operation, path, file: number });
      return { ...wrapFile(file, call), close };
    },
  };
  return failing;
}

function wrapFile(
  file: DiskFile,
  call: (operation: keyof DiskFile) => ReturnType<Fault>,
): Omit<DiskFile, 'close'> {
  return {
    stat: () => file.stat(),
    async read(bytes, offset, length, position) {
      const most = await call('read');
      return file.read(bytes, offset, Math.min(length, most ?? length), position);
    },
    write: async (bytes, offset, position) =>
      file.write(cut(bytes, offset, await call('write')), offset, position),
    writeNow: (bytes, offset, position) =>
      file.writeNow(cut(bytes, offset, call('writeNow')), offset, position),
    async sync() {
      await call('sync');
      return file.sync();
    },
    async truncate(length) {
      await call('truncate');
      return file.truncate(length);
    },
  };
}

function cut(bytes: Buffer, offset: number, most: unknown): Buffer {
  return typeof most === 'number' ? bytes.subarray(0, offset + most) : bytes;
}
