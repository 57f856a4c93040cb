/**
 * What another user has planted at a path of the store: the owner of its folder may put there a
 * link to a file that only root can change. Its target stays as it was.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../src/base/system.ts';
import { loadStoredData } from '../../../src/stores/file/stored-data.ts';
import { exportDataFile, openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { IdempotencyKeys } from '../../../src/stores/table/idempotency-keys.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

const ROOT = { skip: process.getuid?.() !== 0 && 'needs root, whose files are at stake' };
const NOBODY = 65_534;

/** Plants a link to the file `target` at `path`, or what is not a file. */
const PLANTS: Readonly<Record<string, (target: string, path: string) => unknown>> = {
  'a symbolic link': symlinkSync,
  'a hard link': linkSync,
  'a hard link to an empty file': (target, path) => {
    writeFileSync(target, '');
    linkSync(target, path);
  },
  'a pipe': (_, path) => execFileSync('mkfifo', [path]),
  'a directory': (_, path) => mkdirSync(path, 0o755),
};

const USES: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  async service(path) {
    const store = await openFileStore({ path });
    await store.createOnce(REX, requestKey(1));
    await store.close();
  },
  'copy-pets --from': (path) => loadStoredData(nodeDisk, path),
  'copy-pets --to': (path) =>
    exportDataFile(path, { pets: new PetTable(), keys: new IdempotencyKeys(systemClock) }),
};

/** The paths, each with the uses that a hard link there may not keep from their work. */
const PATHS: Readonly<Record<string, readonly string[]>> = {
  '': [],
  '.lock': Object.keys(USES),
  '.journal': [],
  '.keys': [],
  '.saved-20261121T201500123Z': [],
  '.unfinished-0123abcd': Object.keys(USES),
};
const EMPTY_JOURNAL = ['service', 'copy-pets --from'];

for (const [use, work] of Object.entries(USES)) {
  for (const [what, plant] of Object.entries(PLANTS)) {
    test(`${use}: ${what} at a path of the store leaves its target as it was`, ROOT, async (t) => {
      for (const [ending, working] of Object.entries(PATHS)) {
        // The data file itself may be a symbolic link.
        if (ending === '' && what === 'a symbolic link') continue;
        const [path, target] = [join(tempDir(t), 'pets.json'), join(tempDir(t), 'target')];
        if (use !== 'copy-pets --to') await (await openFileStore({ path })).close();
        rmSync(path + ending, { force: true });
        writeFileSync(target, 'a secret\n', { mode: 0o640 });
        plant(target, path + ending);
        chmodSync(target, 0o640);
        chownSync(target, 1234, 1234);
        chownSync(join(path, '..'), NOBODY, NOBODY);
        const isLink = what.startsWith('a hard link');
        const stateNow = (): unknown => [stateOf(target), isLink || stateOf(path + ending)];
        const before = stateNow();
        const isUsed =
          (working.includes(use) && (isLink || ending !== '.lock')) ||
          (ending === '.journal' && what.endsWith('empty file') && EMPTY_JOURNAL.includes(use));
        const outcome = await work(path).then(
          () => '',
          (error: Error) => error.message,
        );
        assert.equal(outcome === '', isUsed, `${ending}: ${outcome}`);
        assert.ok(isUsed || outcome.includes(path + ending), outcome);
        assert.deepEqual(stateNow(), before, ending);
      }
    });
  }
}

/** All that the store could change of a file. */
function stateOf(path: string): string {
  const { mode, uid, gid, mtimeMs, size, ino } = lstatSync(path);
  const content = lstatSync(path).isFile() ? readFileSync(path, 'latin1') : '';
  return [mode.toString(8), uid, gid, mtimeMs, size, ino, content].join();
}

test('A file with a second link is read, and not opened for changes in its place', async (t) => {
  const path = join(tempDir(t), 'file');
  writeFileSync(path, '');
  await (await nodeDisk.open(path, 'edit')).close();
  linkSync(path, `${path}.copy`);
  await (await nodeDisk.open(path, 'read')).close();
  await assert.rejects(nodeDisk.open(path, 'edit'), { message: `${path} has another link` });
});

test('copy-pets --to fails if the keys could not be written', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const [pets, keys] = [new PetTable(), new IdempotencyKeys(systemClock)];
  pets.append({ id: 1n, text: '{"id":1,"name":"Rex","categoryId":7}', status: undefined });
  keys.add({ key: requestKey(1), id: 1n });
  const { rename } = nodeDisk;
  t.mock.method(nodeDisk, 'rename', async (from: string, to: string) => {
    if (to.endsWith('.journal')) throw new Error('No room');
    return rename(from, to);
  });
  await assert.rejects(
    exportDataFile(path, { pets, keys }),
    /, for the keys, could not be written$/,
  );
});
