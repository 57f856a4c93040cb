/**
 * Changes that make the store break its protocol: of the disk below it, or of a method of its
 * classes. They test the simulation, which must catch all of them (breaks.ts).
 */

import type { Disk, DiskFile, FileStat } from '../../src/core/store/disk.ts';
import { intercept, type DiskCall, type Interceptor } from '../support/disk/intercept.ts';
import { inClass, type Change } from '../support/replaced-method.ts';
import { DATA_FILE } from './life.ts';
import { SimulatedDisk } from './simulated-disk.ts';

/** Looks for a break, and resolves with the complaints of the first case that catches it. */
export type Search = () => Promise<readonly string[]>;

type Call = Parameters<Interceptor>;

/** Changes the calls of the disk of each process. */
function onDisk(begin: (disk: Disk) => Interceptor): Change {
  return inClass(SimulatedDisk, 'startProcess', (start) => (isBeside?: boolean) => {
    const disk = start(isBeside);
    return intercept(disk, begin(disk));
  });
}

/** What changes the disk; `writeNow` counts as `write`. */
const CHANGES = /^(write|truncate|sync|rename|link|remove)/;

/**
 * Returns a function that is called with each call, and returns the last change of the disk before
 * it, and the call: `rename /from /to; syncDirectory /`. Of what is written it has the beginning.
 */
function history(): (...call: Call) => string {
  let last = '';
  return ({ operation, path }, args) => {
    const others = args.filter((arg) => arg !== path && typeof arg === 'string');
    const written = args.filter((arg) => Buffer.isBuffer(arg)).map((arg) => arg.toString('latin1'));
    const words = [operation.replace('Now', ''), path, ...others, ...written];
    const text = words.join(' ').slice(0, 120);
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
      const [{ operation }, [bytes], proceed] = call;
      if (!pattern.test(textOf(...call))) return proceed(...call[1]);
      const count = Buffer.isBuffer(bytes) ? bytes.length : undefined;
      return operation === 'writeNow' ? count : Promise.resolve(count);
    };
  });
}

/** The sync of a file with such a path succeeds, and takes effect after one of these calls. */
export function syncLate(synced: RegExp, after: RegExp): Change {
  return onDisk(() => {
    let owed: (() => unknown) | undefined;
    return ({ operation, path }, args, proceed) => {
      if (operation === 'sync' && synced.test(path)) {
        owed = proceed;
        return Promise.resolve();
      }
      const result = proceed(...args);
      if (after.test(operation)) {
        void owed?.();
        owed = undefined;
      }
      return result;
    };
  });
}

/** Changes the calls of one operation. */
function onCall<T>(
  name: DiskCall['operation'],
  change: (proceed: () => T, args: readonly unknown[], path: string, disk: Disk) => unknown,
): Change {
  return onDisk((disk) => ({ operation, path }, args, proceed) => {
    if (operation !== name) return proceed(...args);
    return change(() => proceed(...args) as T, args, path, disk);
  });
}

/** A write that is short counts as whole. */
export const ignoreShortWrites: Change = onCall('writeNow', (write, [bytes]) => {
  write();
  return (bytes as Buffer).length;
});

/** A failed sync of a folder counts as one that succeeded. */
export const ignoreFailedFolderSync: Change = onCall<Promise<boolean>>('syncDirectory', (sync) =>
  sync().catch(() => true),
);

/** A failed sync, of files or of folders, is tried again. */
export const retrying = (operation: 'sync' | 'syncDirectory'): Change =>
  onCall<Promise<unknown>>(operation, (sync) => sync().catch(sync));

/** A lock of a file with such a path is never in the way of another one. */
export const lockNothing = (pattern: RegExp): Change =>
  onCall('lock', (lock, _, path) => (pattern.test(path) ? Promise.resolve(true) : lock()));

/** No saved file is seen. */
export const hideSavedFiles: Change = onCall<Promise<string[]>>('list', async (list) => {
  return (await list()).filter((name) => !name.includes('.saved-'));
});

/** What is read right before a commit is taken for what belongs there. */
export const ignoreHoles: Change = onCall('readNow', (read, [bytes]) => {
  (bytes as Buffer).equals = () => true;
  return read();
});

/** Each stat, of a path or of an open file, says something else. */
export const changeStat = (change: Partial<FileStat>): Change =>
  onCall<FileStat | undefined>('stat', (stat) => {
    const entry = stat();
    return entry && { ...entry, ...change };
  });

/** The time that a file had behind its sync counts as the one behind its last write. */
export const noteLate: Change = onDisk((disk) => {
  let noted: object = {};
  return ({ operation, path }, args, proceed) => {
    const result = proceed(...args);
    if (operation === 'stat' && args.length === 0) noted = result as object;
    if (operation !== 'sync') return result;
    return (result as Promise<void>).then(() => void Object.assign(noted, disk.stat(path)));
  };
});

/** What is at the path is always the file that the process has opened, or has put there. */
export const blindForPath: Change = onDisk(() => {
  let opened: DiskFile | undefined;
  return ({ operation, path }, args, proceed) => {
    if (args[1] === DATA_FILE) opened = undefined;
    if (path !== DATA_FILE || args.length === 0) return proceed(...args);
    // A file without a name is not the store's.
    if (operation === 'stat') return opened ? { ...opened.stat(), links: 1 } : proceed(...args);
    if (operation !== 'open') return proceed(...args);
    return (proceed(...args) as Promise<DiskFile>).then((file) => (opened = file));
  };
});
