/** The service itself on etcd: two real processes, one killed. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { gateway, startCluster, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { startLink } from '../../support/etcd/link.ts';
import { end, KEY, startProcess, type Process } from '../../support/process/process.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const cluster: Cluster | undefined =
  withoutEtcd === false ? await startCluster({ after }) : undefined;
const endpoints = cluster?.endpoints ?? [];
const skip = withoutEtcd;

function start(
  t: TestContext,
  prefix: string,
  env: Record<string, string> = {},
  args: readonly string[] = ['--etcd', endpoints.join(',')],
): Process {
  const service = startProcess(['--port', '0', ...args], {
    PETSTORE_API_KEYS: KEY,
    PETSTORE_ETCD_PREFIX: prefix,
    ...env,
  });
  t.after(() => end(service, 'SIGKILL'));
  return service;
}

async function call(url: string, init: RequestInit = {}): Promise<[number, string, Headers]> {
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  const answer = await fetch(url, { ...init, headers: { ...headers, ...init.headers } });
  return [answer.status, await answer.text(), answer.headers];
}

const post = (name: string, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify({ name, categoryId: 1 }),
  headers,
});

test('The greeting and the log say where the pets are', { skip }, async (t) => {
  await initEtcd({ endpoints, prefix: 'greeting/' });
  const service = start(t, 'greeting/');
  await service.ready();
  const place = `keeps its pets in etcd at ${endpoints.join(', ')}, under greeting/`;
  assert.ok(service.stdout().includes(place), service.stdout());
  assert.match(service.stderr(), /"event":"Started".*"prefix":"greeting\/"|"prefix":"greeting\/"/);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

test(
  'Two processes are one service, and one goes on when the other is killed',
  { skip },
  async (t) => {
    await initEtcd({ endpoints, prefix: 'two/' });
    const services = [start(t, 'two/'), start(t, 'two/')] as const;
    const [a, b] = await Promise.all(services.map((service) => service.ready()));
    const created = await call(`${a}/v1/pets`, post('Rex', { 'Idempotency-Key': 'k1' }));
    assert.equal(created[0], 201);
    assert.deepEqual((await call(`${b}/v1/pets/1`)).slice(0, 2), [200, created[1]]);
    // The answer of the first may be lost: a retry reaches the other process.
    const [status, text, headers] = await call(
      `${b}/v1/pets`,
      post('Rex', { 'Idempotency-Key': 'k1' }),
    );
    assert.deepEqual([status, text], [201, created[1]]);
    assert.equal(headers.get('Idempotent-Replayed'), 'true');
    assert.equal((await call(`${b}/v1/pets`, post('Tom', { 'Idempotency-Key': 'k1' })))[0], 422);
    await end(services[0], 'SIGKILL');
    assert.equal((await call(`${b}/v1/pets`, post('Tom')))[0], 201);
    assert.match((await call(`${b}/v1/pets`))[1], /"id":1,"name":"Rex"[^]*"id":2,"name":"Tom"/);
    const [, metrics] = await call(`${b}/metrics`);
    assert.match(
      metrics,
      /petstore_etcd_calls_total\{call="create",outcome="answered",endpoint="http:[^"]*"\} [1-9]/,
    );
    assert.match(metrics, /petstore_etcd_lost_rounds_total \d/);
    assert.match(metrics, /petstore_etcd_barrier_duration_seconds_count [1-9]/);
  },
);

test(
  'A service that is killed again and again loses no pet, and stores none twice',
  { skip },
  async (t) => {
    await initEtcd({ endpoints, prefix: 'killed/' });
    const names: string[] = [];
    for (let life = 0; life < 4; life += 1) {
      const service = start(t, 'killed/');
      const url = await service.ready();
      const killed = setTimeout(() => void end(service, 'SIGKILL'), 700);
      for (let isAlive = true; isAlive;) {
        const name = `pet-${names.length}`;
        // The one whose answer was lost is sent again to the next process, with its key.
        const answer = await call(`${url}/v1/pets`, post(name, { 'Idempotency-Key': name })).catch(
          () => undefined,
        );
        if (answer === undefined) isAlive = false;
        else {
          assert.equal(answer[0], 201);
          names.push(name);
        }
      }
      clearTimeout(killed);
    }
    const service = start(t, 'killed/');
    const url = await service.ready();
    await call(
      `${url}/v1/pets`,
      post(`pet-${names.length}`, { 'Idempotency-Key': `pet-${names.length}` }),
    );
    names.push(`pet-${names.length}`);
    const found: string[] = [];
    for (let after = 0; ;) {
      const [, text] = await call(`${url}/v1/pets?limit=100&after=${after}`);
      const page = JSON.parse(text) as readonly { readonly id: number; readonly name: string }[];
      if (page.length === 0) break;
      for (const { id, name } of page) {
        found.push(name);
        assert.equal(id, found.length);
        after = id;
      }
    }
    assert.deepEqual(found, names);
  },
);

test('A stop answers a create in doubt before it ends', { skip }, async (t) => {
  const links = await Promise.all(endpoints.map((endpoint) => startLink(endpoint)));
  t.after(() => links.forEach((link) => link.close()));
  await initEtcd({ endpoints, prefix: 'stop/' });
  const urls = links.map(({ endpoint }) => endpoint).join(',');
  const service = start(t, 'stop/', { PETSTORE_ETCD: urls }, []);
  const url = await service.ready();
  for (const link of links) link.set('deaf');
  const answer = call(`${url}/v1/pets`, post('Rex'));
  // It is proposed, and its answer does not come.
  await sleep(500);
  service.child.kill('SIGTERM');
  const [status, text] = await answer;
  assert.equal(status, 500);
  assert.match(text, /outcome_unknown/);
  assert.equal(await service.exit(), 0);
});

test('A service whose log is deleted ends with 1 and one line', { skip }, async (t) => {
  await initEtcd({ endpoints, prefix: 'gone/' });
  const service = start(t, 'gone/');
  await service.ready();
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const range = { key: base64('gone/'), range_end: base64('gone0') };
  await gateway(endpoints[0] ?? '', '/v3/kv/deleterange', JSON.stringify(range));
  // The beat of an idle service notices it.
  assert.equal(await service.exit(), 1);
  assert.match(service.stderr(), /petstore: The log under gone\/ is not the one/);
});

test('A service on a cluster that does not answer ends with 1 and one line with the cause', async (t) => {
  const service = startProcess(['--port', '0', '--etcd', 'http://127.0.0.1:9'], {
    PETSTORE_API_KEYS: KEY,
  });
  t.after(() => end(service, 'SIGKILL'));
  assert.equal(await service.exit(), 1);
  assert.match(service.stderr(), /"event":"The start waits for the etcd cluster"/);
  assert.match(
    service.stderr(),
    /\npetstore: The etcd cluster gives no answer within 10 seconds: .*\n$/,
  );
});

test('--memory keeps no pets, and reads a named data file as starting data', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const text = '[{"id":5,"name":"Old","categoryId":1}]';
  writeFileSync(dataFile, text);
  const args = ['--port', '0', '--memory', '--data-file', dataFile];
  const service = startProcess(args, { PETSTORE_API_KEYS: KEY });
  t.after(() => end(service, 'SIGKILL'));
  const url = await service.ready();
  assert.match(service.stdout(), /keeps its pets in memory only, until it ends; it began with/);
  assert.match((await call(`${url}/v1/pets`, post('New')))[1], /"id":6/);
  assert.match((await call(`${url}/v1/pets`))[1], /Old[^]*New/);
  assert.equal(await end(service, 'SIGTERM'), 0);
  const { readFileSync, readdirSync } = await import('node:fs');
  assert.equal(readFileSync(dataFile, 'utf8'), text);
  assert.deepEqual(readdirSync(join(dataFile, '..')), ['pets.json']);
});
