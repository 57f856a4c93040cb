/** The line that a byte of a file is in, for people: a message that names it can be acted on. */

import { LINE_FEED } from '../../base/ascii.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { Disk } from './disk.ts';

/** The same error, with the line where that can be found out. */
export async function withLine(disk: Disk, error: unknown): Promise<unknown> {
  if (!(error instanceof DamagedFileError) || error.damage.offset === undefined) return error;
  const { path, offset } = error.damage;
  try {
    return new DamagedFileError({ ...error.damage, line: await lineOf(disk, path, offset) });
  } catch {
    return error;
  }
}

async function lineOf(disk: Disk, path: string, offset: number): Promise<number> {
  const file = await disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(Math.min(offset, 1 << 20));
    let line = 1;
    for (let at = 0; at < offset;) {
      const count = await file.read(bytes, 0, Math.min(bytes.length, offset - at), at);
      if (count === 0) break;
      for (const byte of bytes.subarray(0, count)) if (byte === LINE_FEED) line += 1;
      at += count;
    }
    return line;
  } finally {
    await file.close();
  }
}
