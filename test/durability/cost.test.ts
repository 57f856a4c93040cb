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

test(
  'A create on a quiet service is one write and one fdatasync; a stop writes 34 bytes',
  STRACE,
  async (t) => {
    const folder = tempDir(t);
    const [dataFile, trace] = [join(folder, 'pets.json'), join(folder, 'trace')];
    const probe = run('strace', ['-f', '-o', trace, 'true']);
    if (probe.status !== 0) return t.skip(`strace cannot trace: ${probe.text}`);
    const options = ['-f', '-y', '-s', '64', '-e', `trace=${CALLS}`, '-o', trace];
    const service: Process = startProgram(
      'strace',
      [...options, process.execPath, SERVER_JS, '--port', '0', '--data-file', dataFile],
      { env: { PETSTORE_API_KEYS: KEY } },
    );
    t.after(() => end(service, 'SIGKILL'));
    const url = await service.ready();
    /** The calls since the last time, of those with a path in the folder. */
    let seen = 0;
    const calls = (): readonly string[] => {
      const lines = readFileSync(trace, 'utf8').split('\n');
      const added = lines
        .slice(seen)
        .filter((line) => line.includes(`<${folder}`) || line.includes(`"${folder}`));
      seen = lines.length - 1;
      return added.map((line) =>
        line.replace(/^[0-9]+ +/, '').replace(/<[^>]*>(\(deleted\))?/, ''),
      );
    };
    assert.ok(calls().some((call) => call.startsWith('link')));
    assert.equal((await addPet(url)).status, 201);
    assert.match(readFileSync(dataFile, 'utf8'), new RegExp(`^${petText(1)}[ \t]{32}$`, 'm'));
    calls();
    assert.equal((await addPet(url)).status, 201);
    const ofCreate = calls();
    const line = `,${petText(2)}`;
    const bytes = line.length + 33 + 2;
    assert.equal(ofCreate.length, 2, ofCreate.join('\n'));
    assert.match(
      ofCreate[0]!,
      new RegExp(`^pwrite64\\([0-9]+, ".*, ${bytes}, [0-9]+\\) = ${bytes}$`),
    );
    assert.match(ofCreate[1]!, /^fdatasync\([0-9]+( <unfinished \.\.\.>|\) += 0)$/);
    // To the service, not to strace.
    const pid = Number(/"pid":([0-9]+)/.exec(service.stderr())![1]);
    process.kill(pid, 'SIGTERM');
    assert.equal(await service.exit(), 0);
    const ofStop = calls();
    assert.equal(ofStop.length, 2, ofStop.join('\n'));
    assert.match(ofStop[0]!, /^pwrite64\([0-9]+, "\[.*", 34, 0\) = 34$/);
    assert.match(ofStop[1]!, /^fdatasync/);
  },
);

test('100,000 creates take no more memory than their bytes in the data file', async (t) => {
  const store = await openFileStore({ path: join(tempDir(t), 'pets.json') });
  const create = async (): Promise<void> => {
    for (let round = 0; round < rounds(200, 400); round += 1) {
      await Promise.all(Array.from({ length: 250 }, () => store.create(REX)));
    }
  };
  await create();
  const before = { used: usedBytes(), file: measured(store, 'store_data_file_bytes') };
  await create();
  const grown = usedBytes() - before.used;
  const written = measured(store, 'store_data_file_bytes') - before.file;
  await store.close();
  t.diagnostic(`${written} bytes of file, ${grown} of memory`);
  // Memory is taken by the megabyte, and Node 26 takes one more.
  assert.ok(grown < written + (2 << 20), `${grown} bytes for ${written}`);
});
