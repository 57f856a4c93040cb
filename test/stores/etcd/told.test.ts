/**
 * What the etcd store logs and reports in each fault: the table of its README, on real members.
 * Other files have the rows about other clusters (restored.test.ts), a slow start (start.test.ts)
 * and a process that takes each slot (in-doubt.test.ts).
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLevel } from '../../../src/base/log.ts';
import { systemClock, type EtcdClock } from '../../../src/stores/etcd/etcd-clock.ts';
import { openEtcdStore, type EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { enableAuth, type Auth } from '../../support/etcd/auth.ts';
import {
  base64,
  startCluster,
  withoutEtcd,
  type Cluster,
  type ClusterOptions,
} from '../../support/etcd/cluster.ts';
import { fastClock } from '../../support/etcd/fast-clock.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { startLinks } from '../../support/etcd/link.ts';
import { isWhole } from '../../support/extent.ts';
import { SERVER_JS } from '../../support/process/process.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const rex = { name: 'Rex', categoryId: 1n } as const;
const unavailable = { name: 'StoreUnavailableError' } as const;

interface Watched extends Cluster {
  readonly store: EtcdStore;
  readonly auth: Auth | undefined;
  /** The lines of the store's log since the last call: level, event, and cause or key. */
  lines(): readonly string[];
  /** Waits for a line since then. */
  until(event: string): Promise<void>;
  /** The number of calls of a kind with this result, to all endpoints. */
  calls(call: string, outcome?: string): number;
  /** Exports the pets by `copy-pets`; returns its exit code and all that it wrote. */
  exported(): string;
  /** The same of a service that is refused at its start. */
  started(): string;
}

async function watch(
  t: TestContext,
  options: ClusterOptions & { readonly hasAuth?: boolean; readonly clock?: EtcdClock } = {},
): Promise<Watched> {
  const { hasAuth = false, clock = fastClock } = options;
  const cluster = await startCluster(t, { size: 1, ...options });
  const { endpoints } = cluster;
  const auth = hasAuth ? await enableAuth(t, cluster) : undefined;
  const lines: string[] = [];
  const log = (level: LogLevel, event: string, details: Record<string, unknown> = {}): void => {
    const what = details['key'] ?? details['endpoint'] ?? details['cause'];
    lines.push(`${level} ${event}${what === undefined ? '' : `: ${String(what)}`}`);
  };
  const store = await openInitialized({ endpoints, log, clock, ...auth?.user });
  t.after(() => store.close());
  let taken = 0;
  const env = {
    ...{ PATH: process.env['PATH'], PETSTORE_ETCD_USER: auth?.user.user },
    PETSTORE_ETCD_PASSWORD_FILE: auth?.user.passwordFile,
  };
  const run = (...args: readonly string[]): string => {
    const options = { encoding: 'utf8', env } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, [SERVER_JS, ...args], options);
    return `${status} ${stdout}${stderr}`;
  };
  return {
    ...cluster,
    ...{ store, auth },
    lines: () => lines.slice(taken, (taken = lines.length)),
    async until(event) {
      while (!lines.slice(taken).some((line) => line.includes(event))) await sleep(20);
    },
    calls: (call, outcome) =>
      store
        .stats()
        .calls.filter((one) => one.call === call && (outcome ?? one.outcome) === one.outcome)
        .reduce((sum, { value }) => sum + value, 0),
    exported: () =>
      run('copy-pets', '--from-etcd', endpoints.join(','), '--to', join(tempDir(t), 'pets.json')),
    started: () => run('--port', '0', '--etcd', endpoints.join(',')),
  };
}

async function untilReady(store: EtcdStore): Promise<void> {
  while (store.problem() !== undefined) await sleep(20);
}

function told(name: string, run: (t: TestContext) => Promise<void>): void {
  test(name, { skip: withoutEtcd, timeout: 90_000 }, run);
}

/** What root takes from the user of a running service, and how its calls fail then. */
const LOSSES: readonly {
  readonly lost: string;
  readonly cause: string;
  readonly canRead: boolean;
  take(auth: Auth): Promise<void>;
  giveBack(auth: Auth): void | Promise<void>;
}[] = [
  {
    ...{ lost: 'the right to write', cause: 'permission denied', canRead: true },
    take: (auth) => auth.permit('READ'),
    giveBack: (auth) => auth.permit('READWRITE'),
  },
  {
    ...{ lost: 'all rights', cause: 'permission denied', canRead: false },
    take: (auth) => auth.permit('NONE'),
    giveBack: (auth) => auth.permit('READWRITE'),
  },
  {
    ...{
      lost: 'the password',
      cause: 'Cannot log in: .*invalid user ID or password',
      canRead: false,
    },
    take: (auth) => auth.changePassword('other'),
    giveBack: ({ user }) => writeFileSync(user.passwordFile, 'other'),
  },
];

