/**
 * What an operator is told in each fault: the rows of the table on the page of the etcd store, on
 * real members.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLevel } from '../../../src/base/log.ts';
import { systemClock, type EtcdClock } from '../../../src/stores/etcd/etcd-clock.ts';
import type { EtcdOptions } from '../../../src/stores/etcd/etcd-options.ts';
import { openEtcdStore, type EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { gateway, startCluster, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { startLink } from '../../support/etcd/link.ts';
import { SERVER_JS } from '../../support/process/process.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const rex = { name: 'Rex', categoryId: 1n } as const;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const unavailable = { name: 'StoreUnavailableError' };

/** The endpoints are looked at five times as often as they are else. */
const hastyClock: EtcdClock = {
  ...systemClock,
  every: (ms, callback) => systemClock.every(ms > 10_000 ? ms / 5 : ms, callback),
};

interface Watched {
  readonly cluster: Cluster;
  readonly store: EtcdStore;
  /** The log's lines since the last call: level, event and cause or key. */
  lines(): readonly string[];
  /** Waits until the log has this event, and then for readiness. */
  until(event: string): Promise<void>;
  call(path: string, body: object): Promise<string>;
  /** How many calls there were, by what for, how they ended, and the index of the endpoint. */
  calls(call: string, outcome: string, endpoint: number): number;
}

async function watch(
  t: TestContext,
  size: number,
  options: Partial<EtcdOptions> = {},
): Promise<Watched> {
  const cluster = await startCluster(t, { size });
  const lines: string[] = [];
  const log = (level: LogLevel, event: string, details: Record<string, unknown> = {}): void => {
    const what = details['cause'] ?? details['key'] ?? details['endpoint'];
    lines.push(what === undefined ? `${level} ${event}` : `${level} ${event}: ${String(what)}`);
  };
  const { endpoints } = cluster;
  const store = await openInitialized({ endpoints, log, clock: hastyClock, ...options });
  t.after(() => store.close());
  let taken = 0;
  return {
    cluster,
    store,
    lines: () => lines.slice(taken, (taken = lines.length)),
    async until(event) {
      while (!lines.slice(taken).some((line) => line.includes(event))) await sleep(50);
    },
    call: (path, body) => gateway(endpoints[0] ?? '', path, JSON.stringify(body)),
    calls: (call, outcome, endpoint) =>
      store
        .stats()
        .calls.find(
          (count) =>
            count.call === call &&
            count.outcome === outcome &&
            count.endpoint === endpoints[endpoint],
        )?.value ?? 0,
  };
}

/** A cluster test, with time for a start that is refused. */
function told(name: string, run: (t: TestContext) => Promise<void>): void {
  test(name, { skip: withoutEtcd, timeout: 90_000 }, run);
}

for (const [alarm, cause, outcome] of [
  ['NOSPACE', 'database space exceeded', 'no space'],
  ['CORRUPT', 'corrupt cluster', 'refused'],
] as const) {
  told(`With ${alarm} creates are refused, and all else goes on`, async (t) => {
    const { cluster, store, lines, call, calls } = await watch(t, 1);
    const { endpoints } = cluster;
    await store.create(rex);
    assert.deepEqual(lines(), []);
    await call('/v3/maintenance/alarm', { action: 'ACTIVATE', memberID: '0', alarm });
    const startedAt = performance.now();
    for (let i = 0; i < 3; i += 1) await assert.rejects(store.create(rex), unavailable);
    // Not the fifteen seconds of a doubt.
    assert.ok(performance.now() - startedAt < 5_000);
    const [line = '', ...others] = lines();
    assert.match(line, new RegExp(`^error Creates fail: .*${cause}`));
    assert.deepEqual(others, []);
    assert.match(store.problem() ?? '', new RegExp(cause));
    assert.ok(calls('create', outcome, 0) >= 3);
    assert.equal((await store.list({ limit: 5 })).pets.length, 1);
    // No create is needed to be ready again.
    while (store.problem() !== undefined) await sleep(50);
    // A new process starts, reads, and exports.
    const next = await openEtcdStore({ endpoints });
    assert.equal((await next.get(1n))?.name, 'Rex');
    await next.close();
    assert.equal(await initEtcd({ endpoints }), 'found');
    assert.match(exportFrom(t, endpoints), /^1 pets from etcd, under petstore\/, are in /);
    await call('/v3/maintenance/alarm', { action: 'DEACTIVATE', memberID: '0', alarm });
    assert.equal((await store.create(rex)).id, 2n);
    assert.equal(store.problem(), undefined);
    assert.deepEqual(lines(), ['info Creates are stored again']);
  });
}

