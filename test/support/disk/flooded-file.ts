/** Files of gigabytes, as something gone wild leaves them, and what reading them takes. */

import { systemMemory, type Memory } from '../../../src/base/system.ts';
import type { DiskFile } from '../../../src/stores/file/disk.ts';

/** A file with these bytes, and behind them the filler again and again. */
export function floodedFile(start: Buffer, filler: Buffer, length: number): DiskFile {
  const block = Buffer.alloc(1 << 16, filler);
  return {
    ...({} as DiskFile),
    read: async (bytes, offset, count, position) => {
      if (position < start.length) {
        return start.copy(bytes, offset, position, position + count);
      }
      const room = Math.min(count, length - position);
      // Short, so that the filler goes on where it stopped.
      const phase = (position - start.length) % filler.length;
      return block.copy(bytes, offset, phase, Math.min(block.length, phase + room));
    },
  };
}

/** Memory that tells how much was taken of it, all in all. */
export function countingMemory(): { memory: Memory; most: () => number } {
  let taken = 0;
  const memory: Memory = {
    ...systemMemory,
    bytes(length) {
      taken += length;
      return systemMemory.bytes(length);
    },
  };
  return { memory, most: () => taken };
}
