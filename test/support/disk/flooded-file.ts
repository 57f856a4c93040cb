/** Files of a gigabyte, as something gone wild leaves them, and what reading them takes. */

import assert from 'node:assert/strict';
import { systemMemory, type Memory } from '../../../src/core/base/system.ts';
import type { DiskFile, FileStat } from '../../../src/core/store/disk.ts';

/** More than one string can have. */
const FLOOD_BYTES = 1e9;

/**
 * Checks that a file, which goes on with the filler, is refused with such a message, and with so
 * much memory at most.
 */
export async function assertFloodRefused(
  [start, filler]: readonly [start: Buffer, filler: string],
  message: RegExp,
  mostBytes: number,
  read: (file: DiskFile, memory: Memory) => Promise<unknown>,
): Promise<void> {
  let taken = 0;
  const bytes = (length: number): Buffer => {
    taken += length;
    assert.ok(taken <= mostBytes, `${taken} bytes`);
    return systemMemory.bytes(length);
  };
  const block = Buffer.alloc(1 << 16, filler, 'latin1');
  const file: DiskFile = {
    ...({} as DiskFile),
    stat: () => ({ sizeBytes: FLOOD_BYTES }) as FileStat,
    read: async (into, position) => {
      if (position < start.length) return start.copy(into, 0, position);
      const room = Math.min(into.length, FLOOD_BYTES - position);
      // Short, so that the filler goes on where it stopped.
      const phase = (position - start.length) % filler.length;
      return block.copy(into, 0, phase, Math.min(block.length, phase + room));
    },
  };
  await assert.rejects(read(file, { ...systemMemory, bytes }), { message });
}