told('With a quota that is really used up a service starts and reads', async (t) => {
  const cluster = await startCluster(t, { size: 1, args: ['--quota-backend-bytes', '1000000'] });
  const { endpoints, members } = cluster;
  const store = await openInitialized({ endpoints });
  await store.create(rex);
  await assert.rejects(async () => {
    for (;;) await store.create({ ...rex, name: 'x'.repeat(100_000) });
  }, unavailable);
  const { total } = store.count();
  await store.close();
  // Also where the quota is less than what is used.
  await members[0]?.kill();
  members[0]?.restart(['--quota-backend-bytes', '500000']);
  await cluster.ready();
  const next = await openEtcdStore({ endpoints });
  t.after(() => next.close());
  assert.equal((await next.list({ limit: 1000 })).pets.length, total);
  await assert.rejects(next.create(rex), unavailable);
  assert.match(exportFrom(t, endpoints), new RegExp(`^${total} pets from etcd`));
});

told('A user who may only read starts, reads and exports', async (t) => {
  const { cluster, store, lines, call } = await watch(t, 1);
  await store.create(rex);
  await store.close();
  const perm = { permType: 'READ', key: base64('petstore/'), range_end: base64('petstore0') };
  await call('/v3/auth/user/add', { name: 'root', password: 'root' });
  await call('/v3/auth/role/add', { name: 'root' });
  await call('/v3/auth/user/grant', { user: 'root', role: 'root' });
  await call('/v3/auth/user/add', { name: 'reader', password: 'secret' });
  await call('/v3/auth/role/add', { name: 'reader' });
  await call('/v3/auth/role/grant', { name: 'reader', perm });
  await call('/v3/auth/user/grant', { user: 'reader', role: 'reader' });
  await call('/v3/auth/enable', {});
  const { endpoints } = cluster;
  const passwordFile = join(tempDir(t), 'password');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(passwordFile, 'secret');
  const user = { user: 'reader', passwordFile };
  const log = (_level: string, event: string, details = {}): void => {
    events.push(`${event} ${JSON.stringify(details)}`);
  };
  const events: string[] = [];
  const reading = await openEtcdStore({ endpoints, ...user, log });
  t.after(() => reading.close());
  assert.equal((await reading.get(1n))?.name, 'Rex');
  await assert.rejects(reading.create(rex), unavailable);
  assert.match(events.join(), /^Creates fail .*permission denied[^,]*$/);
  const env = { PETSTORE_ETCD_USER: 'reader', PETSTORE_ETCD_PASSWORD_FILE: passwordFile };
  assert.match(exportFrom(t, endpoints, env), /^1 pets from etcd/);
  await assert.rejects(initEtcd({ endpoints, ...user, prefix: 'petstore/x/' }), /permission/);
  assert.deepEqual(lines(), []);
});

