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
import type { LogLevel } from '../../../src/base/log.ts';
import { initEtcd } from '../../../src/stores/etcd/open-log.ts';
import {
  gateway,
  needsEtcd,
  rangeOf,
  startCluster,
  type Cluster,
} from '../../support/etcd/cluster.ts';
import {
  callsOf,
  fastClock,
  openFast,
  openInitialized,
  openStore,
  REFUSED,
  rex,
} from '../../support/etcd/opened-store.ts';
import { isWhole } from '../../support/extent.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { until } from '../../support/until.ts';
import { CERTIFICATE_PEM, EXPIRED_PEM, KEY_PEM } from '../../support/process/certificate.ts';

const PASSWORD = 'pässword "1"';

/** Turns auth on, with the right to read and write the prefix `petstore/`. */
async function enableAuth(t: TestContext, { endpoints: [endpoint = ''] }: Cluster) {
  const call = async (path: string, body: object, token?: string): Promise<string> => {
    const text = await gateway(endpoint, `/v3/auth/${path}`, body, token);
    assert.doesNotMatch(text, /"error"/, `${path}: ${text}`);
    return text;
  };
  const asRoot = async (path: string, body: object): Promise<void> => {
    const text = await call('authenticate', { name: 'root', password: 'root' });
    await call(path, body, (JSON.parse(text) as { readonly token: string }).token);
  };
  const range = rangeOf('petstore/');
  const perm = { permType: 'READWRITE', ...range };
  for (const [name, secret] of [
    ['root', 'root'],
    ['pets', PASSWORD],
  ] as const) {
    await call('user/add', { name, password: secret });
    await call('role/add', { name });
    await call('user/grant', { user: name, role: name });
  }
  await call('role/grant', { name: 'pets', perm });
  await call('enable', {});
  const passwordFile = join(tempDir(t), 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  return {
    /** What a store of the user is opened with. */
    user: { user: 'pets', passwordFile },
    /** Lets the user read the prefix, read and write it, or neither. */
    async permit(permType: 'READ' | 'READWRITE' | 'NONE'): Promise<void> {
      if (permType === 'NONE') await asRoot('role/revoke', { role: 'pets', ...range });
      else await asRoot('role/grant', { name: 'pets', perm: { ...perm, permType } });
    },
    /** Changes the user's password in etcd; the file keeps the old one. */
    changePassword: (password: string) => asRoot('user/changepw', { name: 'pets', password }),
  };
}

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
  const logged = (event: string): Promise<void> =>
    until(() => lines.some((line) => line.includes(event)));
  return { ...cluster, store, auth, lines, logged };
}

interface Refusal {
  readonly fault: string;
  readonly cause: string;
  /** How a create ends; each call, if a user cannot read. */
  readonly outcome: 'refused' | 'no space';
  readonly canRead: boolean;
  /** Begins the fault, or ends it. */
  set(watched: Watched, isOn: boolean): unknown;
}

const alarm = (name: string) => ({
  ...{ fault: `the alarm ${name}`, canRead: true },
  set: ({ call }: Watched, isOn: boolean) => {
    const action = isOn ? 'ACTIVATE' : 'DEACTIVATE';
    return call('/v3/maintenance/alarm', { action, memberID: '0', alarm: name });
  },
});
const allowed = (right: 'READ' | 'NONE') => ({
  ...({ cause: 'permission denied', outcome: 'refused' } as const),
  set: ({ auth }: Watched, isOn: boolean) => auth?.permit(isOn ? right : 'READWRITE'),
});

/** The faults in which etcd refuses calls. */
const REFUSALS: readonly Refusal[] = [
  { ...alarm('NOSPACE'), cause: 'database space exceeded', outcome: 'no space' },
  { ...alarm('CORRUPT'), cause: 'corrupt cluster', outcome: 'refused' },
  { fault: 'no right to write', canRead: true, ...allowed('READ') },
  { fault: 'no right to read', canRead: false, ...allowed('NONE') },
  {
    ...{ fault: 'a wrong password', canRead: false, outcome: 'refused' },
    cause: 'Cannot log in: .*invalid user ID or password',
    set: ({ auth }, isOn) =>
      isOn ? auth?.changePassword('other') : writeFileSync(auth!.user.passwordFile, 'other'),
  },
];

