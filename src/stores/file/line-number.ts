/** Adds the line number of a damaged byte to an error, so that an operator can find the line. */

import { LINE_FEED } from '../../base/ascii.ts';
import { systemMemory } from '../../base/memory.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk } from './disk.ts';
import { chunksOf, withFile } from './read-file.ts';

/** Returns the same error, with its line number if that can be found. */
export async function withLine(disk: Disk, error: unknown): Promise<unknown> {
  if (!(error instanceof DamagedFileError) || error.damage.offset === undefined) return error;
  const { path, offset } = error.damage;
  let line = 1;
  try {
    await withFile(disk, path, async (file) => {
      for await (const chunk of chunksOf(file, offset, systemMemory)) {
        for (const byte of chunk) if (byte === LINE_FEED) line += 1;
      }
    });
  } catch {
    return error;
  }
  return new DamagedFileError({ ...error.damage, line });
}
