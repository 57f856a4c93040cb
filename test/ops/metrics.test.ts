/** Metrics: the text that a scraper gets, and the figures in it. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from '../../src/core/base/version.ts';
import type { Exchange } from '../../src/core/http/handle-request.ts';
import type { HttpRequest } from '../../src/core/http/operation.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { createMetrics } from '../../src/extras/ops/metrics.ts';
import { KEY, openService, type Service } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { RUNTIME } from './runtime.ts';

/** The samples by name and labels. */
async function scrape(service: Service): Promise<Readonly<Record<string, number>>> {
  const answer = await service.fetch('/metrics');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const samples: Record<string, number> = {};
  for (const line of (await answer.text()).trimEnd().split('\n')) {
    if (/^# (HELP|TYPE) [a-z_]+ \S/.test(line)) continue;
    const match = /^([a-z_]+(?:\{[a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*\})?) (\S+)$/.exec(line);
    assert.ok(match, line);
    assert.ok(!(match[1]! in samples), line);
    samples[match[1]!] = Number(match[2]);
  }
  return samples;
}

/** Checks the samples that are named. */
function assertSamples(samples: Readonly<Record<string, number>>, expected: object): void {
  const named = Object.keys(expected).map((name) => [name, samples[name]]);
  assert.deepEqual(Object.fromEntries(named), expected);
}

test('Requests are counted by operation and status, with time and bytes; a stop stores nothing', async (t) => {
  const service = await openService(t);
  const refused = await service.fetch('/metrics', { headers: { Authorization: '' } });
  const paths = ['/v1/pets', '/v1/pets?limit=0', '/v1/pets/1', '/v1/pets/1', '/none'];
  let bytes = (await refused.text()).length;
  for (const path of paths) bytes += (await (await service.fetch(path)).text()).length;
  const samples = await scrape(service);
  const [requests, seconds] = ['http_requests_total', 'http_request_duration_seconds'];
  assertSamples(samples, {
    [`petstore_${requests}{operation="listPets",status="200"}`]: 1,
    [`petstore_${requests}{operation="listPets",status="400"}`]: 1,
    [`petstore_${requests}{operation="getPet",status="404"}`]: 2,
    [`petstore_${requests}{operation="",status="401"}`]: 1,
    [`petstore_${requests}{operation="",status="404"}`]: 1,
    [`petstore_${seconds}_count{operation="listPets"}`]: 2,
    [`petstore_${seconds}_count{operation="getPet"}`]: 2,
    [`petstore_${seconds}_bucket{operation="getPet",le="+Inf"}`]: 2,
    petstore_http_response_body_bytes_total: bytes,
  });
  const buckets = Object.keys(samples).filter((name) => /seconds_bucket.*"getPet"/.test(name));
  const counts = buckets.map((name) => samples[name]!);
  const cumulative = [...counts].sort((a, b) => a - b);
  assert.deepEqual(counts, cumulative);
  assert.ok(samples[`petstore_${seconds}_sum{operation="listPets"}`]! > 0);
  // No program reports such metrics of itself.
  const names = Object.keys(samples).filter((name) => /^process_|_connections|reload/.test(name));
  assert.deepEqual(names, []);
  service.app.drain();
  assertSamples(await scrape(service), { petstore_store_can_store: 0 });
});

test('A request that began earlier and ends later moves no last use back', async (t) => {
  const metrics = createMetrics({
    store: createMemoryStore,
    unreadiness: () => undefined,
    keyNames: () => new Set(['shop']),
    timeOfDay: () => performance.now(),
    runtime: undefined,
  });
  t.after(() => metrics.close());
  const exchange = { keyName: 'shop', status: 200, bodyBytes: 0 } as Exchange;
  for (const startedAt of [2500, 1500]) metrics.countResponse({ ...exchange, startedAt }, 0);
  const { body } = await metrics.operation.handle({} as HttpRequest);
  assert.match(body!, /^petstore_api_key_requests_total\{key="shop"\} 2$/m);
  assert.match(body!, /^petstore_api_key_last_used_timestamp_seconds\{key="shop"\} 2$/m);
});

test('The metrics have pets, commits, files, the process and the version', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const service = await openService(t, { dataFile, runtime: RUNTIME });
  for (const status of ['sold', 'sold', 'pending', undefined]) {
    await service.post({ name: 'Rex', categoryId: 7, status }, { 'Idempotency-Key': randomUUID() });
  }
  const samples = await scrape(service);
  assertSamples(samples, {
    'petstore_pets{status="sold"}': 2,
    'petstore_pets{status="pending"}': 1,
    'petstore_pets{status="available"}': 0,
    'petstore_pets{status=""}': 1,
    petstore_store_commit_pets_count: 4,
    'petstore_store_commit_pets_bucket{le="1"}': 4,
    petstore_store_commit_pets_sum: 4,
    petstore_store_commit_duration_seconds_count: 4,
    petstore_store_data_file_bytes: statSync(dataFile).size,
    'petstore_store_pets_location{at="data file"}': 1,
    'petstore_store_pets_location{at="saved file"}': 0,
    'petstore_store_pets_location{at="memory"}': 0,
    petstore_store_queue_length: 0,
    petstore_store_idempotency_keys: 4,
    petstore_store_evicted_idempotency_keys_total: 0,
    petstore_store_refused_creates_total: 0,
    petstore_store_can_store: 1,
    petstore_http_connections: 7,
    petstore_http_refused_connections_total: 8,
    petstore_api_key_reload_failures_total: 9,
    petstore_log_dropped_lines_total: 10,
    [`petstore_build_info{version="${VERSION}",node="v20.0.0"}`]: 1,
  });
  const now = Date.now() / 1000;
  /** Figures that differ from run to run, and what they are between. */
  const between: Readonly<Record<string, readonly [number, number]>> = {
    process_start_time_seconds: [now - process.uptime() - 5, now - process.uptime() + 5],
    process_cpu_seconds_total: [0, process.uptime() * availableParallelism()],
    process_resident_memory_bytes: [1 << 20, 2 ** 33],
    ...(process.platform === 'linux' && { process_open_fds: [4, 1000] }),
  };
  for (const [name, [least, most]] of Object.entries(between)) {
    const value = samples[name]!;
    assert.ok(value > least && value <= most, `${name} is ${value}`);
  }
  // While its folder exists.
  await service.close();
});

test('Each scraper sees a delay of the event loop, however often others read', async (t) => {
  const service = await openService(t);
  /** Returns how many seconds had a delay of over 0.1 s. */
  const slowIn = (samples: Readonly<Record<string, number>>): number => {
    const name = 'petstore_event_loop_delay_seconds';
    return samples[`${name}_count`]! - samples[`${name}_bucket{le="0.1"}`]!;
  };
  while (slowIn(await scrape(service)) === 0) {
    // Again and again, since what comes before the first sample is not measured.
    const endsAt = performance.now() + 300;
    while (performance.now() < endsAt);
    await sleep(20);
  }
  assert.ok(slowIn(await scrape(service)) > 0);
});

test('A figure that cannot be read is left out of the metrics, and the others are there', async (t) => {
  const fail = (): never => {
    throw new Error('EMFILE: too many open files');
  };
  const runtime = { ...RUNTIME, openConnections: fail, refusedConnections: fail };
  const rss = t.mock.method(process.memoryUsage, 'rss', fail);
  const samples = await scrape(await openService(t, { runtime }));
  assert.equal(rss.mock.callCount(), 1);
  for (const name of ['petstore_http_connections', 'process_resident_memory_bytes']) {
    assert.equal(samples[name], undefined);
  }
  assertSamples(samples, {
    petstore_api_key_reload_failures_total: 9,
    petstore_store_can_store: 1,
  });
});

test('Requests are counted by the name of their API key, with the time of the last', async (t) => {
  const now = 1_800_000_000_500;
  const old = { key: 'old', name: 'shop-2026' };
  // Keys without a name are counted together.
  const service = await openService(t, { apiKeys: [KEY, 'other', old], timeOfDay: () => now });
  const list = (key: string): Promise<Response> =>
    service.fetch('/v1/pets', { headers: { Authorization: `Bearer ${key}` } });
  const [requests, lastUsed] = ['petstore_api_key_requests_total', 'petstore_api_key_last_used'];
  assertSamples(await scrape(service), {
    [`${requests}{key="shop-2026"}`]: 0,
    [`${lastUsed}_timestamp_seconds{key="shop-2026"}`]: 0,
  });
  const before = performance.now();
  for (const key of ['old', 'old', 'other', 'wrong', '']) await list(key);
  service.app.setApiKeys([KEY, old, { key: 'new', name: 'shop-2027' }]);
  await list('new');
  const samples = await scrape(service);
  assertSamples(samples, {
    [`${requests}{key="shop-2026"}`]: 2,
    [`${requests}{key="shop-2027"}`]: 1,
    [`${requests}{key=""}`]: 2,
  });
  const at = samples[`${lastUsed}_timestamp_seconds{key="shop-2026"}`]!;
  // The monotonic clock measures how long ago the use was.
  assert.ok(at <= now / 1000 && at > (now + before - performance.now()) / 1000 - 1, `${at}`);
  // A removed name loses its counts.
  for (const apiKeys of [[KEY], [KEY, old]]) service.app.setApiKeys(apiKeys);
  assertSamples(await scrape(service), { [`${requests}{key="shop-2026"}`]: 0 });
});
