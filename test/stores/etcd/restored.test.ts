/**
 * Members that come back with another state than the one that a process has read: a new and empty
 * one, or that of a backup, while one of three members is down.
 */

import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../../src/base/log.ts';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { rangeOf, startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import {
  fastClock,
  openFast,
  openInitialized,
  openStore,
} from '../../support/etcd/opened-store.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const rex = { name: 'Rex', categoryId: 1n } as const;
const options = { skip: withoutEtcd, timeout: 90_000 } as const;

describe('A restored cluster', { concurrency: 2 }, () => {
  test('A process ends its work after a backup is restored, idle or not', options, async (t) => {
    const cluster = await startCluster(t);
    const { members, endpoints } = cluster;
    const first = await openInitialized(t, { endpoints });
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
    await assert.rejects(openEtcdStore({ endpoints }), /There is no log under petstore\//);
  });

  test('No process uses a member that was made anew by mistake', options, async (t) => {
    const cluster = await startCluster(t);
    const { members, endpoints } = cluster;
    const [wrong] = members;
    const lines: string[] = [];
    const log: Log = (_level, event) => void lines.push(event);
    await initEtcd({ endpoints });
    const store = await openFast(t, { endpoints, log });
    await store.create(rex);
    await wrong?.kill();
    wrong?.restartAlone(join(tempDir(t), 'alone'));
    // The process works on with the other two, for longer than it waits if most are strange.
    while (!lines.includes('An etcd endpoint belongs to another cluster')) await sleep(50);
    const until = fastClock.now() + 12_000;
    while (fastClock.now() < until || store.count().total <= 10) {
      await store.create(rex).catch(() => undefined);
      await sleep(50);
    }
    const stored = store.count().total;
    assert.equal((await store.get(BigInt(stored)))?.name, 'Rex');
    await store.close();

    // A start while it is alone; start.test.ts has the other combinations.
    await Promise.all(members.slice(1).map((member) => member.kill()));
    const message = /could not be used for 10 seconds: 1 of 3 endpoints have answered, 2 must; /;
    await assert.rejects(openEtcdStore({ endpoints, clock: fastClock }), message);
    const init = initEtcd({ endpoints, clock: fastClock });
    await assert.rejects(init, /1 of 3 endpoints have answered, 3 must/);
    // With one of two endpoints a start continues. It finds no log, and makes none.
    const two = { endpoints: endpoints.slice(0, 2) };
    await assert.rejects(openEtcdStore(two), /There is no log under/);
    assert.doesNotMatch(await cluster.call('/v3/kv/range', rangeOf('petstore/')), /"kvs"/);
    for (const member of members.slice(1)) member.restart();
    await cluster.ready();
    const expected = /belong to different clusters, .* to one and .* to another/;
    await assert.rejects(openEtcdStore({ endpoints }), expected);
  });
});
