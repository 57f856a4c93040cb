/** Metrics: the text that a scraper gets, and the figures in it. */

import assert from 'node:assert/strict';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { VERSION } from '../../src/base/version.ts';
import { readProcessStats } from '../../src/ops/process-stats.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, startService, type Service } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

async function start(t: TestContext): Promise<Service> {
  const runtime = { nodeVersion: 'v20.0.0', openConnections: () => 7 };
  const dataFile = join(tempDir(t), 'pets.json');
  const service = await startService({ dataFile, runtime });
  t.after(() => service.close());
  return service;
}

/** The samples by name and labels. */
async function scrape(service: Service): Promise<ReadonlyMap<string, number>> {
  const answer = await service.fetch('/metrics');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const samples = new Map<string, number>();
  for (const line of (await answer.text()).trimEnd().split('\n')) {
    if (/^# (HELP|TYPE) [a-z_]+ \S/.test(line)) continue;
    const match = /^([a-z_]+(?:\{[a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*\})?) (\S+)$/.exec(line);
    assert.ok(match, line);
    assert.ok(!samples.has(match[1]!), line);
    samples.set(match[1]!, Number(match[2]));
  }
  return samples;
}

test('Requests are counted by operation and status, with time and bytes, for an API key', async (t) => {
  const service = await start(t);
  const refused = await service.fetch('/metrics', { headers: { Authorization: '' } });
  assert.equal(refused.status, 401);
  await service.fetch('/v1/pets');
  await service.fetch('/v1/pets?limit=0');
  await service.fetch('/v1/pets/1');
  await service.fetch('/v1/pets/1');
  await service.fetch('/none');
  const samples = await scrape(service);
  const requests = (labels: string): number | undefined =>
    samples.get(`petstore_http_requests_total{${labels}}`);
  assert.equal(requests('operation="listPets",status="200"'), 1);
  assert.equal(requests('operation="listPets",status="400"'), 1);
  assert.equal(requests('operation="getPet",status="404"'), 2);
  assert.equal(requests('operation="",status="401"'), 1);
  assert.equal(requests('operation="",status="404"'), 1);
  const duration = (kind: string): number | undefined =>
    samples.get(`petstore_http_request_duration_seconds_${kind}}`);
  assert.equal(duration('count{operation="listPets"'), 2);
  assert.equal(duration('count{operation="getPet"'), 2);
  assert.equal(duration('count{operation=""'), 2);
  assert.equal(duration('bucket{operation="getPet",le="+Inf"'), 2);
  const buckets = [...samples].filter(([name]) => /_duration_seconds_bucket.*"getPet"/.test(name));
  const counts = buckets.map(([, count]) => count);
  assert.deepEqual(
    counts,
    [...counts].sort((a, b) => a - b),
    'The buckets are cumulative',
  );
  assert.ok(duration('sum{operation="listPets"')! > 0);
  assert.ok(samples.get('petstore_http_response_body_bytes_total')! > 100);
});

test('The metrics have pets, commits, files and the version', async (t) => {
  const service = await start(t);
  for (const status of ['sold', 'sold', 'pending', undefined]) {
    await service.post({ name: 'Rex', categoryId: 7, status });
  }
  const samples = await scrape(service);
  assert.equal(samples.get('petstore_pets{status="sold"}'), 2);
  assert.equal(samples.get('petstore_pets{status="pending"}'), 1);
  assert.equal(samples.get('petstore_pets{status="available"}'), 0);
  assert.equal(samples.get('petstore_pets{status=""}'), 1);
  assert.equal(samples.get('petstore_store_commit_pets_count'), 4);
  assert.equal(samples.get('petstore_store_commit_pets_sum'), 4);
  assert.equal(samples.get('petstore_store_commit_duration_seconds_count'), 4);
  const commitSeconds = samples.get('petstore_store_commit_duration_seconds_sum')!;
  assert.ok(commitSeconds > 0);
  assert.equal(samples.get('petstore_store_sync_duration_seconds_count'), 4);
  const syncSeconds = samples.get('petstore_store_sync_duration_seconds_sum')!;
  assert.ok(syncSeconds > 0 && syncSeconds < commitSeconds);
  assert.ok(samples.get('petstore_store_journal_bytes')! > 200);
  // Both lines with 32 blanks: those that make an empty file differ from others, and the checksum.
  assert.equal(samples.get('petstore_store_snapshot_bytes'), '[\n\n]\n'.length + 2 * 32 + 1);
  assert.equal(samples.get('petstore_store_queue_length'), 0);
  assert.equal(samples.get('petstore_store_refused_creates_total'), 0);
  assert.equal(samples.get('petstore_store_can_store'), 1);
  assert.equal(samples.get('petstore_http_connections'), 7);
  assert.equal(samples.get(`petstore_build_info{version="${VERSION}",node="v20.0.0"}`), 1);
  assert.ok(samples.has('petstore_event_loop_delay_seconds{percentile="99"}'));
});

test('Requests are counted by the name of their API key, across a change of keys', async (t) => {
  const old = { key: 'old', name: 'shop-2026' };
  const service = await startService({ apiKeys: [KEY, old], now: () => 1_800_000_000_500 });
  t.after(() => service.close());
  const list = (key: string): Promise<Response> =>
    service.fetch('/v1/pets', { headers: { Authorization: `Bearer ${key}` } });
  const usesOf = async (): Promise<object> => {
    const samples = [...(await scrape(service))].filter(([name]) => name.includes('_api_key_'));
    return Object.fromEntries(
      samples.map(([name, value]) => [name.replace('petstore_api_key_', ''), value]),
    );
  };
  assert.deepEqual(await usesOf(), {
    'requests_total{key=""}': 0,
    'requests_total{key="shop-2026"}': 0,
    'last_used_timestamp_seconds{key=""}': 0,
    'last_used_timestamp_seconds{key="shop-2026"}': 0,
  });
  for (const key of ['old', 'old', 'wrong', '']) await list(key);
  service.app.setApiKeys([KEY, old, { key: 'new', name: 'shop-2027' }]);
  await list('new');
  const both = (await usesOf()) as Record<string, number>;
  assert.equal(both['requests_total{key="shop-2026"}'], 2);
  assert.equal(both['requests_total{key="shop-2027"}'], 1);
  assert.equal(both['requests_total{key=""}'], 1);
  for (const name of ['shop-2026', 'shop-2027']) {
    const at = both[`last_used_timestamp_seconds{key="${name}"}`]!;
    // By the monotonic clock the uses were seconds ago.
    assert.ok(at <= 1_800_000_000 && at > 1_799_999_900, `${at}`);
  }
  service.app.setApiKeys([KEY, { key: 'new', name: 'shop-2027' }]);
  const after = Object.keys(await usesOf());
  assert.ok(!after.some((name) => name.includes('shop-2026')), after.join());
  assert.equal((await list('old')).status, 401);
});

test('A read-metrics key opens the metrics, and is unknown elsewhere', async (t) => {
  const scraper = { key: 'scraper', name: 'prometheus', only: 'metrics' } as const;
  const service = await startService({ apiKeys: [KEY, scraper] });
  t.after(() => service.close());
  const send = (key: string, path: string, method = 'GET'): Promise<Response> =>
    service.fetch(path, { method, headers: { Authorization: `Bearer ${key}` } });
  assert.equal((await send('scraper', '/metrics')).status, 200);
  assert.equal((await send('scraper', '/metrics', 'HEAD')).status, 200);
  assert.equal((await send('unknown', '/metrics')).status, 401);
  for (const path of ['/v1/pets', '/v1/pets/1', '/v1/none']) {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const [given, unknown] = [
        await send('scraper', path, method),
        await send('no', path, method),
      ];
      assert.equal(given.status, 401);
      assert.equal(await given.text(), await unknown.text());
      const challenge = given.headers.get('www-authenticate');
      assert.equal(challenge, 'Bearer realm="petstore", error="invalid_token"');
      assert.equal(challenge, unknown.headers.get('www-authenticate'));
    }
  }
  const samples = await scrape(service);
  assert.equal(samples.get('petstore_api_key_requests_total{key="prometheus"}'), 2);
});

test('The metrics have connections, reloads and the process if the program reports them', async (t) => {
  const full = await startService({
    runtime: {
      nodeVersion: 'v20.0.0',
      openConnections: () => 7,
      refusedConnections: () => 8,
      failedKeyReloads: () => 9,
      processStats: () => readProcessStats(process),
    },
  });
  const bare = await startService();
  t.after(() => Promise.all([full.close(), bare.close()]));
  const samples = await scrape(full);
  assert.equal(samples.get('petstore_http_refused_connections_total'), 8);
  assert.equal(samples.get('petstore_api_key_reload_failures_total'), 9);
  const startedAt = samples.get('process_start_time_seconds')!;
  const cpuSeconds = samples.get('process_cpu_seconds_total')!;
  assert.ok(Math.abs(startedAt + process.uptime() - Date.now() / 1000) < 5, `${startedAt}`);
  assert.ok(samples.get('process_resident_memory_bytes')! > 1 << 20);
  assert.ok(cpuSeconds > 0 && cpuSeconds < 1e5, `${cpuSeconds}`);
  if (platform() === 'linux') assert.ok(samples.get('process_open_fds')! > 3);
  const names = [...(await scrape(bare)).keys()];
  assert.ok(!names.some((name) => /^process_|_connections|reload/.test(name)), names.join());
});

test('petstore_store_can_store is 0 while the service is not ready', async (t) => {
  const store = createMemoryStore();
  let problem: string | undefined;
  const service = await startService({ store: { ...store, problem: () => problem } });
  t.after(() => service.close());
  const canStore = async (): Promise<number | undefined> =>
    (await scrape(service)).get('petstore_store_can_store');
  assert.equal(await canStore(), 1);
  problem = 'No space is left on the device';
  assert.equal(await canStore(), 0);
  problem = undefined;
  assert.equal(await canStore(), 1);
  service.app.drain();
  assert.equal(await canStore(), 0);
});
