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
import { openFast } from '../../support/etcd/fast-clock.ts';
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
  const { hasAuth = false, clock } = options;
  const cluster = await startCluster(t, { size: 1, ...options });
  const { endpoints } = cluster;
  const auth = hasAuth ? await enableAuth(t, cluster) : undefined;
  const lines: string[] = [];
  const log = (level: LogLevel, event: string, details: Record<string, unknown> = {}): void => {
    const what = details['key'] ?? details['endpoint'] ?? details['cause'];
    lines.push(`${level} ${event}${what === undefined ? '' : `: ${String(what)}`}`);
  };
  const store = await openFast((fast) =>
    openInitialized({ endpoints, log, clock: clock ?? fast, ...auth?.user }),
  );
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

interface Refusal {
  readonly fault: string;
  readonly cause: string;
  /** How a create ends; each call, if a user cannot read. */
  readonly outcome: 'refused' | 'no space';
  readonly canRead: boolean;
  begin(watched: Watched): Promise<unknown>;
  end(watched: Watched): Promise<unknown>;
}

const alarmed = (alarm: string): Pick<Refusal, 'fault' | 'canRead' | 'begin' | 'end'> => {
  const change = async (action: string, { call }: Watched): Promise<string> =>
    call('/v3/maintenance/alarm', { action, memberID: '0', alarm });
  return {
    ...{ fault: `the alarm ${alarm}`, canRead: true },
    begin: (watched) => change('ACTIVATE', watched),
    end: (watched) => change('DEACTIVATE', watched),
  };
};

const denied = { cause: 'permission denied', outcome: 'refused' } as const;

/** The faults in which etcd refuses calls. */
const REFUSALS: readonly Refusal[] = [
  { ...alarmed('NOSPACE'), cause: 'database space exceeded', outcome: 'no space' },
  { ...alarmed('CORRUPT'), cause: 'corrupt cluster', outcome: 'refused' },
  {
    ...{ ...denied, fault: 'no right to write', canRead: true },
    begin: async ({ auth }) => auth?.permit('READ'),
    end: async ({ auth }) => auth?.permit('READWRITE'),
  },
  {
    ...{ ...denied, fault: 'no right to read', canRead: false },
    begin: async ({ auth }) => auth?.permit('NONE'),
    end: async ({ auth }) => auth?.permit('READWRITE'),
  },
  {
    ...{ ...denied, fault: 'a wrong password', canRead: false },
    cause: 'Cannot log in: .*invalid user ID or password',
    begin: async ({ auth }) => auth?.changePassword('other'),
    end: async ({ auth }) => auth && writeFileSync(auth.user.passwordFile, 'other'),
  },
];

