/**
 * What the etcd store reports if real members refuse calls, or have no majority: rows of the table
 * in its README. The others are held on simulated members (in-doubt.script, lost-log.script,
 * start.test.ts, client.test.ts) and after a restore (restored.test.ts). And what etcd always
 * refuses: a pet that is too long, no user, no certificate.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringifyPet } from '../../../src/core/pets/pet.ts';
import type { CallCount } from '../../../src/extras/etcd/calls.ts';
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
import { isWhole } from '../../support/extent.ts';
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
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

async function open(t: TestContext, size: number, hasAuth = false) {
  const cluster = await startCluster(t, { size });
  const auth = hasAuth ? await enableAuth(t, cluster.endpoints[0]) : undefined;
  const options = { endpoints: cluster.endpoints, ...auth?.user };
  await init(options);
  const time = new TestClock();
  const store = await openStore(t, { ...options, clock: standingClock(time) });
  return { ...cluster, options, auth, time, store };
}

/** How long a read is retried, and a failure is the store's. */
const READ_MS = 5_000;

/** Reads, which is retried, and refused with this error when its time is over. */
async function expectRefusal(
  { store, time }: Pick<Opened, 'store' | 'time'>,
  outcome: CallCount['outcome'],
  error: object,
): Promise<void> {
  const read = assert.rejects(async () => store.get(1n), error);
  await until(() => measured(store, 'etcd_calls_total', { call: 'read', outcome }) > 0);
  await idle(time);
  await time.pass(READ_MS);
  const late = nextTurn().then(() => assert.fail('The read is not refused in time'));
  await Promise.race([read, late]);
}

/** Waits until the store is ready. */
const ready = ({ store }: Opened): Promise<void> => until(() => store.unreadiness() === undefined);

/** Begins a fault, or ends it. */
type SetFault = (opened: Opened, isOn: boolean) => unknown;

const alarm =
  (name: string): SetFault =>
  ({ call }, isOn) => {
    const action = isOn ? 'ACTIVATE' : 'DEACTIVATE';
    return call('/v3/maintenance/alarm', { action, memberID: '0', alarm: name });
  };
const allow =
  (right: 'READ' | 'NONE'): SetFault =>
  ({ auth }, isOn) =>
    auth?.permit(isOn ? right : 'READWRITE');
const setPassword: SetFault = ({ auth }, isOn) =>
  isOn ? auth?.changePassword('other') : writeFileSync(auth!.user.passwordFile, 'other');

/** The faults in which etcd refuses calls: of creates only, or all. */
const REFUSALS: readonly [fault: string, cause: string, canRead: boolean, SetFault][] = [
  ['the alarm NOSPACE', 'database space exceeded', true, alarm('NOSPACE')],
  ['the alarm CORRUPT', 'corrupt cluster', true, alarm('CORRUPT')],
  ['no right to write', 'permission denied', true, allow('READ')],
  ['no right to read', 'permission denied', false, allow('NONE')],
  ['a wrong password', 'Cannot log in: .*invalid user ID or password', false, setPassword],
];

