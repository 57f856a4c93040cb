/** A file is not what the store wrote. The store refuses it, and does not change it. */

import { LINE_FEED } from '../../base/ascii.ts';
import { systemMemory } from '../../base/memory.ts';
import type { Disk } from './disk.ts';
import { chunksOf, withFile } from './read-file.ts';

export interface Damage {
  readonly path: string;
  /** Where, in bytes from the start of the file; undefined if no position is known. */
  readonly offset?: number | undefined;
  /** The line of that byte, counted from 1; added by `withLine`. */
  readonly line?: number | undefined;
  /** What is wrong there. */
  readonly complaint: string;
  /** What an operator can do about it. */
  readonly advice: string;
}

export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';
  readonly damage: Damage;

  constructor(damage: Damage) {
    const { path, offset, line, complaint, advice } = damage;
    const byte = offset === undefined ? '' : ` at byte ${offset}`;
    const inLine = line === undefined ? '' : `, line ${line}`;
    super(`${path} is damaged${byte}${inLine}: ${complaint}. It was left as it is. ${advice}`);
    this.damage = damage;
  }
}

/** Returns the same error, with the line number of the damaged byte if that can be found. */
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
