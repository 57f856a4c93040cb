/**
 * copy-pets: a data file into etcd and back is the same, byte for byte; and all that it refuses.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CallResult } from '../../../src/stores/etcd/calls.ts';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { exportPets, importPets } from '../../../src/stores/etcd/import-pets.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { nodeDisk } from '../../../src/stores/file/node-disk.ts';
import { loadDataFile } from '../../../src/stores/file/data-file.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { startCluster, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { simulatedCalls } from '../../support/etcd/simulated-calls.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const COPY_PETS: string = fileURLToPath(
  new URL('../../../../dist/commands/copy-pets.js', import.meta.url),
);
const cluster: Cluster | undefined =
  withoutEtcd === false ? await startCluster({ after }, { size: 1 }) : undefined;
const urls = cluster?.endpoints.join(',') ?? '';

function copyPets(...args: readonly string[]): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COPY_PETS, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  return { status, text: stdout + stderr };
}

/** A data file as a service writes it, with keys, and imported ids with a gap before. */
async function writeData(path: string): Promise<void> {
  writeFileSync(
    path,
    '[{"id":7,"name":"Old","categoryId":1},{"id":900000,"name":"é","categoryId":2}]',
  );
  const store = await openFileStore({ path });
  const creates: Promise<unknown>[] = [];
  for (let i = 0; i < 2000; i += 1) {
    const status = (['available', 'sold', undefined] as const)[i % 3];
    const pet = { name: `pet ${i}`, categoryId: BigInt(i), status };
    if (i % 10 === 0) await store.createOnce?.(pet, i.toString(16).padStart(32, '0'));
    else creates.push(store.create(pet));
  }
  await Promise.all(creates);
  await store.close();
}

test(
  'There and back is the same file, and a service finds pets and keys',
  { skip: withoutEtcd },
  async (t) => {
    const folder = tempDir(t);
    const [from, to] = [join(folder, 'pets.json'), join(folder, 'back', 'pets.json')];
    await writeData(from);
    const there = copyPets('--from', from, '--to-etcd', urls, '--prefix', 'copy/');
    assert.deepEqual(there, { status: 0, text: `2002 pets of ${from} are in etcd, under copy/\n` });
    const store = await openEtcdStore({ endpoints: cluster?.endpoints ?? [], prefix: 'copy/' });
    t.after(() => store.close());
    assert.equal(store.count().total, 2002);
    const replay = await store.createOnce(
      { name: 'pet 10', categoryId: 10n, status: 'sold' },
      'a'.padStart(32, '0'),
    );
    assert.equal(replay.isReplayed, true);
    const back = copyPets('--from-etcd', urls, '--prefix', 'copy/', '--to', to);
    assert.deepEqual(back, { status: 0, text: `2002 pets from etcd, under copy/, are in ${to}\n` });
    assert.ok(readFileSync(from).equals(readFileSync(to)));
    assert.ok(readFileSync(`${from}.keys`).equals(readFileSync(`${to}.keys`)));
    assert.equal((await store.create({ name: 'Next', categoryId: 1n })).id, 902_001n);
    // What is there is not overwritten, on either side.
    const again = copyPets('--from', from, '--to-etcd', urls, '--prefix', 'copy/');
    assert.equal(again.status, 1);
    assert.match(again.text, /^petstore: There is a log under copy\/ already/);
    const over = copyPets('--from-etcd', urls, '--prefix', 'copy/', '--to', to);
    assert.equal(over.status, 1);
    assert.match(over.text, /is there already/);
  },
);

test('What cannot be copied is told in one line', { skip: withoutEtcd }, async (t) => {
  const folder = tempDir(t);
  const from = join(folder, 'pets.json');
  const none = copyPets('--from', from, '--to-etcd', urls, '--prefix', 'none/');
  assert.deepEqual(none, { status: 1, text: `petstore: There is no data file ${from}\n` });
  const store = await openFileStore({ path: from });
  await store.create({ name: 'Rex', categoryId: 1n });
  const inUse = copyPets('--from', from, '--to-etcd', urls, '--prefix', 'none/');
  assert.match(inUse.text, /^petstore: .* is in use already/);
  await store.close();
  const empty = copyPets('--from-etcd', urls, '--prefix', 'none/', '--to', join(folder, 'x.json'));
  assert.equal(empty.status, 1);
  assert.match(empty.text, /^petstore: There is no log under none\/ in etcd\. .*\n$/);
  assert.equal(existsSync(join(folder, 'x.json')), false);
});

test(
  'A back-up with a journal is copied after a start and a stop',
  { skip: withoutEtcd },
  async (t) => {
    const folder = tempDir(t);
    const [from, copy] = [join(folder, 'pets.json'), join(folder, 'copy.json')];
    const store = await openFileStore({ path: from });
    await store.create({ name: 'Rex', categoryId: 1n });
    for (const end of ['', '.journal']) copyFileSync(from + end, copy + end);
    await store.close();
    const args = ['--from', copy, '--to-etcd', urls, '--prefix', 'back-up/'];
    const refused = copyPets(...args);
    assert.equal(refused.status, 1);
    assert.match(refused.text, /: start the service on this data file once, and stop it, .*\n$/);
    await (await openFileStore({ path: copy })).close();
    assert.deepEqual(copyPets(...args), {
      status: 0,
      text: `1 pets of ${copy} are in etcd, under back-up/\n`,
    });
  },
);

test('Wrong arguments end with 2, and --help with 0', () => {
  for (const args of [[], ['--from', 'a'], ['--from', 'a', '--to', 'b'], ['--what']]) {
    assert.equal(copyPets(...args).status, 2, args.join(' '));
  }
  const url = copyPets('--from', 'a', '--to-etcd', 'e:1');
  assert.equal(url.status, 2);
  assert.match(url.text, /endpoints must be URLs/);
  assert.equal(copyPets('--help').status, 0);
});

test('An import that is broken off at any call is taken up again', async (t) => {
  const from = join(tempDir(t), 'pets.json');
  await writeData(from);
  const data = await loadDataFile(nodeDisk, from);
  const clock = new VirtualClock();
  const ignore = (): void => undefined;
  for (let last = 0; ; last += 1) {
    const etcd = new SimulatedEtcd();
    const whole = simulatedCalls(etcd);
    let calls = 0;
    const broken = {
      ...whole,
      async txn(...args: Parameters<typeof whole.txn>): Promise<CallResult> {
        calls += 1;
        if (calls > last) throw new Error('broken off');
        return whole.txn(...args);
      },
    };
    const place = { calls: broken, clock };
    const isWhole = await importPets(place, 'p/', data, ignore).then(
      () => true,
      () => false,
    );
    const opened = openEtcdStore({ endpoints: ['http://e:1'], prefix: 'p/', calls: whole, clock });
    if (isWhole) {
      const store = await opened;
      assert.equal(store.count().total, 2002);
      await store.close();
      break;
    }
    // The first call only looks.
    const isBegun = last > 1;
    const expected = isBegun ? /An import into p\/ is not finished/ : /There is no log under p\//;
    await assert.rejects(opened, expected);
    if (isBegun) {
      // Another file is not what was begun.
      const other = { pets: new PetTable(), keys: [] };
      const place2 = { calls: whole, clock };
      await assert.rejects(importPets(place2, 'p/', other, ignore), /Another import/);
      await importPets(place2, 'p/', data, ignore);
      const { pets } = await exportPets(place2, 'p/');
      assert.ok(Buffer.concat([...pets.chunks()]).equals(Buffer.concat([...data.pets.chunks()])));
    }
  }
});
