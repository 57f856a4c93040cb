/**
 * What the etcd store logs and reports if real members refuse calls, or have no majority: rows of
 * the table in its README. The others are held on simulated members (in-doubt.test.ts,
 * lost-log.test.ts, start.test.ts, client.test.ts) and after a restore (restored.test.ts). And what
 * etcd always refuses: a pet that is too long, no user, no certificate.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogLevel } from '../../../src/base/log.ts';
import type { EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { etcdClock } from '../../../src/stores/etcd/etcd-clock.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { enableAuth } from '../../support/etcd/auth.ts';
import { startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import {
  callsOf,
  fastClock,
  openFast,
  openInitialized,
  openStore,
} from '../../support/etcd/opened-store.ts';
import { isWhole } from '../../support/extent.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { CERTIFICATE_PEM, KEY_PEM } from '../../support/process/certificate.ts';

const rex = { name: 'Rex', categoryId: 1n } as const;
const unavailable = { name: 'StoreUnavailableError' } as const;
const options = { skip: withoutEtcd, timeout: 90_000 } as const;

type Watched = Awaited<ReturnType<typeof watch>>;

async function watch(t: TestContext, size: number, hasAuth = false) {
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
  /** Waits for a line: level, event, and cause. */
  const until = async (event: string): Promise<void> => {
    while (!lines.some((line) => line.includes(event))) await sleep(20);
  };
  return { ...cluster, store, auth, lines, until };
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

const alarmed = (alarm: string) => {
  const change = (action: string) => (watched: Watched) =>
    watched.call('/v3/maintenance/alarm', { action, memberID: '0', alarm });
  const [begin, end] = [change('ACTIVATE'), change('DEACTIVATE')];
  return { fault: `the alarm ${alarm}`, canRead: true, begin, end };
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

describe('What real members refuse', { concurrency: 4 }, () => {
  for (const { fault, cause, outcome, canRead, begin, end } of REFUSALS) {
    const what = `With ${fault} creates fail${canRead ? '' : ', and reads'}; its end is logged`;
    test(what, options, async (t) => {
      const watched = await watch(t, 1, !fault.includes('alarm'));
      const { endpoints, store, auth, lines, until } = watched;
      const creates = (): number => callsOf(store, { call: 'create', outcome });
      const message = new RegExp(cause);
      const start = { endpoints, ...auth?.user };
      await store.create(rex);
      lines.length = 0;
      await begin(watched);
      await assert.rejects(store.create(rex), { ...unavailable, message });
      assert.match(store.problem() ?? '', message);
      assert.equal(creates(), 1);
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
        assert.ok(callsOf(store, { call: 'read', outcome }) > 0);
        await assert.rejects(store.get(1n), { ...unavailable, message });
        await assert.rejects(store.create(rex), unavailable);
        assert.equal(creates(), 1, 'no create is proposed any more');
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
    const { members, store, lines, until } = await watch(t, 3);
    const [, second, third] = members;
    await Promise.all([second?.kill(), third?.kill()]);
    await assert.rejects(store.list({ limit: 1 }), unavailable);
    await until('The etcd cluster is out of reach');
    assert.match(store.problem() ?? '', /The etcd cluster cannot be used/);
    await assert.rejects(store.create(rex), unavailable);
    assert.equal(callsOf(store, { call: 'create' }), 0, 'no create is proposed any more');
    second?.restart();
    await until('The etcd cluster answers again');
    await untilReady(store);
    for (const event of ['out of reach', 'cluster answers again', 'Creates fail']) {
      const count = lines.filter((line) => line.includes(event)).length;
      assert.ok(count <= 1, `${event}: ${lines.join('\n')}`);
    }
  });

  test('A pet that is too long for etcd is refused before it is sent', options, async (t) => {
    const { endpoints } = await startCluster(t, { size: 1 });
    const store = await openInitialized(t, { endpoints });
    const longest = { ...rex, name: 'x'.repeat(1 << 20) };
    const tooLong = { ...rex, name: 'x'.repeat((1 << 20) + 1024) };
    await assert.rejects(store.create(tooLong), { name: 'InvalidPetError' });
    assert.equal((await store.create(longest)).id, 1n);
    // Many together, with the longest at the end of a full commit.
    const many = Array.from({ length: 100 }, () => ({ ...rex, name: 'y'.repeat(640) }));
    await Promise.all([...many, longest].map((pet) => store.create(pet)));
    // More than a start reads at once.
    for (let i = 0; i < 19; i += 1) await store.create(isWhole ? longest : rex);
    assert.equal((await openStore(t, { endpoints })).count().total, 121);
  });

  test(
    'Auth needs a user who may read the prefix; an expired token is renewed',
    options,
    async (t) => {
      const cluster = await startCluster(t, { size: 1, args: ['--auth-token-ttl', '1'] });
      const { user } = await enableAuth(t, cluster);
      const { endpoints } = cluster;
      await initEtcd({ endpoints, ...user });
      const missing = { user: 'pets', passwordFile: `${user.passwordFile}.none` };
      for (const [options, expected] of [
        [{}, /refuses: .*user name is empty/],
        [{ ...user, prefix: 'other/' }, /refuses: .*permission denied/],
        [missing, /cannot be read: ENOENT/],
      ] as const) {
        await assert.rejects(openStore(t, { endpoints, ...options }), expected);
      }
      // An idle store reads once a second, which would keep the token valid: this one does not.
      const clock = { ...etcdClock, every: () => () => undefined };
      // A member that is down does not keep the user from logging in to another one.
      const two = ['http://127.0.0.1:9', ...endpoints];
      const store = await openStore(t, { endpoints: two, ...user, clock });
      const logIns = (): number => callsOf(store, { call: 'log in', outcome: 'answered' });
      assert.equal(logIns(), 1);
      await sleep(3_500);
      assert.equal((await store.create(rex)).id, 1n);
      assert.equal(logIns(), 2);
    },
  );

  test('With TLS etcd and the store check certificates', options, async (t) => {
    const folder = tempDir(t);
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => join(folder, `${name}.pem`));
    assert.ok(ca && cert && key);
    // The certificate is its own authority, and that of both sides.
    for (const path of [ca, cert]) writeFileSync(path, CERTIFICATE_PEM);
    writeFileSync(key, KEY_PEM);
    const args = ['--cert-file', ca, '--key-file', key, '--client-cert-auth'];
    args.push('--trusted-ca-file', ca);
    const { endpoints, members } = await startCluster(t, { size: 1, args, isSecure: true });
    const [member] = members;
    const options = { endpoints, caFile: ca, certFile: cert, keyFile: key };
    await initEtcd(options);
    const clock = fastClock;
    const none = { certFile: undefined, keyFile: undefined };
    await Promise.all([
      assert.rejects(
        openStore(t, { ...options, clock, caFile: undefined }),
        /for 10 seconds: .*certificate/,
      ),
      assert.rejects(openStore(t, { ...options, clock, ...none }), /for 10 seconds/),
    ]);
    const store = await openFast(t, options);
    assert.equal((await store.create(rex)).id, 1n);
    // The files are read again for each connection.
    writeFileSync(cert, 'broken');
    await member?.kill();
    member?.restart();
    // A read finds that the connection is cut; a create would be in doubt.
    await assert.rejects(store.list({ limit: 1 }), { name: 'StoreUnavailableError' });
    await assert.rejects(store.create(rex), { name: 'StoreUnavailableError' });
    writeFileSync(cert, CERTIFICATE_PEM);
    // Creates are refused until a read finds the cluster.
    while (store.problem() !== undefined) await sleep(20);
    assert.equal((await store.create(rex)).id, 2n);
  });
});
