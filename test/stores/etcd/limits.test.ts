/**
 * What etcd itself may refuse: it is full, it wants a user, it wants a certificate. Each has a
 * cluster of one member, and TLS its certificates by `openssl`.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredPet } from '../../../src/model/pet.ts';
import { systemClock } from '../../../src/stores/etcd/etcd-clock.ts';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { gateway, startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const withoutOpenssl: string | false =
  spawnSync('openssl', ['version']).status === 0 ? false : 'There is no openssl to test with';

const rex = { name: 'Rex', categoryId: 1n } as const;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

test(
  'An etcd that is full takes no pets, gives all it has, and heals',
  { skip: withoutEtcd },
  async (t) => {
    const args = ['--quota-backend-bytes', String(1 << 20)];
    const { endpoints } = await startCluster(t, { size: 1, args });
    const call = async (path: string, body: object): Promise<string> =>
      gateway(endpoints[0] ?? '', path, JSON.stringify(body));
    const store = await openInitialized({ endpoints });
    t.after(() => store.close());
    await store.create(rex);
    for (let i = 0; i < 3; i += 1) {
      await call('/v3/kv/put', { key: base64(`fill/${i}`), value: base64('x'.repeat(400_000)) });
    }
    await assert.rejects(
      async () => {
        for (let i = 0; i < 100; i += 1) await store.create({ ...rex, name: 'x'.repeat(50_000) });
      },
      { name: 'StoreUnavailableError', message: /database space exceeded/ },
    );
    const { total } = store.count();
    assert.equal((await store.list({ limit: 1000 })).pets.length, total);
    assert.equal((await store.get(1n))?.name, 'Rex');
    // What an operator does: make room, and tell etcd so.
    const range = { key: base64('fill/'), range_end: base64('fill0') };
    const deleted = await call('/v3/kv/deleterange', range);
    const { header } = JSON.parse(deleted) as { readonly header: { readonly revision: string } };
    await call('/v3/kv/compaction', { revision: header.revision, physical: true });
    await call('/v3/maintenance/defragment', {});
    const found = JSON.parse(await call('/v3/maintenance/alarm', { action: 'GET' })) as {
      readonly alarms: readonly { readonly memberID: string; readonly alarm: string }[];
    };
    for (const alarm of found.alarms) {
      await call('/v3/maintenance/alarm', { action: 'DEACTIVATE', ...alarm });
    }
    const { id } = await store.create(rex);
    assert.equal(id, BigInt(total) + 1n);
  },
);

test(
  'A pet that etcd cannot take is refused before it is sent',
  { skip: withoutEtcd },
  async (t) => {
    const { endpoints } = await startCluster(t, { size: 1 });
    const store = await openInitialized({ endpoints });
    t.after(() => store.close());
    const longest = { ...rex, name: 'x'.repeat(1 << 20) };
    await assert.rejects(store.create({ ...rex, name: 'x'.repeat((1 << 20) + 1024) }), {
      name: 'InvalidPetError',
    });
    assert.equal((await store.create(longest)).id, 1n);
    // Many of them together, and one at the end of a full commit.
    const many = Array.from({ length: 100 }, () => ({ ...rex, name: 'y'.repeat(640) }));
    await Promise.all([...many, longest].map((pet) => store.create(pet)));
    for (let i = 0; i < 19; i += 1) await store.create(longest);
    // They are read in several answers.
    const other = await openEtcdStore({ endpoints });
    t.after(() => other.close());
    assert.equal(other.count().total, 121);
  },
);

test(
  "With etcd's auth on, a user is needed, and a token may be refused",
  { skip: withoutEtcd },
  async (t) => {
    const { endpoints } = await startCluster(t, { size: 1 });
    const passwordFile = await enableAuth(t, endpoints[0] ?? '', 'pässword "1"');
    const call = await asRoot(endpoints[0] ?? '');
    const user = { user: 'pets', passwordFile };
    const store = await openInitialized({ endpoints, ...user });
    t.after(() => store.close());
    assert.equal((await store.create(rex)).id, 1n);
    // A new password: the old token is good no more.
    await call('/v3/auth/user/changepw', { name: 'pets', password: 'other' });
    await assert.rejects(store.create(rex), { name: 'StoreUnavailableError', message: /log in/ });
    writeFileSync(passwordFile, 'other');
    assert.equal((await store.create(rex)).id, 2n);
    assert.equal((await store.list({ limit: 5 })).pets.length, 2);

    // Where the first endpoint is down, the others log in.
    const beside = await openEtcdStore({
      endpoints: ['http://127.0.0.1:9', ...endpoints],
      ...user,
    });
    assert.equal(beside.count().total, 2);
    await beside.close();

    await assert.rejects(openEtcdStore({ endpoints }), /refuses: .*user name is empty/);
    await assert.rejects(
      openEtcdStore({ endpoints, ...user, prefix: 'other/' }),
      /permission denied/,
    );
    writeFileSync(passwordFile, 'wrong');
    await assert.rejects(
      openEtcdStore({ endpoints, ...user }),
      /Cannot log in: .*authentication failed/,
    );
    const missing = { user: 'pets', passwordFile: `${passwordFile}.none` };
    await assert.rejects(openEtcdStore({ endpoints, ...missing }), /cannot be read: ENOENT/);
  },
);

test('A token that has expired is renewed, unseen by callers', { skip: withoutEtcd }, async (t) => {
  const { endpoints } = await startCluster(t, { size: 1, args: ['--auth-token-ttl', '1'] });
  const passwordFile = await enableAuth(t, endpoints[0] ?? '', 'secret');
  // A store that is idle looks once a second, and a token that is used lives on: this one does not.
  const clock = { ...systemClock, every: () => () => undefined };
  await initEtcd({ endpoints, user: 'pets', passwordFile });
  const store = await openEtcdStore({ endpoints, user: 'pets', passwordFile, clock });
  t.after(() => store.close());
  const logIns = (): number =>
    store.stats().calls.find(({ call, outcome }) => call === 'log in' && outcome === 'answered')
      ?.value ?? 0;
  assert.equal(logIns(), 1);
  await sleep(3_500);
  assert.equal((await store.create(rex)).id, 1n);
  assert.equal(logIns(), 2);
  await sleep(3_500);
  assert.equal((await store.list({ limit: 5 })).pets.length, 1);
  assert.equal(logIns(), 3);
});

test(
  'With TLS both sides show certificates',
  { skip: withoutEtcd || withoutOpenssl },
  async (t) => {
    const folder = tempDir(t);
    const files = makeCertificates(folder);
    const args = [
      ...['--cert-file', files.serverCert, '--key-file', files.serverKey],
      ...['--client-cert-auth', '--trusted-ca-file', files.ca],
    ];
    const { endpoints, members } = await startCluster(t, { size: 1, args, isSecure: true });
    const [member] = members;
    assert.ok(member);
    const options = { endpoints, caFile: files.ca };
    const withClient = { ...options, certFile: files.clientCert, keyFile: files.clientKey };
    const store = await openInitialized(withClient);
    t.after(() => store.close());
    assert.equal((await store.create(rex)).id, 1n);
    assert.equal((await store.get(1n))?.name, 'Rex');
    const refusals = await Promise.allSettled([
      openEtcdStore({ endpoints, certFile: files.clientCert, keyFile: files.clientKey }),
      openEtcdStore(options),
      openEtcdStore({ ...withClient, certFile: files.expiredCert }),
    ]);
    const [noAuthority, noCertificate, expired] = refusals.map((refusal) => {
      assert.equal(refusal.status, 'rejected');
      return String(refusal.status === 'rejected' && refusal.reason);
    });
    assert.match(noAuthority ?? '', /gives no answer within 10 seconds: .*certificate/);
    assert.match(noCertificate ?? '', /gives no answer within 10 seconds/);
    assert.match(expired ?? '', /gives no answer within 10 seconds/);
    // Whatever lies there when a connection is made is used, without a restart.
    const good = readFileSync(files.clientCert);
    const reconnect = async (): Promise<void> => {
      await member.kill();
      member.restart();
    };
    writeFileSync(files.clientCert, 'broken');
    await reconnect();
    // A read may find that the connection is cut; a create would be in doubt.
    await assert.rejects(store.list({ limit: 1 }), { name: 'StoreUnavailableError' });
    await assert.rejects(store.create(rex), { name: 'StoreUnavailableError' });
    writeFileSync(files.clientCert, readFileSync(files.expiredCert));
    await assert.rejects(store.create(rex), { name: 'StoreUnavailableError' });
    writeFileSync(files.clientCert, good);
    // Creates are refused until a read has found the cluster again.
    let created: StoredPet | undefined;
    while (created === undefined) {
      created = await store.create(rex).catch(() => undefined);
      await sleep(100);
    }
    assert.equal(created.id, 2n);
  },
);

type Call = (path: string, body: object) => Promise<string>;

/** Calls that fail the test where etcd refuses them; with the token that the last log-in gave. */
function calls(endpoint: string): Call {
  let token: string | undefined;
  return async (path, body) => {
    const text = await gateway(endpoint, path, JSON.stringify(body), token);
    assert.doesNotMatch(text, /"error"/, `${path}: ${text}`);
    if (path.endsWith('/authenticate')) token = (JSON.parse(text) as { token: string }).token;
    return text;
  };
}

