/**
 * What the etcd store logs and reports if real members refuse calls, or have no majority: rows of
 * the table in its README. The others are held on simulated members (in-doubt.test.ts,
 * lost-log.test.ts, start.test.ts, client.test.ts) and after a restore (restored.test.ts).
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLevel } from '../../../src/base/log.ts';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { enableAuth, type Auth } from '../../support/etcd/auth.ts';
import { startCluster, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { openFast, openStore } from '../../support/etcd/opened-store.ts';

const rex = { name: 'Rex', categoryId: 1n } as const;
const unavailable = { name: 'StoreUnavailableError' } as const;
const options = { skip: withoutEtcd, timeout: 90_000 } as const;

interface Watched extends Cluster {
  readonly store: EtcdStore;
  readonly auth: Auth | undefined;
  /** The lines of the store's log: level, event, and cause. */
  readonly lines: string[];
  /** Waits for a line. */
  until(event: string): Promise<void>;
  /** The number of calls of a kind with this result. */
  calls(call: string, outcome?: string): number;
}

async function watch(t: TestContext, size: number, hasAuth = false): Promise<Watched> {
  const cluster = await startCluster(t, { size });
  const { endpoints } = cluster;
  const auth = hasAuth ? await enableAuth(t, cluster) : undefined;
  const lines: string[] = [];
  const log = (level: LogLevel, event: string, details: Record<string, unknown> = {}): void => {
    // On a busy machine a member may seem to fail for a moment.
    if (!event.startsWith('An etcd endpoint'))
      lines.push([level, event, details['cause']].join(' '));
  };
  await initEtcd({ endpoints, ...auth?.user });
  const store = await openFast(t, { endpoints, log, ...auth?.user });
  return {
    ...cluster,
    ...{ store, auth, lines },
    async until(event) {
      while (!lines.some((line) => line.includes(event))) await sleep(20);
    },
    calls: (call, outcome) =>
      store
        .stats()
        .calls.filter((one) => one.call === call && (outcome ?? one.outcome) === one.outcome)
        .reduce((sum, { value }) => sum + value, 0),
  };
}

async function untilReady(store: EtcdStore): Promise<void> {
  while (store.problem() !== undefined) await sleep(20);
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
  for (const { fault, cause, outcome, canRead, begin, end } of REFUSALS) {
    const what = `With ${fault} creates fail${canRead ? '' : ', and reads'}; its end is logged`;
    test(what, options, async (t) => {
      const watched = await watch(t, 1, !fault.includes('alarm'));
      const { endpoints, store, auth, lines, until, calls } = watched;
      const message = new RegExp(cause);
      const start = { endpoints, ...auth?.user };
      await store.create(rex);
      lines.length = 0;
      await begin(watched);
      await assert.rejects(store.create(rex), { ...unavailable, message });
      assert.match(store.problem() ?? '', message);
      assert.equal(calls('create', outcome), 1);
      if (canRead) {
        await assert.rejects(store.create(rex), unavailable);
        assert.equal((await store.get(1n))?.name, 'Rex');
        // It is ready again without a create.
        await untilReady(store);
        assert.equal((await openStore(t, start)).count().total, 1);
        assert.equal(await initEtcd(start), 'found');
      } else {
        await until('The etcd cluster is out of reach');
        assert.match(store.problem() ?? '', message);
        assert.ok(calls('read', outcome) > 0);
        await assert.rejects(store.get(1n), { ...unavailable, message });
        await assert.rejects(store.create(rex), unavailable);
        assert.equal(calls('create', outcome), 1, 'no create is proposed any more');
        const refused = new RegExp(`^The etcd cluster refuses: .*${cause}$`);
        await assert.rejects(openStore(t, start), { ...unavailable, message: refused });
      }
      await end(watched);
      if (!canRead) await until('The etcd cluster answers again');
      await untilReady(store);
      assert.equal((await store.create(rex)).id, 2n);
      const expected = [
        `error Creates fail .*${cause}`,
        ...(canRead
          ? []
          : [
              `error The etcd cluster is out of reach .*${cause}`,
              'info The etcd cluster answers again ',
            ]),
        'info Creates are stored again ',
      ];
      // On a busy machine reads may fail for a moment, too.
      const own = lines.filter((line) => !canRead || line.includes('Creates'));
      assert.match(own.join('\n'), new RegExp(`^${expected.join('\n')}$`));
    });
  }

  test('Without a majority reads are refused, until it is back', options, async (t) => {
    const { members, store, lines, until, calls } = await watch(t, 3);
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
    for (const event of ['out of reach', 'cluster answers again', 'Creates fail']) {
      const count = lines.filter((line) => line.includes(event)).length;
      assert.ok(count <= 1, `${event}: ${lines.join('\n')}`);
    }
  });
});
