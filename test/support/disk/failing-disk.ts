/**
 * Disks around another one: `intercept` gives each call to a function. A failing disk records each
 * call, and fails or holds up those that a test picks.
 */

import type { Disk, DiskFile } from '../../../src/stores/file/disk.ts';

export interface DiskCall {
  readonly operation: keyof Disk | keyof DiskFile;
  readonly path: string;
}

type Arguments = readonly unknown[];

/** Makes a call in the way that it chooses; `proceed` is the operation of the disk itself. */
export type Interceptor = (
  call: DiskCall,
  args: Arguments,
  proceed: (...args: Arguments) => unknown,
) => unknown;

/**
 * The disk with each call, also those of its open files, made by the interceptor. An open file has
 * the path to which it was renamed last.
 */
export function intercept(disk: Disk, interceptor: Interceptor): Disk {
  const openFiles = new Set<{ path: string }>();
  const around = <T extends Disk | DiskFile>(target: T, opened?: { readonly path: string }): T => {
    const members = Object.entries(target).map(([operation, member]) => {
      const call = (...args: Arguments): unknown => {
        const path = opened?.path ?? (args[0] as string);
        return interceptor({ operation: operation as DiskCall['operation'], path }, args, member);
      };
      return [operation, typeof member === 'function' ? call : member];
    });
    return Object.fromEntries(members) as T;
  };
  const open: Disk['open'] = async (path, ...args) => {
    const opened = { path };
    const file = around(await disk.open(path, ...args), opened);
    openFiles.add(opened);
    return file;
  };
  const rename: Disk['rename'] = async (from, to) => {
    await disk.rename(from, to);
    for (const opened of openFiles) if (opened.path === from) opened.path = to;
  };
  return around({ ...disk, open, rename });
}

/**
 * Called at each operation. It throws, and the operation fails and does nothing; it returns a
 * number, and a read or write is that short; it returns a promise, and what can wait for it does.
 */
export type Fault = (call: DiskCall) => Promise<void> | number | void;

export interface FailingDisk extends Disk {
  /** All calls so far, those that failed too. */
  readonly calls: readonly DiskCall[];
  /** How many files are open. */
  readonly openFiles: { readonly size: number };
  /** What happens from now on; nothing unless it is set. */
  fault: Fault;
}

export function createFailingDisk(disk: Disk): FailingDisk {
  const calls: DiskCall[] = [];
  const openFiles = { size: 0 };
  const enter = (call: DiskCall): ReturnType<Fault> => {
    calls.push(call);
    return failing.fault(call);
  };
  const intercepted = intercept(disk, (call, args, proceed) => {
    const { operation } = call;
    // The stat of an open file has no path.
    if (operation === 'stat' && args.length === 0) return proceed();
    const go = (most: unknown): unknown => proceed(...shortened(operation, args, most));
    if (operation === 'stat' || operation === 'writeNow') return go(enter(call));
    return (async () => {
      if (operation === 'close') {
        // As on a real disk, a file is closed even when that fails.
        await proceed();
        openFiles.size -= 1;
        return enter(call);
      }
      const result = await go(await enter(call));
      if (operation === 'open') openFiles.size += 1;
      return result;
    })();
  });
  const failing: FailingDisk = { ...intercepted, calls, openFiles, fault: () => undefined };
  return failing;
}

function shortened(operation: string, args: Arguments, most: unknown): Arguments {
  if (typeof most !== 'number') return args;
  const [bytes, offset, ...rest] = args as readonly [Buffer, number, ...(readonly number[])];
  if (operation !== 'read') return [bytes.subarray(0, offset + most), offset, ...rest];
  return [bytes, offset, Math.min(rest[0]!, most), rest[1]];
}