describe('What real members refuse', { concurrency: 4 }, () => {
  for (const [fault, cause, canRead, set] of REFUSALS) {
    test(`With ${fault} creates fail${canRead ? '' : ', and reads'}`, needsEtcd, async (t) => {
      const opened = await open(t, 1, !fault.includes('alarm'));
      const { options, time, store } = opened;
      const outcome = fault.includes('NOSPACE') ? 'no space' : 'refused';
      const message = new RegExp(cause);
      await store.create(rex);
      await set(opened, true);
      await assert.rejects(store.create(rex), { ...REFUSED, message });
      assert.match(store.unreadiness() ?? '', message);
      if (canRead) {
        assert.equal((await store.get(1n))?.text, stringifyPet({ id: 1n, ...rex }));
        await idle(time);
        // It is ready again without a create.
        await time.pass(READ_MS);
        assert.equal(store.unreadiness(), undefined);
        assert.equal((await openStore(t, options)).count().total, 1);
        assert.equal(await init(options), 'found');
      } else {
        await expectRefusal(opened, outcome, { ...REFUSED, message });
        assert.match(store.unreadiness() ?? '', /^The etcd cluster cannot be used/);
        assert.match(store.unreadiness() ?? '', message);
        await assert.rejects(store.create(rex), REFUSED);
        const refused = new RegExp(`^The etcd cluster refuses: .*${cause}$`);
        await assert.rejects(openStore(t, options), { ...REFUSED, message: refused });
      }
      assert.equal(
        measured(store, 'etcd_calls_total', { call: 'create', outcome }),
        1,
        'the others are not proposed',
      );
      await set(opened, false);
      await idle(time);
      // After so long the password is sent again.
      await time.pass(10_000);
      await ready(opened);
      assert.equal((await store.create(rex)).id, 2n);
    });
  }

  test('Without a majority reads are refused, until it is back', needsEtcd, async (t) => {
    const opened = await open(t, 3);
    const { members, time, store } = opened;
    const [first, second, third] = members;
    await Promise.all([second?.kill(), third?.kill()]);
    let isRefused = false;
    const read = assert.rejects(async () => store.list({ limit: 1 }), REFUSED);
    void read.finally(() => (isRefused = true));
    // The first member responds to nothing that needs a leader.
    const isOut = (): boolean =>
      isRefused && store.unreadiness()?.startsWith('The etcd cluster cannot be used') === true;
    for (; !isOut(); await nextTurn()) await time.pass(250);
    await read;
    await assert.rejects(store.create(rex), REFUSED);
    assert.equal(
      measured(store, 'etcd_calls_total', { call: 'create' }),
      0,
      'no create is proposed any more',
    );
    second?.restart();
    await opened.ready([first!, second!]);
    // Ends the requests that were sent before.
    await time.pass(READ_MS);
    await ready(opened);
  });

  test('A pet that is too long for etcd is refused before it is sent', needsEtcd, async (t) => {
    const { options, store } = await open(t, 1);
    const longest = { ...rex, name: 'x'.repeat(1 << 20) };
    const tooLong = { ...rex, name: 'x'.repeat((1 << 20) + 1024) };
    await assert.rejects(store.create(tooLong), { name: 'InvalidPetError' });
    assert.equal((await store.create(longest)).id, 1n);
    // Many together, with the longest at the end of a full commit.
    const many = Array.from({ length: 100 }, () => ({ ...rex, name: 'y'.repeat(640) }));
    await Promise.all([...many, longest].map((pet) => store.create(pet)));
    // More than a start reads at once.
    for (let i = 0; i < 19; i += 1) await store.create(isWhole ? longest : rex);
    assert.equal((await openStore(t, options)).count().total, 121);
  });

  test('Auth needs a user who may read the prefix', needsEtcd, async (t) => {
    const { options, auth } = await open(t, 1, true);
    const { endpoints } = options;
    const missing = { ...options, passwordFile: `${auth?.user.passwordFile}.none` };
    for (const [wrong, expected] of [
      [{ endpoints }, /refuses: .*user name is empty/],
      [{ ...options, prefix: 'other/' }, /refuses: .*permission denied/],
      [missing, /cannot be read: ENOENT/],
    ] as const) {
      await assert.rejects(openStore(t, wrong), expected);
    }
    // A member that is down does not keep the user from logging in to another one.
    const two = ['http://127.0.0.1:9', ...endpoints];
    const store = await openStore(t, { ...options, endpoints: two });
    assert.equal((await store.create(rex)).id, 1n);
    assert.equal(measured(store, 'etcd_calls_total', { call: 'log in', outcome: 'answered' }), 1);
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
    const refused = [
      [{ caFile: undefined }, /for 10 seconds: .*certificate/],
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
    await expectRefusal({ store, time }, 'unsent', REFUSED);
    await assert.rejects(store.create(rex), REFUSED);
    fileOf('cert', CERTIFICATE_PEM);
    // Creates are refused until a read finds the cluster.
    await until(() => store.unreadiness() === undefined);
    assert.equal((await store.create(rex)).id, 2n);
  });
});
