/** What the process itself tells its operator: reloads of keys, connections, and a prefix. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { end, startProcess, type Process } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

function start(t: TestContext, env: Record<string, string>, ...args: string[]): Process {
  const service = startProcess(['--port', '0', '--memory', ...args], env);
  t.after(() => end(service, 'SIGKILL'));
  return service;
}

async function samplesOf(url: string, key: string): Promise<ReadonlyMap<string, string>> {
  const answer = await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal(answer.status, 200);
  const lines = (await answer.text()).split('\n').filter((line) => !line.startsWith('#'));
  return new Map(lines.map((line) => line.split(' ') as [string, string]));
}

test('Under PETSTORE_PREFIX is all that the process serves, and nothing is outside', async (t) => {
  const service = start(t, { PETSTORE_PREFIX: '/shop/pets', PETSTORE_API_KEYS: 'key' });
  const url = await service.ready();
  assert.match(url, /^http:\/\/127\.0\.0\.1:[0-9]+\/shop\/pets$/);
  assert.match(service.stdout(), new RegExp(`Open ${url}/ in a browser`));
  const headers = { Authorization: 'Bearer key' };
  for (const path of ['/', '/livez', '/readyz', '/metrics', '/openapi.json', '/v1/pets']) {
    assert.equal((await fetch(`${url}${path}`, { headers })).status, 200, path);
    const outside = await fetch(`${new URL(url).origin}${path}`, { headers });
    assert.equal(outside.status, 404);
    assert.match(await outside.text(), /every path begins with \/shop\/pets\//);
  }
  assert.equal((await fetch(`${url}/v1/none`)).status, 401);
});

/** For tests that ask until they see what they wait for. */
const ASKING = { timeout: 120_000 };

test('Names come from the keys file, and a reload that failed is counted', ASKING, async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'shop-1: a\nprometheus: scraper read-metrics\n');
  const service = start(t, {}, '--api-keys-file', keysFile);
  const url = await service.ready();
  const until = async (
    name: string,
    isWanted: (value: string | undefined) => boolean,
  ): Promise<ReadonlyMap<string, string>> => {
    for (;;) {
      const samples = await samplesOf(url, 'scraper');
      if (isWanted(samples.get(name)) || t.signal.aborted) return samples;
      await sleep(20);
    }
  };
  const failures = 'petstore_api_key_reload_failures_total';
  await until(failures, (value) => value === '0');
  writeFileSync(keysFile, 'shop-1: a\nshop-1: b\nprometheus: scraper read-metrics\n');
  service.child.kill('SIGHUP');
  const failed = await until(failures, (value) => value === '1');
  assert.equal(failed.get('petstore_api_key_requests_total{key="shop-1"}'), '0');
  const problem = 'line 2: the name is configured already';
  while (!service.stderr().includes(problem) && !t.signal.aborted) await sleep(20);

  writeFileSync(keysFile, 'shop-2: b\nprometheus: scraper read-metrics\n');
  service.child.kill('SIGHUP');
  const names = 'petstore_api_key_requests_total{key="shop-2"}';
  const changed = await until(names, (value) => value !== undefined);
  assert.equal(changed.get('petstore_api_key_requests_total{key="shop-1"}'), undefined);
  assert.ok(Number(changed.get('petstore_api_key_requests_total{key="prometheus"}')) > 1);
  assert.equal(changed.get(failures), '1');
});

test('Connections beyond those that it takes are counted as refused', ASKING, async (t) => {
  const service = start(t, { PETSTORE_API_KEYS: 'key' });
  const url = await service.ready();
  const before = await samplesOf(url, 'key');
  assert.equal(before.get('petstore_http_refused_connections_total'), '0');
  assert.ok(Number(before.get('process_open_fds') ?? 10) > 5);
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  for (let i = 0; i < 1100; i += 1) {
    sockets.push(connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined));
  }
  // While all are taken, this is refused, too, until those that sent nothing for a second are
  // closed.
  while (!t.signal.aborted) {
    const after = await samplesOf(url, 'key').catch(() => undefined);
    const refused = Number(after?.get('petstore_http_refused_connections_total') ?? 0);
    assert.ok(refused < 1100, `${refused}`);
    if (refused > 0) return;
    await sleep(50);
  }
});
