/**
 * What etcd itself refuses: a pet that is too long, a request without a user, a connection without
 * a certificate. Each test has a cluster of one member; `openssl` makes the certificates.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/stores/etcd/etcd-clock.ts';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { enableAuth } from '../../support/etcd/auth.ts';
import { startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import { fastClock, openFast } from '../../support/etcd/fast-clock.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { isWhole } from '../../support/extent.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const withoutOpenssl: string | false =
  spawnSync('openssl', ['version']).status === 0 ? false : 'There is no openssl to test with';
const skip = withoutEtcd;
const rex = { name: 'Rex', categoryId: 1n } as const;

describe('What etcd refuses', { concurrency: 4 }, () => {
  test('A pet that is too long for etcd is refused before it is sent', { skip }, async (t) => {
    const { endpoints } = await startCluster(t, { size: 1 });
    const store = await openInitialized({ endpoints });
    t.after(() => store.close());
    const longest = { ...rex, name: 'x'.repeat(1 << 20) };
    const tooLong = { ...rex, name: 'x'.repeat((1 << 20) + 1024) };
    await assert.rejects(store.create(tooLong), { name: 'InvalidPetError' });
    assert.equal((await store.create(longest)).id, 1n);
    // Many together, with the longest at the end of a full commit.
    const many = Array.from({ length: 100 }, () => ({ ...rex, name: 'y'.repeat(640) }));
    await Promise.all([...many, longest].map((pet) => store.create(pet)));
    // More than a start reads at once.
    for (let i = 0; i < 19; i += 1) await store.create(isWhole ? longest : rex);
    const other = await openEtcdStore({ endpoints });
    t.after(() => other.close());
    assert.equal(other.count().total, 121);
  });

  test('A start with auth needs a user who may read the prefix', { skip }, async (t) => {
    const cluster = await startCluster(t, { size: 1 });
    const { user } = await enableAuth(t, cluster);
    const { endpoints } = cluster;
    await (await openInitialized({ endpoints, ...user })).close();
    const missing = { user: 'pets', passwordFile: `${user.passwordFile}.none` };
    for (const [options, expected] of [
      [{}, /refuses: .*user name is empty/],
      [{ ...user, prefix: 'other/' }, /refuses: .*permission denied/],
      [missing, /cannot be read: ENOENT/],
    ] as const) {
      await assert.rejects(openEtcdStore({ endpoints, ...options }), expected);
    }
    // A member that is down does not keep the user from logging in to another one.
    const two = ['http://127.0.0.1:9', ...endpoints];
    await (await openEtcdStore({ endpoints: two, ...user })).close();
  });

  test('An expired token is renewed, and callers do not notice', { skip }, async (t) => {
    const cluster = await startCluster(t, { size: 1, args: ['--auth-token-ttl', '1'] });
    const { user } = await enableAuth(t, cluster);
    const options = { endpoints: cluster.endpoints, ...user };
    // An idle store reads once a second, which would keep the token valid: this one does not.
    const clock = { ...systemClock, every: () => () => undefined };
    await initEtcd(options);
    const store = await openEtcdStore({ ...options, clock });
    t.after(() => store.close());
    const logIns = (): number | undefined =>
      store.stats().calls.find(({ call, outcome }) => call === 'log in' && outcome === 'answered')
        ?.value;
    assert.equal(logIns(), 1);
    await sleep(3_500);
    assert.equal((await store.create(rex)).id, 1n);
    assert.equal(logIns(), 2);
  });

  const skipTls = withoutEtcd || withoutOpenssl;
  test('With TLS etcd and the store check certificates', { skip: skipTls }, async (t) => {
    const files = makeCertificates(tempDir(t));
    const args = [
      ...['--cert-file', files.serverCert, '--key-file', files.serverKey],
      ...['--client-cert-auth', '--trusted-ca-file', files.ca],
    ];
    const { endpoints, members } = await startCluster(t, { size: 1, args, isSecure: true });
    const [member] = members;
    const options = {
      ...{ endpoints, clock: fastClock },
      ...{ caFile: files.ca, certFile: files.clientCert, keyFile: files.clientKey },
    };
    await initEtcd({ ...options, clock: systemClock });
    await Promise.all(
      [
        { ...options, caFile: undefined },
        { ...options, certFile: undefined, keyFile: undefined },
        { ...options, certFile: files.expiredCert },
      ].map((wrong, index) => {
        const cause = index === 0 ? /for 10 seconds: .*certificate/ : /for 10 seconds/;
        return assert.rejects(openEtcdStore(wrong), cause);
      }),
    );
    const store = await openFast((clock) => openEtcdStore({ ...options, clock }));
    t.after(() => store.close());
    assert.equal((await store.create(rex)).id, 1n);
    // The files are read again for each connection.
    const good = readFileSync(files.clientCert);
    for (const bad of ['broken', readFileSync(files.expiredCert)]) {
      writeFileSync(files.clientCert, bad);
      await member?.kill();
      member?.restart();
      // A read finds that the connection is cut; a create would be in doubt.
      await assert.rejects(store.list({ limit: 1 }), { name: 'StoreUnavailableError' });
      await assert.rejects(store.create(rex), { name: 'StoreUnavailableError' });
    }
    writeFileSync(files.clientCert, good);
    // Creates are refused until a read finds the cluster.
    while (store.problem() !== undefined) await sleep(20);
    assert.equal((await store.create(rex)).id, 2n);
  });
});

/** Makes an authority, and certificates of a server and of a client without a common name. */
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
    ...['req', '-x509', ...key, '-keyout', 'ca.key'],
    ...['-out', 'ca.pem', '-subj', '/O=test', '-days', '2'],
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
  // Valid until now.
  sign('client', 'expired.pem', '0');
  return {
    ...{ ca: path('ca.pem'), serverCert: path('server.pem'), serverKey: path('server.key') },
    ...{ clientCert: path('client.pem'), clientKey: path('client.key') },
    expiredCert: path('expired.pem'),
  };
}
