/** Files of gigabytes, as something gone wild leaves them, and what reading them takes. */

import assert from 'node:assert/strict';
import { systemMemory, type Memory } from '../../../src/base/system.ts';
import type { DiskFile } from '../../../src/stores/file/disk.ts';

/** Checks that such a file is refused as damaged at the byte, with so much memory at most. */
export async function assertFloodRefused(
  [start, filler]: readonly [start: Buffer | string, filler: string],
  at: number,
  mostBytes: number,
  read: (file: DiskFile, memory: Memory) => Promise<unknown>,
): Promise<void> {
  let taken = 0;
  const bytes = (length: number): Buffer => {
    taken += length;
    assert.ok(taken <= mostBytes, `${taken} bytes`);
    return systemMemory.bytes(length);
  };
  const file = floodedFile(Buffer.from(start as string), Buffer.from(filler, 'latin1'), 5e9);
  const message = new RegExp(` is damaged at byte ${at}: `);
  const error = { name: 'DamagedFileError', message };
  await assert.rejects(read(file, { ...systemMemory, bytes }), error);
}

/** A file with these bytes, and behind them the filler again and again. */
function floodedFile(start: Buffer, filler: Buffer, length: number): DiskFile {
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
