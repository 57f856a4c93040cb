/**
 * Members that come back with another state than the one that a process has read, that of a backup
 * or of another cluster, while one of three members is down.
 */

import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/open-log.ts';
import { needsEtcd, startCluster } from '../../support/etcd/cluster.ts';
import { fastClock, openFast, openStore, rex } from '../../support/etcd/opened-store.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

test('A process ends its work after a backup is restored, idle or not', needsEtcd, async (t) => {
  const cluster = await startCluster(t);
  const { members, endpoints } = cluster;
  await initEtcd({ endpoints });
  const first = await openStore(t, { endpoints });
  await first.create(rex);
  await first.close();
  await cluster.kill();
  const backup = tempDir(t);
  for (const { dataFolder } of members) {
    cpSync(dataFolder, join(backup, dataFolder), { recursive: true });
  }
  for (const member of members) member.restart();
  await cluster.ready();
  const busy = await openStore(t, { endpoints });
  for (let i = 0; i < 2; i += 1) await busy.create(rex);
  const idle = await openStore(t, { endpoints });
  await cluster.kill();

  const two = members.slice(1);
  for (const { dataFolder } of two) {
    rmSync(dataFolder, { recursive: true });
    cpSync(join(backup, dataFolder), dataFolder, { recursive: true });
  }
  for (const member of two) member.restart();
  let isLost = false;
  const lost = busy.lost.finally(() => (isLost = true));
  while (!isLost) {
    // A create must not be acknowledged in the old state: it would have the id 4 there.
    await assert.rejects(busy.create(rex), /StoreUnavailableError|OutcomeUnknownError/);
    // A create may be refused without a call; then only a pause lets reads go on.
    await sleep(20);
  }
  for (const { message } of [await lost, await idle.lost]) {
    assert.match(message, /an older state was restored\. Restart the service/);
  }
  // A new process continues with the pets of the backup.
  const next = await openFast(t, { endpoints });
  assert.equal((await next.create(rex)).id, 2n);

  // A restore with another token makes another cluster.
  await cluster.kill();
  for (const [i, member] of two.entries()) {
    const data = join(backup, 'other', `${i}`);
    member.restart(['--data-dir', data, '--initial-cluster-token', 'another']);
  }
  await cluster.ready(two);
  const startedAt = fastClock.now();
  assert.match((await next.lost).message, /Most endpoints have answered for another etcd/);
  assert.ok(fastClock.now() - startedAt > 5_000, 'ten seconds after the first response');
  await assert.rejects(openStore(t, { endpoints }), /There is no log under petstore\//);
  // A member that was made anew by mistake makes a start impossible, with the others and alone.
  members[0]?.restartAlone(join(backup, 'alone'));
  let refused = '';
  while (!/belong to different clusters, .* to one and .* to another/.test(refused)) {
    refused = await openEtcdStore({ endpoints }).then(String, String);
    await sleep(20);
  }
  await Promise.all(two.map((member) => member.kill()));
  const alone = { endpoints, clock: fastClock };
  await assert.rejects(openStore(t, alone), /1 of 3 endpoints have answered, 2 must; /);
  await assert.rejects(initEtcd(alone), /1 of 3 endpoints have answered, 3 must/);
});