async function asRoot(endpoint: string): Promise<Call> {
  const call = calls(endpoint);
  await call('/v3/auth/authenticate', { name: 'root', password: 'root' });
  return call;
}

/** Turns etcd's auth on, with a user `pets`; resolves with the file that has its password. */
async function enableAuth(t: TestContext, endpoint: string, password: string): Promise<string> {
  const call = calls(endpoint);
  const perm = { permType: 'READWRITE', key: base64('petstore/'), range_end: base64('petstore0') };
  await call('/v3/auth/user/add', { name: 'root', password: 'root' });
  await call('/v3/auth/role/add', { name: 'root' });
  await call('/v3/auth/user/grant', { user: 'root', role: 'root' });
  await call('/v3/auth/user/add', { name: 'pets', password });
  await call('/v3/auth/role/add', { name: 'pets' });
  await call('/v3/auth/role/grant', { name: 'pets', perm });
  await call('/v3/auth/user/grant', { user: 'pets', role: 'pets' });
  await call('/v3/auth/enable', {});
  const passwordFile = join(tempDir(t), 'password');
  writeFileSync(passwordFile, `${password}\n`);
  return passwordFile;
}

/** An authority, and certificates of a server and of a client, which has no common name. */
function makeCertificates(
  folder: string,
): Record<'ca' | 'serverCert' | 'serverKey' | 'clientCert' | 'clientKey' | 'expiredCert', string> {
  const path = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-subj',
    '/O=test',
    '-days',
    '2',
  );
  writeFileSync(
    path('server.ext'),
    'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n',
  );
  writeFileSync(path('client.ext'), 'extendedKeyUsage=clientAuth\n');
  const sign = (name: string, out: string, days: string): void =>
    openssl(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key'],
      ...['-CAcreateserial', '-days', days, '-extfile', `${name}.ext`, '-out', out],
    );
  for (const name of ['server', 'client']) {
    openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/O=${name}`);
    sign(name, `${name}.pem`, '2');
  }
  // Good until now.
  sign('client', 'expired.pem', '0');
  return {
    ...{ ca: path('ca.pem'), serverCert: path('server.pem'), serverKey: path('server.key') },
    ...{ clientCert: path('client.pem'), clientKey: path('client.key') },
    expiredCert: path('expired.pem'),
  };
}
