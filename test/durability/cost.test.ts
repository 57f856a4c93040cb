/** What a create and a stop do to the disk, as the system sees it, and what many creates leave. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { measured } from '../support/measured.ts';
import { petText, REX } from '../support/pets/rex.ts';
import { usedBytes } from '../support/process/heap.ts';
import {
  addPet,
  end,
  KEY,
  SERVER_JS,
  startProgram,
  type Process,
} from '../support/process/process.ts';
import { needs, run } from '../support/process/program.ts';

const STRACE = needs('strace');
/** Calls that change a file or a folder, or make it durable. */
const CALLS =
  'write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,sync,syncfs,' +
  'sync_file_range,link,linkat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,chmod,fchmod';

test('A create is one write and one fdatasync, and a stop writes 34 bytes', STRACE, async (t) => {
  const folder = tempDir(t);
  const [dataFile, trace] = [join(folder, 'pets.json'), join(folder, 'trace')];
  const probe = run('strace', ['-f', '-o', trace, 'true']);
  if (probe.status !== 0) return t.skip(`strace cannot trace: ${probe.text}`);
  const options = ['-f', '-y', '-e', `trace=${CALLS}`, '-o', trace, process.execPath, SERVER_JS];
  const service: Process = startProgram(
    'strace',
    [...options, '--port', '0', '--data-file', dataFile],
    { env: { PETSTORE_API_KEYS: KEY } },
  );
  t.after(() => end(service, 'SIGKILL'));
  const url = await service.ready();
  let seen = 0;
  /** The calls on the folder since the last time, each with the bytes that it has written. */
  const calls = (): readonly string[] => {
    const lines = readFileSync(trace, 'utf8').split('\n').slice(0, -1);
    const added = lines.slice(seen).filter((line) => new RegExp(`[<"]${folder}`).test(line));
    seen = lines.length;
    return added.map((line) => line.replace(/^[0-9]+ +(\w+)\(.*?( = [1-9][0-9]*)?$/, '$1$2'));
  };
  assert.equal((await addPet(url)).status, 201);
  assert.ok(calls().includes('link'));
  assert.equal((await addPet(url)).status, 201);
  const bytes = `,${petText(2)}`.length + 33 + 2;
  assert.deepEqual(calls(), [`pwrite64 = ${bytes}`, 'fdatasync']);
  // To the service, not to strace.
  const pid = Number(/"pid":([0-9]+)/.exec(service.stderr())![1]);
  process.kill(pid, 'SIGTERM');
  assert.equal(await service.exit(), 0);
  assert.deepEqual(calls(), ['pwrite64 = 34', 'fdatasync']);
});

test('Creates take no more memory than their bytes in the data file', async (t) => {
  const store = await openFileStore({ path: join(tempDir(t), 'pets.json') });
  const create = async (commits: number): Promise<void> => {
    for (let commit = 0; commit < commits; commit += 1) {
      await Promise.all(Array.from({ length: 250 }, () => store.create(REX)));
    }
  };
  await create(40);
  const before = { used: usedBytes(), file: measured(store, 'store_data_file_bytes') };
  await create(rounds(200, 400));
  const grown = usedBytes() - before.used;
  const written = measured(store, 'store_data_file_bytes') - before.file;
  await store.close();
  t.diagnostic(`${written} bytes of file, ${grown} of memory`);
  // Memory is taken by the megabyte, and Node 26 takes one more.
  assert.ok(grown < written + (2 << 20), `${grown} bytes for ${written}`);
});
