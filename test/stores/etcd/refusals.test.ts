/**
 * What the etcd store reports if real members refuse calls: rows of the table in its README. The
 * others are held on simulated members (the scripts, start.test.ts, client.test.ts). And what etcd
 * always refuses: no user, no certificate.
 */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { stringifyPet } from '../../../src/core/pets/pet.ts';
import { gateway, needsEtcd, rangeOf, startCluster } from '../../support/etcd/cluster.ts';
import {
  idle,
  init,
  jumpingClock,
  openStore,
  REFUSED,
  rex,
  standingClock,
} from '../../support/etcd/opened-store.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { measured } from '../../support/measured.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { CERTIFICATE_PEM, EXPIRED_PEM, KEY_PEM } from '../../support/process/certificate.ts';

const PASSWORD = 'pässword "1"';

/** Turns auth on, with the right to read and write the prefix `petstore/`. */
async function enableAuth(t: TestContext, endpoint = '') {
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
  const grant = (permType: string) => ({ name: 'pets', perm: { permType, ...range } });
  for (const [name, password] of Object.entries({ root: 'root', pets: PASSWORD })) {
    await call('user/add', { name, password });
    await call('role/add', { name });
    await call('user/grant', { user: name, role: name });
  }
  await call('role/grant', grant('READWRITE'));
  await call('enable', {});
  const passwordFile = join(tempDir(t), 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  return {
    /** What a store of the user is opened with. */
    user: { user: 'pets', passwordFile },
    /** Lets the user read the prefix, read and write it, or neither. */
    async permit(permType: 'READ' | 'READWRITE' | 'NONE'): Promise<void> {
      if (permType === 'NONE') await asRoot('role/revoke', { role: 'pets', ...range });
      else await asRoot('role/grant', grant(permType));
    },
    /** Changes the user's password in etcd; the file keeps the old one. */
    changePassword: (password: string) => asRoot('user/changepw', { name: 'pets', password }),
    disable: () => asRoot('disable', {}),
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

async function open(t: TestContext, hasAuth = false) {
  const cluster = await startCluster(t, { size: 1 });
  const auth = hasAuth ? await enableAuth(t, cluster.endpoints[0]) : undefined;
  const options = { endpoints: cluster.endpoints, ...auth?.user };
  await init(options);
  const time = new TestClock();
  const store = await openStore(t, { ...options, clock: standingClock(time) });
  return { ...cluster, options, auth, time, store };
}

/** How long a read is retried. */
const READ_MS = 5_000;

/** A fault in which etcd refuses calls: of creates only, or all. */
interface Refusal {
  readonly cause: string;
  readonly canRead: boolean;
  /** Begins the fault, or ends it. */
  set(isOn: boolean): unknown;
}

/** Checks what a store, which has pets, does while etcd refuses its calls, and afterwards. */
async function expectFault(t: TestContext, opened: Opened, { cause, canRead, set }: Refusal) {
  const { options, time, store } = opened;
  const { total } = store.count();
  await set(true);
  // The cause names an endpoint, and perhaps a file.
  await assert.rejects(store.create(rex), { ...REFUSED, message: /: the log shows the cause$/ });
  if (canRead) {
    assert.equal((await store.get(1n))?.text, stringifyPet({ id: 1n, ...rex }));
    assert.equal((await openStore(t, options)).count().total, total);
    assert.equal(await init(options), 'found');
  } else {
    const refused = new RegExp(`^The etcd cluster refuses: .*${cause}$`);
    await assert.rejects(openStore(t, options), { ...REFUSED, message: refused });
  }
  await set(false);
  await idle(time);
  // After so long the password is sent again.
  await time.pass(10_000);
  await until(() => store.unreadiness() === undefined);
  assert.equal((await store.create(rex)).id, BigInt(total + 1));
}

describe('What real members refuse', { concurrency: 4 }, () => {
  test('Under an alarm creates fail, and reads go on', needsEtcd, async (t) => {
    const opened = await open(t);
    await opened.store.create(rex);
    for (const [alarm, cause] of [
      ['NOSPACE', 'database space exceeded'],
      ['CORRUPT', 'corrupt cluster'],
    ] as const) {
      const set = (isOn: boolean): unknown => {
        const action = isOn ? 'ACTIVATE' : 'DEACTIVATE';
        return opened.call('/v3/maintenance/alarm', { action, memberID: '0', alarm });
      };
      await expectFault(t, opened, { cause, canRead: true, set });
    }
  });

  test('Without a right creates fail, or all, and with a wrong password', needsEtcd, async (t) => {
    const opened = await open(t, true);
    const { auth, options, store } = opened;
    const { permit, changePassword, disable, user } = auth!;
    await store.create(rex);
    for (const right of ['READ', 'NONE'] as const) {
      const set = (isOn: boolean) => permit(isOn ? right : 'READWRITE');
      const canRead = right === 'READ';
      await expectFault(t, opened, { cause: 'permission denied', canRead, set });
    }
    const { endpoints } = options;
    const missing = { ...options, passwordFile: `${user.passwordFile}.none` };
    for (const [wrong, expected] of [
      [{ endpoints }, /refuses: .*user name is empty/],
      [{ ...options, prefix: 'other/' }, /refuses: .*permission denied/],
      [missing, /cannot be read: ENOENT/],
    ] as const) {
      await assert.rejects(openStore(t, wrong), expected);
    }
    // A member that is down does not keep the user from logging in to another one.
    const two = await openStore(t, { ...options, endpoints: ['http://127.0.0.1:9', ...endpoints] });
    assert.equal((await two.create(rex)).id, 4n);
    assert.equal(measured(two, 'etcd_calls_total', { call: 'log in', outcome: 'answered' }), 1);
    const cause = 'Cannot log in: .*invalid user ID or password';
    const set = (isOn: boolean): unknown =>
      isOn ? changePassword('other') : writeFileSync(user.passwordFile, 'other');
    await store.get(1n);
    await expectFault(t, opened, { cause, canRead: false, set });
    // If auth is turned off, the user needs no password.
    await disable();
    for (const one of [store, await openStore(t, options)]) await one.create(rex);
  });

  test('The longest pet fits at the end of a full commit', needsEtcd, async (t) => {
    const { store } = await open(t);
    const many = Array.from({ length: 90 }, () => ({ ...rex, name: 'y'.repeat(640) }));
    const longest = { ...rex, name: 'x'.repeat(1 << 20) };
    await Promise.all([...many, longest, longest].map((pet) => store.create(pet)));
    assert.equal(store.count().total, 92);
  });

  test('With TLS etcd and the store check certificates', needsEtcd, async (t) => {
    const folder = tempDir(t);
    const fileOf = (name: string, pem: string): string => {
      writeFileSync(join(folder, name), pem);
      return join(folder, name);
    };
    // The certificate is its own authority, and that of both sides.
    const [ca, certFile] = ['ca', 'cert'].map((name) => fileOf(name, CERTIFICATE_PEM));
    const keyFile = fileOf('key', KEY_PEM);
    const args = ['--cert-file', ca!, '--key-file', keyFile, '--client-cert-auth'];
    args.push('--trusted-ca-file', ca!);
    const { endpoints, members } = await startCluster(t, { size: 1, args, isSecure: true });
    const options = { endpoints, caFile: ca, certFile, keyFile };
    await init(options);
    const { privateKey: other } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const otherKey = fileOf('other', other.export({ type: 'pkcs8', format: 'pem' }) as string);
    const refused = [
      [{ caFile: undefined }, /for 10 seconds: .*certificate/],
      [{ keyFile: otherKey }, /^Error: The certificates for etcd cannot be used: .*mismatch/],
      [{ certFile: undefined, keyFile: undefined }, /the member requires a client certificate/],
      [
        { certFile: fileOf('expired', EXPIRED_PEM) },
        /the member refuses the client certificate, which is valid until Jan {2}2 00:00:00 2020/,
      ],
    ] as const;
    const rejections = refused.map(([wrong, expected]) =>
      assert.rejects(openStore(t, { ...options, clock: jumpingClock(), ...wrong }), expected),
    );
    await Promise.all(rejections);
    const time = new TestClock();
    const store = await openStore(t, { ...options, clock: standingClock(time) });
    assert.equal((await store.create(rex)).id, 1n);
    // The files are read again for each connection.
    fileOf('cert', 'broken');
    await members[0]?.kill();
    members[0]?.restart();
    // A read finds that the connection is cut; a create would be in doubt.
    const unsent = { call: 'read', outcome: 'unsent' };
    const read = assert.rejects(async () => store.get(1n), REFUSED);
    await until(() => measured(store, 'etcd_calls_total', unsent) > 0);
    await idle(time);
    await time.pass(READ_MS);
    await read;
    await assert.rejects(store.create(rex), REFUSED);
    fileOf('cert', CERTIFICATE_PEM);
    // Creates are refused until a read finds the cluster.
    await until(() => store.unreadiness() === undefined);
    assert.equal((await store.create(rex)).id, 2n);
  });
});
