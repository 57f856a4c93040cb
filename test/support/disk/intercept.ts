/** A disk around another one, which gives each call to a function. */

import type { Disk, DiskFile } from '../../../src/core/store/disk.ts';

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
 * the path that it got last.
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
  const naming =
    (give: Disk['rename']): Disk['rename'] =>
    async (from, to) => {
      await give(from, to);
      for (const opened of openFiles) if (opened.path === from) opened.path = to;
    };
  return around({ ...disk, open, rename: naming(disk.rename), link: naming(disk.link) });
}