describe('What real members refuse', { concurrency: 4 }, () => {
  for (const { fault, cause, outcome, canRead, set } of REFUSALS) {
    const what = `With ${fault} creates fail${canRead ? '' : ', and reads'}; its end is logged`;
    test(what, needsEtcd, async (t) => {
      const watched = await watch(t, 1, !fault.includes('alarm'));
      const { endpoints, store, auth, lines, logged } = watched;
      const creates = (): number => callsOf(store, { call: 'create', outcome });
      const message = new RegExp(cause);
      const start = { endpoints, ...auth?.user };
      await store.create(rex);
      lines.length = 0;
      await set(watched, true);
      await assert.rejects(store.create(rex), { ...REFUSED, message });
      assert.match(store.problem() ?? '', message);
      assert.equal(creates(), 1);
      if (canRead) {
        await assert.rejects(store.create(rex), REFUSED);
        assert.equal((await store.get(1n))?.name, 'Rex');
        // It is ready again without a create.
        await until(() => store.problem() === undefined);
        assert.equal((await openStore(t, start)).count().total, 1);
        assert.equal(await initEtcd(start), 'found');
      } else {
        await logged('The etcd cluster is out of reach');
        assert.match(store.problem() ?? '', message);
        assert.ok(callsOf(store, { call: 'read', outcome }) > 0);
        await assert.rejects(store.get(1n), { ...REFUSED, message });
        await assert.rejects(store.create(rex), REFUSED);
        assert.equal(creates(), 1, 'no create is proposed any more');
        const refused = new RegExp(`^The etcd cluster refuses: .*${cause}$`);
        await assert.rejects(openStore(t, start), { ...REFUSED, message: refused });
      }
      await set(watched, false);
      if (!canRead) await logged('The etcd cluster answers again');
      await until(() => store.problem() === undefined);
      assert.equal((await store.create(rex)).id, 2n);
      const outage = `error The .* out of reach .*${cause}\ninfo The .* answers again \n`;
      const ofReads = canRead ? '' : outage;
      const expected = `^error Creates fail .*${cause}\n${ofReads}info Creates are stored again $`;
      // On a busy machine reads may fail for a moment, too.
      const own = lines.filter((line) => !canRead || line.includes('Creates'));
      assert.match(own.join('\n'), new RegExp(expected));
    });
  }

  test('Without a majority reads are refused, until it is back', needsEtcd, async (t) => {
    const { members, store, logged } = await watch(t, 3);
    const [, second, third] = members;
    await Promise.all([second?.kill(), third?.kill()]);
    await assert.rejects(store.list({ limit: 1 }), REFUSED);
    await logged('The etcd cluster is out of reach');
    assert.match(store.problem() ?? '', /The etcd cluster cannot be used/);
    await assert.rejects(store.create(rex), REFUSED);
    assert.equal(callsOf(store, { call: 'create' }), 0, 'no create is proposed any more');
    second?.restart();
    await logged('The etcd cluster answers again');
    await until(() => store.problem() === undefined);
  });

  test('A pet that is too long for etcd is refused before it is sent', needsEtcd, async (t) => {
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

  test('Auth needs a user who may read the prefix', needsEtcd, async (t) => {
    const cluster = await startCluster(t, { size: 1 });
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
    // A member that is down does not keep the user from logging in to another one.
    const two = ['http://127.0.0.1:9', ...endpoints];
    const store = await openStore(t, { endpoints: two, ...user });
    assert.equal((await store.create(rex)).id, 1n);
    assert.equal(callsOf(store, { call: 'log in', outcome: 'answered' }), 1);
  });

  test('With TLS etcd and the store check certificates', needsEtcd, async (t) => {
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
    const expired = join(folder, 'expired.pem');
    writeFileSync(expired, EXPIRED_PEM);
    await Promise.all([
      assert.rejects(
        openStore(t, { ...options, clock, caFile: undefined }),
        /for 10 seconds: .*certificate/,
      ),
      assert.rejects(
        openStore(t, { ...options, clock, ...none }),
        /for 10 seconds: .*the member requires a client certificate/,
      ),
      assert.rejects(
        openStore(t, { ...options, clock, certFile: expired }),
        /the member refuses the client certificate, which is valid until Jan {2}2 00:00:00 2020/,
      ),
    ]);
    const store = await openFast(t, options);
    assert.equal((await store.create(rex)).id, 1n);
    // The files are read again for each connection.
    writeFileSync(cert, 'broken');
    await member?.kill();
    member?.restart();
    // A read finds that the connection is cut; a create would be in doubt.
    await assert.rejects(store.list({ limit: 1 }), REFUSED);
    await assert.rejects(store.create(rex), REFUSED);
    writeFileSync(cert, CERTIFICATE_PEM);
    // Creates are refused until a read finds the cluster.
    await until(() => store.problem() === undefined);
    assert.equal((await store.create(rex)).id, 2n);
  });
});
