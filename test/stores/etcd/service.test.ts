/** The service itself on etcd: real processes that share a log, are killed, stop and lose it. */

import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { rangeOf, clusterOfFile, needsEtcd } from '../../support/etcd/cluster.ts';
import { startLinks } from '../../support/etcd/link.ts';
import { init, STANDING_CLOCK } from '../../support/etcd/opened-store.ts';
import { rounds } from '../../support/extent.ts';
import {
  addPet,
  end,
  KEY,
  listPets,
  startFor,
  type Process,
} from '../../support/process/process.ts';
import { until } from '../../support/until.ts';

const cluster = await clusterOfFile(rounds(1, 3));
const { endpoints } = cluster;

/** Starts a service, on a log that is made first, if it does not exist. */
async function start(t: TestContext, prefix: string, urls = endpoints): Promise<Process> {
  await init({ endpoints, prefix });
  const env = { PETSTORE_API_KEYS: KEY, PETSTORE_ETCD_PREFIX: prefix };
  return startFor(t, ['--port', '0', '--etcd', urls.join(',')], { env, hook: STANDING_CLOCK });
}

describe('The service on etcd', { concurrency: 3 }, () => {
  test('Two processes are one service, and one survives the other', needsEtcd, async (t) => {
    const services = [await start(t, 'two/'), await start(t, 'two/')] as const;
    const [a = '', b = ''] = await Promise.all(services.map((service) => service.ready()));
    const backend = `"etcd":"${endpoints.join()}","prefix":"two/"`;
    assert.ok(services[0].stderr().includes(backend), services[0].stderr());
    const created = await addPet(a);
    assert.equal(created.status, 201);
    assert.equal(await (await listPets(b)).text(), `[${await created.text()}]`);
    await end(services[0], 'SIGKILL');
    assert.equal((await addPet(b)).status, 201);
    assert.match(await (await listPets(b)).text(), /"id":1,[^]*"id":2,/);
    const headers = { Authorization: `Bearer ${KEY}` };
    const metrics = await (await fetch(`${b}/metrics`, { headers })).text();
    assert.match(metrics, /_calls_total\{call="create",.*,endpoint="http:[^"]*"\} 1$/m);
    assert.match(metrics, /petstore_etcd_barrier_duration_seconds_count [1-9]/);
    assert.equal(await end(services[1], 'SIGTERM'), 0);
  });

  test('A stop answers a create in doubt before it ends', needsEtcd, async (t) => {
    const links = await startLinks(t, endpoints);
    const urls = links.map(({ endpoint }) => endpoint);
    const service = await start(t, 'stop/', urls);
    const url = await service.ready();
    for (const link of links) link.set('deaf');
    const response = addPet(url);
    // The meta key, and the slot: the create is proposed, and gets no response.
    const keys = { ...rangeOf('stop/'), count_only: true };
    await until(async () => (await cluster.call('/v3/kv/range', keys)).includes('"count":"2"'));
    service.child.kill('SIGTERM');
    assert.equal((await response).status, 500);
    assert.match(await (await response).text(), /outcome_unknown/);
    assert.equal(await service.exit(), 0);
  });

  test('A service whose log is deleted ends with 1, and logs the cause', needsEtcd, async (t) => {
    const service = await start(t, 'gone/');
    await service.ready();
    await cluster.call('/v3/kv/deleterange', rangeOf('gone/'));
    // An idle service notices it, too, since it reads once a second.
    assert.equal(await service.exit(), 1);
    assert.match(service.stderr(), /"error",.*"cause":"The log under gone\/ is not the one/);
  });
});
