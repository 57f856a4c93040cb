/** copy-pets: a data file has the same pets and keys after it was in etcd; and what is refused. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { INT64_MAX } from '../../../src/core/base/int64.ts';
import { exportPets, importPets } from '../../../src/extras/etcd/import-pets.ts';
import { initEtcd } from '../../../src/extras/etcd/open-log.ts';
import { openFileStore } from '../../../src/core/store/file-store.ts';
import { nodeDisk } from '../../../src/core/store/node-disk.ts';
import { loadDataFile } from '../../../src/core/store/copies.ts';
import { IdempotencyKeys } from '../../../src/core/store/idempotency-keys.ts';
import { PetTable } from '../../../src/core/store/pet-table.ts';
import type { Tables } from '../../../src/core/store/tables.ts';
import { clusterOfFile, needsEtcd } from '../../support/etcd/cluster.ts';
import {
  openStore,
  runStanding,
  simulated,
  standingClock,
} from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { petText, REX } from '../../support/pets/rex.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const cluster = await clusterOfFile(1);
const urls = cluster.endpoints.join(',');

/** Runs the command; returns its exit code and all that it wrote. */
const copyPets = (...args: readonly string[]): string => runStanding(['copy-pets', ...args]);

const intoEtcd = (from: string, prefix: string): string =>
  copyPets('--from', from, '--to-etcd', urls, '--etcd-prefix', prefix);
const fromEtcd = (prefix: string, to: string): string =>
  copyPets('--from-etcd', urls, '--etcd-prefix', prefix, '--to', to);

/** More than one commit of an import takes. */
const PETS = 1500;

/** Makes a data file as a service writes it, with keys, and imported ids with a gap before. */
async function writeData(path: string): Promise<void> {
  const imported = '[{"id":7,"name":"Old","categoryId":1},{"id":900000,"name":"é","categoryId":2}]';
  writeFileSync(path, imported);
  const store = await openFileStore({ path });
  const creates: Promise<unknown>[] = [];
  for (let i = 0; i < PETS; i += 1) {
    const status = (['available', 'sold', undefined] as const)[i % 3];
    const pet = { name: `pet ${i}`, categoryId: BigInt(i), status };
    if (i % 50 === 10) await store.createOnce?.(pet, i.toString(16).padStart(32, '0'));
    else creates.push(store.create(pet));
  }
  await Promise.all(creates);
  await store.close();
}

test('A data file is the same after it was in etcd, which has its pets', needsEtcd, async (t) => {
  const folder = tempDir(t);
  const [from, to] = [join(folder, 'pets.json'), join(folder, 'back', 'pets.json')];
  await writeData(from);
  const count = PETS + 2;
  assert.equal(intoEtcd(from, 'copy/'), `0 ${count} pets of ${from} copied to etcd, under copy/\n`);
  const store = await openStore(t, { endpoints: cluster.endpoints, prefix: 'copy/' });
  assert.equal(store.count().total, count);
  const keyed = { name: 'pet 10', categoryId: 10n, status: 'sold' } as const;
  assert.equal((await store.createOnce(keyed, 'a'.padStart(32, '0'))).isReplayed, true);
  assert.equal(fromEtcd('copy/', to), `0 ${count} pets from etcd, under copy/, copied to ${to}\n`);
  // The marks may be in other places.
  assert.deepEqual(linesOf(to), linesOf(from));
  assert.equal(linesOf(to).filter((line) => line.includes('idempotencyKey')).length, 30);
  const { id } = await store.create({ name: 'Next', categoryId: 1n });
  assert.equal(id, BigInt(900_001 + PETS));
  // Neither side is overwritten.
  assert.match(intoEtcd(from, 'copy/'), /^1 petstore: copy\/ already has a log/);
  assert.match(fromEtcd('copy/', to), /^1 petstore: .* exists already/);
});

/** The pets of a data file, with their idempotency keys. */
function linesOf(path: string): readonly string[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(1);
  return lines.map((line) => line.trimEnd());
}

