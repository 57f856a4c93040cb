/**
 * Changes that make the store break its protocol: of the disk below it, or of a method of its
 * classes. They test the simulation, which must catch all of them (breaks.ts).
 */

import { crc32 } from 'node:zlib';
import type { Disk } from '../../src/stores/file/disk.ts';
import { isIntact, lineLengthAt } from '../../src/stores/file/journal-line.ts';
import { intercept, type DiskCall, type Interceptor } from '../support/disk/intercept.ts';
import { withMethod } from '../support/replaced-method.ts';
import { DATA_FILE, JOURNAL } from './life.ts';
import { SimulatedDisk } from './simulated-disk.ts';

/** Looks for a break, and resolves with the complaints of the first case that catches it. */
export type Search = () => Promise<readonly string[]>;

/** Runs a search while the store is changed. */
export type Change = (search: Search) => Promise<readonly string[]>;

type Call = Parameters<Interceptor>;

/** Changes a method of a class; `original` is bound to its object. */
export function inClass<Class, Name extends keyof Class>(
  target: { readonly prototype: Class },
  name: Name,
  change: (original: Extract<Class[Name], Method>) => Method,
): Change {
  const replace = (original: Class[Name]): Class[Name] =>
    function (this: Class, ...args: never[]) {
      return change((original as Method).bind(this) as Extract<Class[Name], Method>)(...args);
    } as Class[Name];
  return (search) => withMethod(target, name, replace, search);
}

type Method = (...args: never[]) => unknown;

/** Changes the calls of the disk of each process. */
function onDisk(begin: (disk: Disk) => Interceptor): Change {
  return inClass(SimulatedDisk, 'startProcess', (start) => () => {
    const disk = start();
    return intercept(disk, begin(disk));
  });
}

/** What changes the disk; `writeNow` counts as `write`. */
const CHANGES = /^(write|truncate|sync|rename|remove)/;

/**
 * Returns a function that is called with each call, and returns the last change of the disk before
 * it, and the call: `rename /from /to; syncDirectory /`. Of what is written it has the beginning.
 */
function history(): (...call: Call) => string {
  let last = '';
  return ({ operation, path }, args) => {
    const others = args.filter((arg) => arg !== path && typeof arg === 'string');
    const written = args.filter((arg) => Buffer.isBuffer(arg)).map((arg) => arg.toString('latin1'));
    const text = [operation.replace('Now', ''), path, ...others, ...written]
      .join(' ')
      .slice(0, 120);
    const both = `${last}; ${text}`;
    if (CHANGES.test(text)) last = text;
    return both;
  };
}

/** Leaves out each call that matches: it succeeds, and changes nothing. */
export function without(pattern: RegExp): Change {
  return onDisk(() => {
    const textOf = history();
    return (...call) => {
      const [{ operation }, [bytes, offset], proceed] = call;
      if (!pattern.test(textOf(...call))) return proceed(...call[1]);
      const count = Buffer.isBuffer(bytes) ? bytes.length - Number(offset) : undefined;
      return operation === 'writeNow' ? count : Promise.resolve(count);
    };
  });
}

/** The sync of a journal succeeds, and takes effect after the next write, or before the close. */
export const syncLate: Change = onDisk(() => {
  let owed: (() => unknown) | undefined;
  return ({ operation, path }, args, proceed) => {
    if (operation === 'sync' && path === JOURNAL) {
      owed = proceed;
      return Promise.resolve();
    }
    const result = proceed(...args);
    if (/^(write|close)/.test(operation)) {
      owed?.();
      owed = undefined;
    }
    return result;
  };
});

/** Changes the calls of one operation that answers with a promise. */
function onCall<T>(
  name: DiskCall['operation'],
  change: (
    proceed: () => Promise<T>,
    args: readonly unknown[],
    path: string,
    disk: Disk,
  ) => unknown,
): Change {
  return onDisk((disk) => ({ operation, path }, args, proceed) => {
    if (operation !== name) return proceed(...args);
    return change(() => proceed(...args) as Promise<T>, args, path, disk);
  });
}

/** Half of a write is written, and counts as all of it. */
export const ignoreShortWrites: Change = onCall('write', async (write, [bytes, offset]) => {
  await write();
  return (bytes as Buffer).length - Number(offset);
});

/** A failed sync of a folder counts as one that succeeded. */
export const ignoreFailedFolderSync: Change = onCall('syncDirectory', (sync) =>
  sync().catch(() => undefined),
);

/** A failed sync, of files or of folders, is tried again. */
export const retrying = (operation: 'sync' | 'syncDirectory'): Change =>
  onCall(operation, (sync) => sync().catch(sync));

/** What is at a path is always what was there first, or what one of these operations made of it. */
export function blindFor(blindPath: string, ...own: readonly DiskCall['operation'][]): Change {
  return onDisk(() => {
    let first: unknown;
    return ({ operation, path }, args, proceed) => {
      if (operation === 'stat' && path === blindPath && args.length > 0) {
        return (first ??= proceed(...args));
      }
      if (own.includes(operation) && args.includes(blindPath)) first = undefined;
      return proceed(...args);
    };
  });
}

/** Whatever follows the last intact line of a journal counts as torn. */
export const dropAnyTail: Change = onCall<number>('read', async (read, [into], path) => {
  const count = await read();
  if (path !== JOURNAL) return count;
  const bytes = (into as Buffer).subarray(0, count);
  for (let at = 0, crc = 0; ;) {
    const length = lineLengthAt(bytes.toString('latin1'), at);
    if (length === undefined || !isIntact(bytes, at, length, crc)) return at;
    crc = crc32(bytes.subarray(at, at + length), crc);
    at += length;
  }
});

/** The journal is removed before the new data file has its name. */
export const removeJournalFirst: Change = onCall('rename', async (rename, [, to], _, disk) => {
  if (to === DATA_FILE) await disk.remove(JOURNAL);
  return rename();
});