describe('In each fault', { concurrency: 3 }, () => {
  for (const [alarm, cause, outcome] of [
    ['NOSPACE', 'database space exceeded', 'no space'],
    ['CORRUPT', 'corrupt cluster', 'refused'],
  ] as const) {
    told(`The alarm ${alarm} refuses creates, and nothing else`, async (t) => {
      const { endpoints, store, lines, call, calls, exported } = await watch(t);
      await store.create(rex);
      assert.deepEqual(lines(), []);
      await call('/v3/maintenance/alarm', { action: 'ACTIVATE', memberID: '0', alarm });
      const startedAt = fastClock.now();
      for (let i = 0; i < 3; i += 1) await assert.rejects(store.create(rex), unavailable);
      // A create in doubt takes 15 seconds.
      assert.ok(fastClock.now() - startedAt < 15_000);
      const [line = '', ...others] = lines();
      assert.match(line, new RegExp(`^error Creates fail: .*${cause}`));
      assert.deepEqual(others, []);
      assert.match(store.problem() ?? '', new RegExp(cause));
      assert.ok(calls('create', outcome) >= 3);
      assert.equal((await store.list({ limit: 5 })).pets.length, 1);
      // It is ready again without a create.
      await untilReady(store);
      const next = await openEtcdStore({ endpoints });
      assert.equal((await next.get(1n))?.name, 'Rex');
      await next.close();
      assert.equal(await initEtcd({ endpoints }), 'found');
      assert.match(exported(), /^0 1 pets from etcd, under petstore\/, are in /);
      await call('/v3/maintenance/alarm', { action: 'DEACTIVATE', memberID: '0', alarm });
      assert.equal((await store.create(rex)).id, 2n);
      assert.equal(store.problem(), undefined);
      assert.deepEqual(lines(), ['info Creates are stored again']);
    });
  }

  told('With a used-up quota services read and start, and creates are refused', async (t) => {
    const args = ['--quota-backend-bytes', String(1 << 20)];
    const watched = await watch(t, { args, clock: systemClock });
    const { endpoints, members, store, call, exported } = watched;
    const [member] = members;
    const fill = { key: base64('fill'), value: base64('x'.repeat(900_000)) };
    await call('/v3/kv/put', fill);
    await assert.rejects(
      async () => {
        for (;;) await store.create({ ...rex, name: 'x'.repeat(50_000) });
      },
      { ...unavailable, message: /database space exceeded/ },
    );
    const { total } = store.count();
    // A start must not need space, even if the quota is less than what is used.
    await member?.kill();
    member?.restart(['--quota-backend-bytes', '500000']);
    await watched.ready();
    const next = await openEtcdStore({ endpoints });
    t.after(() => next.close());
    assert.equal((await next.list({ limit: 1000 })).pets.length, total);
    await assert.rejects(next.create(rex), unavailable);
    assert.match(exported(), new RegExp(`^0 ${total} pets from etcd`));
    // An operator makes room, and tells etcd so.
    await member?.kill();
    member?.restart();
    await watched.ready();
    const deleted = await call('/v3/kv/deleterange', { key: fill.key });
    const { revision } = (JSON.parse(deleted) as { header: { readonly revision: string } }).header;
    await call('/v3/kv/compaction', { revision, physical: true });
    await call('/v3/maintenance/defragment', {});
    const alarm = { action: 'DEACTIVATE', memberID: '0', alarm: 'NOSPACE' };
    const { alarms } = JSON.parse(await call('/v3/maintenance/alarm', { action: 'GET' })) as {
      readonly alarms: readonly object[];
    };
    for (const found of alarms) await call('/v3/maintenance/alarm', { ...alarm, ...found });
    assert.equal((await next.create(rex)).id, BigInt(total) + 1n);
  });

  for (const { lost, cause, canRead, take, giveBack } of LOSSES) {
    told(`A user who loses ${lost} is reported, and so is the end of that`, async (t) => {
      const watched = await watch(t, { hasAuth: true });
      const { endpoints, store, auth, lines, until, calls, exported, started } = watched;
      assert.ok(auth);
      await store.create(rex);
      await take(auth);
      await assert.rejects(store.create(rex), { ...unavailable, message: new RegExp(cause) });
      assert.match(lines().join('\n'), new RegExp(`^error Creates fail: .*${cause}$`));
      assert.match(store.problem() ?? '', new RegExp(cause));
      assert.equal(calls('create', 'refused'), 1);
      if (canRead) {
        assert.equal((await store.get(1n))?.name, 'Rex');
        await untilReady(store);
        const next = await openEtcdStore({ endpoints, ...auth.user });
        assert.equal((await next.list({ limit: 5 })).pets.length, 1);
        await next.close();
        assert.match(exported(), /^0 1 pets from etcd/);
        const other = { endpoints, ...auth.user, prefix: 'petstore/x/' };
        await assert.rejects(initEtcd(other), new RegExp(cause));
      } else {
        await until('The etcd cluster is out of reach');
        const [line = '', ...others] = lines();
        assert.match(line, new RegExp(`^error .*: The etcd cluster gives no answer: .*${cause}$`));
        assert.deepEqual(others, []);
        assert.match(store.problem() ?? '', new RegExp(cause));
        assert.ok(calls('read', 'refused') > 0);
        await assert.rejects(store.get(1n), { ...unavailable, message: new RegExp(cause) });
        await assert.rejects(store.create(rex), unavailable);
        assert.equal(calls('create', 'refused'), 1, 'no create is proposed any more');
        // A start that waits logs that after three seconds.
        const refused = new RegExp(`^1 petstore: The etcd cluster refuses: .*${cause}\n$`);
        assert.match(started(), refused);
        assert.match(exported(), refused);
      }
      await giveBack(auth);
      if (!canRead) await until('The etcd cluster answers again');
      await untilReady(store);
      assert.equal((await store.create(rex)).id, 2n);
      assert.equal(lines().at(-1), 'info Creates are stored again');
    });
  }

  const members = isWhole ? [0, 1, 2] : [0];
  for (const index of members) {
    told(`The loss of member ${index} is logged once, and so is its return`, async (t) => {
      const { members, endpoints, store, lines, until, calls } = await watch(t, { size: 3 });
      const [member, endpoint] = [members[index], endpoints[index]];
      let isOver = false;
      const client = (async () => {
        while (!isOver) await store.create(rex).catch(() => sleep(100));
      })();
      t.after(() => (isOver = true));
      await member?.kill();
      const events = ['warn An etcd endpoint fails', 'info An etcd endpoint works again'];
      await until(`${events[0]}: ${endpoint}`);
      const told = [...lines()];
      member?.restart();
      await until(`${events[1]}: ${endpoint}`);
      told.push(...lines());
      isOver = true;
      await client;
      // An election may have disturbed the other two for a moment.
      const own = told.filter((line) => line.includes(endpoint ?? ''));
      assert.deepEqual(
        own,
        events.map((event) => `${event}: ${endpoint}`),
      );
      await untilReady(store);
      const lost = calls('create', 'in doubt') + calls('create', 'unsent');
      assert.ok(lost <= 10, `${lost} calls were lost`);
    });
  }

  told('A member that hangs is left for another', async (t) => {
    const { members, store } = await watch(t, { size: 3, clock: systemClock });
    await store.create(rex);
    members[0]?.signal('SIGSTOP');
    assert.equal((await store.create(rex)).id, 2n);
    assert.equal((await store.get(2n))?.name, 'Rex');
    assert.equal(store.problem(), undefined);
    members[0]?.signal('SIGCONT');
  });

  told('Without a majority reads are refused, until it is back', async (t) => {
    const { members, store, lines, until, calls } = await watch(t, { size: 3 });
    const [, second, third] = members;
    await Promise.all([second?.kill(), third?.kill()]);
    await assert.rejects(store.list({ limit: 1 }), unavailable);
    await until('The etcd cluster is out of reach');
    assert.match(store.problem() ?? '', /The etcd cluster gives no answer/);
    await assert.rejects(store.create(rex), unavailable);
    assert.equal(calls('create'), 0, 'no create is proposed any more');
    second?.restart();
    await until('The etcd cluster answers again');
    await untilReady(store);
    const told = lines();
    for (const event of ['out of reach', 'cluster answers again', 'Creates fail']) {
      const count = told.filter((line) => line.includes(event)).length;
      assert.ok(count <= 1, `${event}: ${told.join('\n')}`);
    }
  });

  told('A key that is not part of the log is named while the service runs', async (t) => {
    const { endpoints, store, lines, until, call } = await watch(t);
    await call('/v3/kv/put', { key: base64('petstore/notes'), value: base64('x') });
    await until('A key is not part of the log');
    assert.equal((await store.create(rex)).id, 1n);
    assert.equal(store.problem(), undefined);
    await assert.rejects(openEtcdStore({ endpoints }), /petstore\/notes first/);
    await call('/v3/kv/deleterange', { key: base64('petstore/notes') });
    await until('No key under the prefix');
    assert.deepEqual(lines(), [
      'error A key is not part of the log: petstore/notes',
      'info No key under the prefix is left that is not part of the log',
    ]);
  });

  told('A process asks the nearest member again after that was cut off', async (t) => {
    const cluster = await startCluster(t);
    const [near, far, farther] = await startLinks(t, cluster.endpoints);
    assert.ok(near && far && farther);
    far.delayMs = 40;
    farther.delayMs = 60;
    const endpoints = [farther, near, far].map(({ endpoint }) => endpoint);
    await initEtcd({ endpoints });
    const store = await openEtcdStore({ endpoints, clock: fastClock });
    t.after(() => store.close());
    const callsOf = (endpoint: string): number =>
      store
        .stats()
        .calls.filter((count) => count.endpoint === endpoint)
        .reduce((sum, { value }) => sum + value, 0);
    const isAsked = endpoints.map((endpoint) => callsOf(endpoint) > 0);
    assert.deepEqual(isAsked, [false, true, false]);
    near.set('cut');
    await store.create(rex);
    near.set('open');
    const before = callsOf(near.endpoint);
    while (callsOf(near.endpoint) < before + 3) await store.create(rex);
  });
});
