/**
 * What etcd itself refuses: a pet that is too long, a request without a user, a connection without
 * a certificate. Each test has a cluster of one member.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/stores/etcd/etcd-clock.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { enableAuth } from '../../support/etcd/auth.ts';
import { startCluster, withoutEtcd } from '../../support/etcd/cluster.ts';
import {
  fastClock,
  openFast,
  openInitialized,
  openStore,
} from '../../support/etcd/opened-store.ts';
import { isWhole } from '../../support/extent.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { CERTIFICATE_PEM, KEY_PEM } from '../../support/process/certificate.ts';

const skip = withoutEtcd;
const rex = { name: 'Rex', categoryId: 1n } as const;

describe('What etcd refuses', { concurrency: 4 }, () => {
  test('A pet that is too long for etcd is refused before it is sent', { skip }, async (t) => {
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
    { skip },
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
      const clock = { ...systemClock, every: () => () => undefined };
      // A member that is down does not keep the user from logging in to another one.
      const two = ['http://127.0.0.1:9', ...endpoints];
      const store = await openStore(t, { endpoints: two, ...user, clock });
      const logIns = (): number | undefined =>
        store.stats().calls.find(({ call, outcome }) => call === 'log in' && outcome === 'answered')
          ?.value;
      assert.equal(logIns(), 1);
      await sleep(3_500);
      assert.equal((await store.create(rex)).id, 1n);
      assert.equal(logIns(), 2);
    },
  );

  test('With TLS etcd and the store check certificates', { skip }, async (t) => {
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
