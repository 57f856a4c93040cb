/** Files of gigabytes, as something gone wild leaves them, and what reading them takes. */

import assert from 'node:assert/strict';
import { systemMemory, type Memory } from '../../../src/base/system.ts';
import type { DiskFile, FileStat } from '../../../src/stores/file/disk.ts';

const FLOOD_BYTES = 5e9;

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
  const begin = Buffer.from(start as string);
  const block = Buffer.alloc(1 << 16, filler, 'latin1');
  const file: DiskFile = {
    ...({} as DiskFile),
    stat: () => ({ sizeBytes: FLOOD_BYTES }) as FileStat,
    read: async (into, offset, count, position) => {
      if (position < begin.length) return begin.copy(into, offset, position, position + count);
      const room = Math.min(count, FLOOD_BYTES - position);
      // Short, so that the filler goes on where it stopped.
      const phase = (position - begin.length) % filler.length;
      return block.copy(into, offset, phase, Math.min(block.length, phase + room));
    },
  };
  const message = new RegExp(` is damaged at byte ${at}: `);
  const error = { name: 'DamagedFileError', message };
  await assert.rejects(read(file, { ...systemMemory, bytes }), error);
}
