/** Metrics: the text that a scraper gets, and that its figures are those of what happened. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startService, type Service } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';

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

test('Metrics need a key', async (t) => {
  const service = await start(t);
  const answer = await service.fetch('/metrics', { headers: { Authorization: '' } });
  assert.equal(answer.status, 401);
});

test('Requests are counted by operation and status, with their time and bytes', async (t) => {
  const service = await start(t);
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
  assert.equal(requests('operation="",status="404"'), 1);
  assert.equal(samples.get('petstore_http_request_duration_seconds_count'), 5);
  assert.equal(samples.get('petstore_http_request_duration_seconds_bucket{le="+Inf"}'), 5);
  assert.ok(samples.get('petstore_http_request_duration_seconds_sum')! > 0);
  assert.ok(samples.get('petstore_http_response_body_bytes_total')! > 100);
});

test('Buckets of a histogram are cumulative', async (t) => {
  const service = await start(t);
  for (let i = 0; i < 20; i += 1) await service.fetch('/v1/pets');
  const samples = await scrape(service);
  const buckets = [...samples].filter(([name]) =>
    name.startsWith('petstore_http_request_duration_seconds_bucket'),
  );
  const counts = buckets.map(([, count]) => count);
  assert.deepEqual(
    counts,
    [...counts].sort((a, b) => a - b),
  );
  assert.equal(counts.at(-1), 20);
});

test('Pets, commits, files and what runs', async (t) => {
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
  assert.equal(samples.get('petstore_http_connections'), 7);
  assert.equal(samples.get('petstore_build_info{version="1.1.0",node="v20.0.0"}'), 1);
  assert.ok(samples.has('petstore_event_loop_delay_seconds{percentile="99"}'));
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const PROMTOOL = { skip: !hasPromtool && 'promtool, of the package prometheus, is not here' };

test("Prometheus's own tool finds nothing to complain of", PROMTOOL, async (t) => {
  const service = await startService();
  t.after(() => service.close());
  await service.post({ name: 'Rex', categoryId: 1 });
  const input = await (await service.fetch('/metrics')).text();
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input });
  assert.deepEqual([status, `${stdout}${stderr}`], [0, '']);
});
