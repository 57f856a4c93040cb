/**
 * The atomic write: a file is replaced as a whole, so that after a crash at any point it has its
 * old content or its new one.
 *
 *     write another file ─▶ sync it ─▶ give it the name ─▶ sync the folder
 *
 * The order matters. A rename before the sync may leave an empty file after a power failure.
 * Without the last step, the rename itself may be lost.
 */

import { dirname } from 'node:path';
import { messageOf } from '../base/logger.ts';
import {
  codeOf,
  isSameFile,
  saidOr,
  writeAll,
  type Disk,
  type DiskFile,
  type FileAttributes,
} from './disk.ts';

export interface Replacement {
  readonly path: string;
  /** The name under which it is written, in the same folder. */
  readonly unfinished: string;
  readonly attributes: FileAttributes;
  /** Writes the content, through the function that it gets. */
  write(append: (bytes: Buffer) => Promise<void>): Promise<void>;
  /** Called with the synced file right before it gets the name. If it rejects, nothing changes. */
  beforeName?(file: DiskFile): Promise<void>;
  /** Called after a failure if the path may lead to the file. By default the file is closed. */
  keep?(file: DiskFile): Promise<void>;
  /**
   * How the file gets the name. A rename replaces another file. A link fails if there is one; where
   * no file can have two names, a rename follows a last look that nothing is there.
   */
  readonly by: 'rename' | 'link or rename';
}

/**
 * Replaces a file. Resolves with the new one, which the caller has to close. Rejects if it is not
 * certain that the path leads to it, durably: what reports a failure may have taken effect.
 */
export async function replaceFile(disk: Disk, replacement: Replacement): Promise<DiskFile> {
  const { path, unfinished, attributes, keep = (file) => file.close() } = replacement;
  const file = await disk.open(unfinished, 'create', attributes);
  let mayHaveName = false;
  try {
    let position = 0;
    await replacement.write(async (bytes) => {
      await writeAll(file, bytes, position);
      position += bytes.length;
    });
    await file.sync();
    await replacement.beforeName?.(file);
    mayHaveName = true;
    await giveName(disk, replacement);
    file.renamed?.(path);
    await disk.syncDirectory(dirname(path));
    return file;
  } catch (error) {
    const isThere = (): boolean => isSameFile(disk.stat(path), file.stat());
    if (mayHaveName && saidOr(true, isThere)) {
      await keep(file).catch(() => undefined);
    } else {
      await file.close().catch(() => undefined);
      await disk.remove(unfinished).catch(() => undefined);
    }
    throw error;
  }
}

async function giveName(disk: Disk, { path, unfinished, by }: Replacement): Promise<void> {
  if (by !== 'rename') {
    try {
      await disk.link(unfinished, path);
      // A second name is harmless, and removed by the next start.
      return await disk.remove(unfinished).catch(() => undefined);
    } catch (error) {
      if (!NO_LINKS.includes(codeOf(error))) throw error;
      if (disk.stat(path) !== undefined) {
        throw Object.assign(new Error(`${path} exists already`), { code: 'EEXIST' });
      }
    }
  }
  await disk.rename(unfinished, path).catch((error: unknown) => {
    if (codeOf(error) !== 'EBUSY') throw error;
    throw new Error(
      `${messageOf(error)}. If ${path} is mounted by itself, mount its folder instead`,
    );
  });
}

/** The errors of a link on a file system where no file can have two names. */
const NO_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];