told(
  'A lost member is named once, whether it was asked or not, and so is its return',
  async (t) => {
    const { cluster, store, lines, until, calls } = await watch(t, 3);
    const { members, endpoints } = cluster;
    for (const [i, member] of members.entries()) {
      await store.create(rex);
      lines();
      await member.kill();
      // Creates go on meanwhile.
      const pause = setInterval(() => void store.create(rex).catch(() => undefined), 100);
      const endpoint = endpoints[i] ?? '';
      await until(`An etcd endpoint fails: ${endpoint}`);
      member.restart();
      await until(`An etcd endpoint works again: ${endpoint}`);
      clearInterval(pause);
      // The others may have failed for a moment, too, where the leader was lost.
      const found = lines().filter((line) => line.includes(endpoint));
      assert.deepEqual(
        found.map((line) => line.slice(0, line.indexOf(':'))),
        ['warn An etcd endpoint fails', 'info An etcd endpoint works again'],
      );
      assert.equal(store.problem(), undefined);
    }
    const lost = [0, 1, 2].map(
      (i) => calls('create', 'in doubt', i) + calls('create', 'unsent', i),
    );
    assert.ok(lost.reduce((a, b) => a + b) <= 10, `${lost.join(', ')} calls were lost`);
  },
);

told('Without a majority reads fail within five seconds, and it heals by itself', async (t) => {
  const { cluster, store, lines, until } = await watch(t, 3);
  const [, second, third] = cluster.members;
  await Promise.all([second?.kill(), third?.kill()]);
  await assert.rejects(store.list({ limit: 1 }), unavailable);
  await until('The etcd cluster is out of reach');
  assert.match(store.problem() ?? '', /The etcd cluster gives no answer/);
  // No create is proposed any more.
  const createCalls = (): number =>
    store
      .stats()
      .calls.filter(({ call }) => call === 'create')
      .reduce((sum, { value }) => sum + value, 0);
  await assert.rejects(store.create(rex), unavailable);
  assert.equal(createCalls(), 0);
  second?.restart();
  await until('The etcd cluster answers again');
  while (store.problem() !== undefined) await sleep(50);
  const told = lines();
  for (const event of ['out of reach', 'cluster answers again', 'Creates fail']) {
    const count = told.filter((line) => line.includes(event)).length;
    assert.ok(count <= 1, `${event}: ${told.join('\n')}`);
  }
});

told('A key that is not part of the log is named while the service runs', async (t) => {
  const { cluster, store, lines, until, call } = await watch(t, 1);
  await call('/v3/kv/put', { key: base64('petstore/notes'), value: base64('x') });
  await until('A key is not part of the log');
  assert.deepEqual(lines(), [
    'error A key is not part of the log: a start is refused until it is deleted',
  ]);
  assert.equal((await store.create(rex)).id, 1n);
  assert.equal(store.problem(), undefined);
  await assert.rejects(openEtcdStore({ endpoints: cluster.endpoints }), /petstore\/notes first/);
  await call('/v3/kv/deleterange', { key: base64('petstore/notes') });
  await until('No key under the prefix');
});

told('The nearest member is found again after it was left', async (t) => {
  const cluster = await startCluster(t);
  const links = await Promise.all(cluster.endpoints.map((endpoint) => startLink(endpoint)));
  t.after(() => links.forEach((link) => link.close()));
  const [near, far, farther] = links;
  assert.ok(near && far && farther);
  far.delayMs = 40;
  farther.delayMs = 60;
  const endpoints = [farther, near, far].map(({ endpoint }) => endpoint);
  await initEtcd({ endpoints });
  const store = await openEtcdStore({ endpoints, clock: hastyClock });
  t.after(() => store.close());
  const callsOf = (endpoint: string): number =>
    store
      .stats()
      .calls.filter((count) => count.endpoint === endpoint)
      .reduce((sum, { value }) => sum + value, 0);
  assert.deepEqual(
    endpoints.map((endpoint) => callsOf(endpoint) > 0),
    [false, true, false],
  );
  near.set('cut');
  await store.create(rex);
  near.set('open');
  const before = callsOf(near.endpoint);
  while (callsOf(near.endpoint) < before + 3) await store.create(rex);
});

/** What `copy-pets` prints when it exports. */
function exportFrom(
  t: TestContext,
  endpoints: readonly string[],
  env: Record<string, string> = {},
): string {
  const to = join(tempDir(t), 'pets.json');
  const args = [SERVER_JS, 'copy-pets', '--from-etcd', endpoints.join(','), '--to', to];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...env },
  });
  return stdout + stderr;
}
