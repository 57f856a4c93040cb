/**
 * Members that come back with another state than the one that a process has read, that of a backup
 * or of another cluster, while one of three members is down.
 */

import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { needsEtcd, startCluster } from '../../support/etcd/cluster.ts';
import { init, openStore, rex, standingClock } from '../../support/etcd/opened-store.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';

/** After this time an idle store reads. */
const BEAT_MS = 1_000;

test('A process ends its work after a backup is restored, idle or not', needsEtcd, async (t) => {
  const cluster = await startCluster(t);
  const { members, endpoints } = cluster;
  await init({ endpoints });
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
  const time = new TestClock();
  const idler = await openStore(t, { endpoints, clock: standingClock(time) });
  await cluster.kill();

  const two = members.slice(1);
  for (const { dataFolder } of two) {
    rmSync(dataFolder, { recursive: true });
    cpSync(join(backup, dataFolder), dataFolder, { recursive: true });
  }
  // It is sent until a member has answered.
  const created = assert.rejects(busy.create(rex), /StoreUnavailableError|OutcomeUnknownError/);
  for (const member of two) member.restart();
  await created;
  await time.pass(BEAT_MS);
  for (const { message } of [await busy.lost, await idler.lost]) {
    assert.match(message, /an older state was restored\. Restart the service/);
  }
  // It would have the id 4 in the old state.
  await assert.rejects(busy.create(rex), /StoreUnavailableError/);
  // A new process continues with the pets of the backup.
  const strange: unknown[] = [];
  const later = new TestClock();
  const next = await openStore(t, {
    endpoints,
    clock: standingClock(later),
    log: (_level, event, { endpoint } = {}) => {
      if (event === 'An etcd endpoint belongs to another cluster') strange.push(endpoint);
    },
  });
  assert.equal((await next.create(rex)).id, 2n);

  // A restore with another token makes another cluster.
  await cluster.kill();
  for (const [i, member] of two.entries()) {
    const data = join(backup, 'other', `${i}`);
    member.restart(['--data-dir', data, '--initial-cluster-token', 'another']);
  }
  await cluster.ready(two);
  await later.pass(BEAT_MS);
  await until(() => strange.length === 2);
  await later.pass(10_000);
  assert.match((await next.lost).message, /Most endpoints have answered for another etcd/);
});