describe('In each fault', { concurrency: 4 }, () => {
  for (const { fault, cause: text, outcome, canRead, begin, end } of REFUSALS) {
    told(
      `With ${fault} creates fail${canRead ? '' : ', and reads'}; its end is logged`,
      async (t) => {
        const watched = await watch(t, { hasAuth: !fault.includes('alarm') });
        const { endpoints, store, auth, lines, until, calls, exported, started } = watched;
        const cause = new RegExp(text);
        await store.create(rex);
        assert.deepEqual(lines(), []);
        await begin(watched);
        await assert.rejects(store.create(rex), { ...unavailable, message: cause });
        assert.match(store.problem() ?? '', cause);
        assert.equal(calls('create', outcome), 1);
        if (canRead) {
          await assert.rejects(store.create(rex), unavailable);
          assert.equal((await store.get(1n))?.name, 'Rex');
          // It is ready again without a create.
          await untilReady(store);
          const next = await openEtcdStore({ endpoints, ...auth?.user });
          assert.equal((await next.list({ limit: 5 })).pets.length, 1);
          await next.close();
          assert.equal(await initEtcd({ endpoints, ...auth?.user }), 'found');
          assert.match(exported(), /^0 1 pets from etcd, under petstore\/, are in /);
        } else {
          await until('The etcd cluster is out of reach');
          assert.match(store.problem() ?? '', cause);
          assert.ok(calls('read', outcome) > 0);
          await assert.rejects(store.get(1n), { ...unavailable, message: cause });
          await assert.rejects(store.create(rex), unavailable);
          assert.equal(calls('create', outcome), 1, 'no create is proposed any more');
          // A start that waits logs that after three seconds.
          const refused = new RegExp(`^1 petstore: The etcd cluster refuses: .*${text}\n$`);
          assert.match(started(), refused);
          assert.match(exported(), refused);
        }
        await end(watched);
        if (!canRead) await until('The etcd cluster answers again');
        await untilReady(store);
        assert.equal((await store.create(rex)).id, 2n);
        // On a busy machine the only member may seem to fail for a moment.
        const [failing = '', ...others] = lines().filter((line) => !/An etcd endpoint/.test(line));
        assert.match(failing, new RegExp(`^error Creates fail: .*${text}$`));
        const [unreachable = '', reachable] = canRead ? [] : others.splice(0, 2);
        if (!canRead) {
          assert.match(unreachable, new RegExp(`^error The etcd cluster is out of .*${text}$`));
          assert.equal(reachable, 'info The etcd cluster answers again');
        }
        assert.deepEqual(others, ['info Creates are stored again']);
      },
    );
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
    const alarms = await call('/v3/maintenance/alarm', { action: 'GET' });
    const { alarms: [alarm] = [] } = JSON.parse(alarms) as { readonly alarms: readonly object[] };
    await call('/v3/maintenance/alarm', { ...alarm, action: 'DEACTIVATE' });
    assert.equal((await next.create(rex)).id, BigInt(total) + 1n);
  });

  for (const isAsked of isWhole ? [true, false] : [false]) {
    const which = isAsked ? 'the member that is asked' : 'another member';
    told(`The loss of ${which} is logged once, and so is its return`, async (t) => {
      const { members, leader, store, lines, until, calls } = await watch(t, { size: 3 });
      await store.create(rex);
      const { endpoint: asked } = store.stats().calls.find(({ call }) => call === 'create') ?? {};
      // Without the leader the asked one would fail for a moment, and others would be asked.
      const kept = isAsked ? undefined : await leader();
      const member = members.find((one) => (one.endpoint === asked) === isAsked && one !== kept);
      const { endpoint = '' } = member ?? {};
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
      const own = told.filter((line) => line.includes(endpoint));
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
    const [endpoint = ''] = (await startCluster(t, { size: 1 })).endpoints;
    const [first, ...others] = await startLinks(t, [endpoint, endpoint, endpoint]);
    for (const link of others) link.delayMs = 40;
    const endpoints = [first, ...others].map((link) => link?.endpoint ?? '');
    const store = await openInitialized({ endpoints });
    t.after(() => store.close());
    await store.create(rex);
    first?.set('hanging');
    assert.equal((await store.create(rex)).id, 2n);
    assert.equal((await store.get(2n))?.name, 'Rex');
    assert.equal(store.problem(), undefined);
  });

  told('Without a majority reads are refused, until it is back', async (t) => {
    const { members, store, lines, until, calls } = await watch(t, { size: 3 });
    const [, second, third] = members;
    await Promise.all([second?.kill(), third?.kill()]);
    await assert.rejects(store.list({ limit: 1 }), unavailable);
    await until('The etcd cluster is out of reach');
    assert.match(store.problem() ?? '', /The etcd cluster cannot be used/);
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
    await assert.rejects(openEtcdStore({ endpoints }), /petstore\/notes is not part of the log/);
    await call('/v3/kv/deleterange', { key: base64('petstore/notes') });
    await until('All keys under the prefix');
    assert.deepEqual(lines(), [
      'error A key is not part of the log: petstore/notes',
      'info All keys under the prefix are part of the log again',
    ]);
  });

  told('The nearest member is asked again after it was cut off', async (t) => {
    const [endpoint = ''] = (await startCluster(t, { size: 1 })).endpoints;
    const [near, far, farther] = await startLinks(t, [endpoint, endpoint, endpoint]);
    assert.ok(near && far && farther);
    far.delayMs = 300;
    farther.delayMs = 400;
    const endpoints = [farther, near, far].map(({ endpoint }) => endpoint);
    await initEtcd({ endpoints });
    const store = await openFast((clock) => openEtcdStore({ endpoints, clock }));
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
