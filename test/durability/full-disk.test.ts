/** The store on a real disk that is full. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { textsOf } from '../support/pets/next-start.ts';
import { createRandom } from '../support/random.ts';

const ROUNDS = rounds(4, 16);
/** How much room each round has for its pets. */
const ROOM_BYTES: number = 64 << 10;
const FULL = { name: 'StoreUnavailableError', message: /ENOSPC|The disk seems to be full/ };

test('On a full disk a store starts, reads, refuses, stops, and loses no pet', async (t) => {
  let isMounted = false;
  // Before the hook that removes the folder.
  t.after(() => isMounted && execFileSync('umount', ['--lazy', folder]));
  const folder = tempDir(t);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder], { stdio: 'pipe' });
    isMounted = true;
  } catch (error) {
    return t.skip(`cannot mount a tmpfs, as root on Linux can: ${(error as Error).message.trim()}`);
  }
  const [path, ballast] = [join(folder, 'pets.json'), join(folder, 'ballast')];
  const { below } = createRandom(1);
  const stored: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const store = await openFileStore({ path });
    assert.deepEqual(await textsOf(store), stored);
    const fill = (): void => {
      for (;;) fs.appendFileSync(ballast, Buffer.alloc(1 << 20));
    };
    if (round === 0) assert.throws(fill, { code: 'ENOSPC' });
    else fs.truncateSync(ballast, fs.statSync(ballast).size - ROOM_BYTES);
    const { length } = stored;
    const create = async (): Promise<void> => {
      for (;;) {
        const { text } = await store.create({ name: 'x'.repeat(below(20_000)), categoryId: 7n });
        stored.push(text);
      }
    };
    await assert.rejects(create, FULL);
    assert.ok(round === 0 || stored.length > length, 'No room was found');
    assert.deepEqual(await textsOf(store), stored);
    const left = fs.readFileSync(path);
    await store.close();
    // As after a kill -9.
    if (round % 2 === 0) fs.writeFileSync(path, left);
  }
});