test('An import of a pet that is too long for etcd is refused before it writes', async (t) => {
  const from = join(tempDir(t), 'pets.json');
  // The longest name that a body of 1 MiB can have. Its commit has no other pet.
  const longest = (1 << 20) - '{"name":"","categoryId":1}'.length;
  for (const [lengths, refusal] of [
    [[65_000, longest], undefined],
    [[1, 1_050_000], 'The pet 2 has 1050033 bytes: in etcd at most 1049628 fit'],
  ] as const) {
    const pets = lengths.map((length, index) => {
      return `{"id":${index + 1},"name":"${'n'.repeat(length)}","categoryId":1}`;
    });
    writeFileSync(from, `[${pets.join(',')}]`);
    const etcd = new SimulatedEtcd();
    const deps = { calls: etcd.calls(), clock: standingClock() };
    const done = importPets(deps, 'p/', await loadDataFile(nodeDisk, from), () => undefined);
    if (refusal === undefined) await done;
    else await assert.rejects(done, { message: refusal });
    assert.equal(etcd.entries.size, refusal === undefined ? 3 : 0);
  }
});

test('When the greatest id is taken, creates beside each other are refused, and /readyz says so', async (t) => {
  const pets = new PetTable();
  const id = INT64_MAX - 1n;
  pets.append({ id, text: petText(id) });
  const [etcd, clock] = [new SimulatedEtcd(), standingClock()];
  const tables = { pets, keys: new IdempotencyKeys(clock) };
  await importPets({ calls: etcd.calls(), clock }, 'p/', tables, () => undefined);
  const store = await openStore(t, simulated(etcd, { prefix: 'p/' }));
  const creates = await Promise.allSettled([REX, REX, REX].map((pet) => store.create(pet)));
  const reasons = creates.map((create) => 'reason' in create && (create.reason as Error).message);
  const message = `No id is left: the greatest one, ${INT64_MAX}, is taken`;
  assert.deepEqual(reasons, [false, message, message]);
  assert.equal(store.unreadiness(), message);
});

test('An import that fails at any call is completed by the next one', async (t) => {
  const from = join(tempDir(t), 'pets.json');
  await writeData(from);
  const data = await loadDataFile(nodeDisk, from);
  const other = { pets: new PetTable(), keys: new IdempotencyKeys(standingClock()) };
  // The first call only reads, and the second one makes the log.
  let [last, isWhole, isReady] = [2, false, false];
  for (; !isWhole; last += 1) {
    const etcd = new SimulatedEtcd();
    const options = simulated(etcd, { prefix: 'p/' });
    let sent = 0;
    const breaking = etcd.calls(() => {
      sent += 1;
      // The last call is done, and its response is lost.
      if (sent === last) return 'done, cut';
      return sent < last ? 'answered' : 'refused';
    });
    const run = (pets: Tables, calls = etcd.calls()): Promise<void> =>
      importPets({ calls, clock: standingClock() }, 'p/', pets, () => undefined);
    isWhole = await run(data, breaking).then(
      () => true,
      () => false,
    );
    if (!isWhole) {
      isReady = String(etcd.entries.get('p/meta')).includes('ready');
      if (!isReady) {
        await assert.rejects(openStore(t, options), /An import into p\/ is not finished/);
        await assert.rejects(initEtcd(options), /An import into p\/ is not finished/);
      }
      // The import of another file is refused.
      await assert.rejects(run(other), isReady ? /p\/ already has a log/ : /Another import/);
      await run(data);
    }
    const { pets } = await exportPets({ calls: etcd.calls(), clock: standingClock() }, 'p/');
    assert.equal(textOf(pets), textOf(data.pets));
  }
  assert.ok(isReady && last > 10, `${last} calls`);
});

function textOf(pets: PetTable): string {
  const texts = Array.from(pets.batches(1000, 1 << 20), ({ text }) => text);
  return texts.join(',\n');
}
