/**
 * Files and systems that are not as they usually are: a data file that was touched, or is mounted
 * by itself, a link that leads nowhere, a write that writes nothing, a lock that locks nothing.
 */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { constants, platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoreUnavailableError } from '../../../src/model/pet-store.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { lockFile } from '../../../src/stores/file/lock.ts';
import { nodeDisk, throwNamed } from '../../../src/stores/file/node-disk.ts';
import { loadDataFile } from '../../../src/stores/file/data-file.ts';
import { createFailingDisk } from '../../support/disk/failing-disk.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { createMemoryDisk, systemError } from '../../support/disk/memory-disk.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const PATH = '/d/pets.json';
const POSIX = { skip: platform() === 'win32' && 'Windows has other links and locks' };

const touched: Readonly<Record<string, (path: string) => void>> = {
  touched: (path) => utimesSync(path, new Date(), new Date(Date.now() + 5000)),
  'replaced by a copy of itself': (path) => {
    cpSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
  },
  'written again with the same bytes': (path) => writeFileSync(path, readFileSync(path)),
};

for (const [what, touch] of Object.entries(touched)) {
  test(`A data file that was ${what} is the same: the next checkpoint replaces it`, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    const store = await openFileStore({ path });
    await store.create(REX);
    await store.close();
    const again = await openFileStore({ path });
    await again.create(REX);
    touch(path);
    await again.close();
    const { pets } = await loadDataFile(nodeDisk, path);
    assert.equal(pets.length, 2);
  });
}

test('A data file of the same length and another content is not overwritten', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const store = await openFileStore({ path });
  await store.create(REX);
  await store.close();
  const again = await openFileStore({ path });
  await again.create(REX);
  const other = readFileSync(path, 'latin1').replace('Rex', 'Tom');
  writeFileSync(path, other);
  await again.close();
  assert.equal(readFileSync(path, 'latin1'), other);
});

for (const kind of ['write', 'writeNow'] as const) {
  test(`A ${kind} that returns 0 is an error, and does not hang the process`, async () => {
    const disk = createFailingDisk(createMemoryDisk());
    const store = await openFileStore({ path: PATH, disk });
    disk.fault = ({ operation }) => (operation === kind ? 0 : undefined);
    const wroteNothing = /The file system wrote nothing/;
    if (kind === 'write') {
      const other = openFileStore({ path: '/d/other.json', disk });
      await assert.rejects(other, wroteNothing);
    } else {
      await assert.rejects(store.create(REX), (error: Error) => {
        assert.match(error.message, wroteNothing);
        return error instanceof StoreUnavailableError;
      });
    }
    disk.fault = () => undefined;
    assert.equal((await store.create(REX)).id, 1n);
    await store.close();
  });
}

test('A quota that is used up has its name in the message', () => {
  const errno = -constants.errno.EDQUOT;
  // As Node 20 to 26 throw it.
  const code = `Unknown system error ${errno}`;
  const unnamed = Object.assign(new Error(`${code}: ${code}, write`), {
    code,
    errno,
    syscall: 'write',
  });
  assert.throws(() => throwNamed(unnamed), {
    message: 'EDQUOT: disk quota exceeded, write',
    code: 'EDQUOT',
  });
  const other = systemError('ENOSPC', PATH);
  assert.throws(() => throwNamed(other), other);
});

for (const suffix of ['.journal', '.keys', '.tmp']) {
  test(`A symbolic link to nothing in the place of ${suffix} is refused`, POSIX, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    await (await openFileStore({ path })).close();
    symlinkSync(join(path, '..', 'nothing'), `${path}${suffix}`);
    await assert.rejects(openFileStore({ path }), { message: `${path}${suffix} is not a file` });
  });
}

test('A data file that is a mount point by itself is refused; a disk without links is fine', async () => {
  for (const [code, message] of [
    ['EXDEV', /^\/d\/pets\.json is a mount point by itself, .*: mount its folder$/],
    ['EPERM', undefined],
    ['ENOTSUP', undefined],
  ] as const) {
    const memory = createMemoryDisk();
    await (await openFileStore({ path: PATH, disk: memory })).close();
    const before = memory.contents();
    const disk = createFailingDisk(memory);
    disk.fault = ({ operation, path }) => {
      if (operation === 'link') throw systemError(code, path);
    };
    const opening = openFileStore({ path: PATH, disk });
    if (message === undefined) await (await opening).close();
    else await assert.rejects(opening, { message });
    assert.deepEqual(memory.contents(), before);
    assert.equal(disk.openFiles.size, 0);
  }
});

test('A lock that is granted twice is refused', POSIX, async (t) => {
  const folder = tempDir(t);
  const { PATH: path } = process.env;
  process.env['PATH'] = folder;
  t.after(() => (process.env['PATH'] = path));
  writeFileSync(join(folder, 'flock'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const asItIs = (): Promise<void> => Promise.resolve();
  await assert.rejects(lockFile(join(folder, 'lock'), asItIs), {
    message: /^A lock on .*lock does not keep a second process away: .*grants it twice/,
  });
});

test('Two new data files do not accept the journal of each other', async () => {
  const disk = createMemoryDisk();
  for (const path of ['/a/pets.json', '/b/pets.json']) {
    const store = await openFileStore({ path, disk });
    await store.create({ name: path, categoryId: 7n });
  }
  const copy = createMemoryDisk({
    '/c/pets.json': disk.read('/a/pets.json'),
    '/c/pets.json.journal': disk.read('/b/pets.json.journal'),
  });
  await assert.rejects(openFileStore({ path: '/c/pets.json', disk: copy }), /is damaged/);
});

test('The first snapshot is an array without pets, with blanks of its own', async () => {
  const texts = await Promise.all(
    ['/a/pets.json', '/b/pets.json'].map(async (path) => {
      const disk = createMemoryDisk();
      await (await openFileStore({ path, disk })).close();
      return disk.read(path).toString();
    }),
  );
  for (const text of texts) assert.match(text, /^\[\n[ \t]{32}\n\]\n[ \t]{32}\n$/);
  assert.notEqual(texts[0], texts[1]);
});

test('A stop leaves no empty journal, and an empty one does not prevent a copy', async () => {
  const memory = createMemoryDisk();
  const disk = createFailingDisk(memory);
  const store = await openFileStore({ path: PATH, disk });
  disk.fault = ({ operation, path }) => {
    if (operation === 'writeNow') throw systemError('ENOSPC', path);
  };
  await assert.rejects(store.create(REX), StoreUnavailableError);
  disk.fault = () => undefined;
  assert.equal(memory.read(`${PATH}.journal`).length, 0);
  await store.close();
  assert.equal(memory.contents()[`${PATH}.journal`], undefined);
  memory.write(`${PATH}.journal`, '');
  assert.equal((await loadDataFile(memory, PATH)).pets.length, 0);
});
