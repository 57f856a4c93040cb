/** src/ops/monitoring.md: its list of metrics is complete, and promtool accepts its files. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readProcessStats } from '../../src/ops/process-stats.ts';
import { blockOf, readPage } from '../support/browser/page-block.ts';
import { needs, run } from '../support/process/program.ts';
import { startService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const PAGE = 'src/ops/monitoring.md';
const PROMTOOL = needs('promtool');

/** Returns a folder with the files of the page, as in /etc/prometheus. */
function writeFiles(t: TestContext): string {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'prometheus.yml'), blockOf(PAGE, 'yaml', 'scrape_configs:'));
  writeFileSync(join(folder, 'petstore-alerts.yml'), blockOf(PAGE, 'yaml', 'alert:'));
  writeFileSync(join(folder, 'petstore-key'), 'key\n');
  return folder;
}

async function metricsOfFileStore(t: TestContext): Promise<string> {
  const service = await startService({
    dataFile: join(tempDir(t), 'pets.json'),
    runtime: {
      nodeVersion: process.version,
      openConnections: () => 0,
      refusedConnections: () => 0,
      failedKeyReloads: () => 0,
      processStats: () => readProcessStats(process),
    },
  });
  t.after(() => service.close());
  await service.post({ name: 'Rex', categoryId: 1 });
  return (await service.fetch('/metrics')).text();
}

/** Returns the names and types in the page's list. */
function listedMetrics(): ReadonlyMap<string, string> {
  const rows = readPage(PAGE).matchAll(/^\| (`[a-z_`, ]+`) \| (\w+) \|/gm);
  return new Map(
    [...rows].flatMap(([, names = '', type = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, type] as const),
    ),
  );
}

test('The page lists each metric with its type, and no other metric', async (t) => {
  const text = await metricsOfFileStore(t);
  const shown = new Map(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const listed = listedMetrics();
  const ofEtcd = [...listed].filter(([name]) => name.startsWith('petstore_etcd_'));
  const source = readPage('src/ops/metrics.ts');
  const named = [...source.matchAll(/'(petstore_etcd_\w+)'/g)].map(([, name]) => name!);
  assert.deepEqual(ofEtcd.map(([name]) => name).sort(), named.sort());
  const others = [...listed].filter(([name]) => !name.startsWith('petstore_etcd_'));
  assert.deepEqual(others.sort(), [...shown].sort());
});

test('The rules and the query for API keys name metrics that exist', () => {
  const text = blockOf(PAGE, 'yaml', 'alert:') + blockOf(PAGE, 'promql');
  const named = [...text.matchAll(/\b(?:petstore|process)_\w+/g)].map(([name]) => name);
  assert.ok(named.length > 5);
  const listed = listedMetrics();
  for (const name of named) assert.ok(listed.has(name.replace(/_bucket$/, '')), name);
});

test('promtool accepts the metrics', PROMTOOL, async (t) => {
  const file = join(tempDir(t), 'metrics');
  writeFileSync(file, await metricsOfFileStore(t));
  assert.deepEqual(run('sh', ['-c', 'promtool check metrics < "$0"', file]), {
    status: 0,
    text: '',
  });
});

test('promtool accepts the configuration and the rules', PROMTOOL, (t) => {
  const folder = writeFiles(t);
  const { status, text } = run('promtool', ['check', 'config', join(folder, 'prometheus.yml')]);
  assert.equal(status, 0, text);
  assert.match(text, /prometheus\.yml is valid/);
  assert.match(text, /SUCCESS: 6 rules found/);
  assert.doesNotMatch(text, /FAILED|warn/i);
});

const REQUESTS = 'petstore_http_requests_total{job="petstore",instance="a",operation="listPets"';
/** Per 15 s, `half` requests take up to half a second, and `whole` requests up to a second. */
function durations(operation: string, half: number, whole: number): Record<string, string> {
  const bucket = (le: string): string =>
    `petstore_http_request_duration_seconds_bucket{operation="${operation}",instance="a",le="${le}"}`;
  return {
    [bucket('0.5')]: `0+${half}x80`,
    [bucket('1')]: `0+${whole}x80`,
    [bucket('+Inf')]: `0+${whole}x80`,
  };
}

/** For each rule, series with a value each 15 s on which it fires, and on which it does not. */
const ALERTS: readonly {
  readonly alert: string;
  readonly bad: readonly Readonly<Record<string, string>>[];
  readonly good: readonly Readonly<Record<string, string>>[];
}[] = [
  {
    alert: 'PetstoreDown',
    bad: [{ 'up{job="petstore",instance="a"}': '1x20 0x60' }],
    good: [
      { 'up{job="petstore",instance="a"}': '1x80' },
      { 'up{job="other",instance="a"}': '0x80' },
      { 'up{job="petstore",instance="a"}': '1x77 0x2' },
    ],
  },
  {
    alert: 'PetstoreCannotStore',
    bad: [
      { 'petstore_store_can_store{instance="a"}': '1x20 0x60' },
      {
        'petstore_store_can_store{instance="a"}': '1x80',
        'petstore_store_refused_creates_total{instance="a"}': '0x70 1x10',
      },
    ],
    good: [
      {
        'petstore_store_can_store{instance="a"}': '1x80',
        'petstore_store_refused_creates_total{instance="a"}': '4x80',
      },
    ],
  },
  {
    alert: 'PetstoreFails',
    bad: [{ [`${REQUESTS},status="200"}`]: '0+100x80', [`${REQUESTS},status="503"}`]: '0+1x80' }],
    good: [
      { [`${REQUESTS},status="200"}`]: '0+1000x80', [`${REQUESTS},status="503"}`]: '0+1x80' },
      { [`${REQUESTS},status="200"}`]: '0+1x80', [`${REQUESTS},status="404"}`]: '0+100x80' },
      {
        'petstore_http_requests_total{instance="a",operation="readyz",status="503"}': '0+15x80',
        [`${REQUESTS},status="200"}`]: '0+1x80',
      },
      { [`${REQUESTS},status="200"}`]: '7x80', [`${REQUESTS},status="503"}`]: '7x80' },
    ],
  },
  {
    alert: 'PetstoreSlow',
    bad: [durations('createPet', 90, 100)],
    good: [durations('createPet', 100, 100), durations('metrics', 90, 100)],
  },
  {
    alert: 'PetstoreRefusesConnections',
    bad: [{ 'petstore_http_refused_connections_total{instance="a"}': '0+1x80' }],
    good: [{ 'petstore_http_refused_connections_total{instance="a"}': '3x80' }],
  },
  {
    alert: 'PetstoreKeysNotReloaded',
    bad: [{ 'petstore_api_key_reload_failures_total{instance="a"}': '0x40 1x40' }],
    good: [{ 'petstore_api_key_reload_failures_total{instance="a"}': '1x80' }],
  },
];

/** Returns a test of promtool: the samples of an expression after 20 minutes of the series. */
function exampleOf(
  series: Readonly<Record<string, string>>,
  expr: string,
  samples: object[],
): object {
  return {
    interval: '15s',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [{ expr, eval_time: '20m', exp_samples: samples }],
  };
}

function testRules(
  folder: string,
  tests: readonly object[],
): { status: number | null; text: string } {
  const file = join(folder, 'test.yml');
  // JSON is YAML.
  const content = { rule_files: ['petstore-alerts.yml'], evaluation_interval: '15s', tests };
  writeFileSync(file, JSON.stringify(content));
  return run('promtool', ['test', 'rules', file]);
}

test('Each alert rule fires on bad series, and not on good series', PROMTOOL, (t) => {
  const folder = writeFiles(t);
  const rules = [...blockOf(PAGE, 'yaml', 'alert:').matchAll(/alert: (\w+)/g)].map(
    ([, name]) => name,
  );
  assert.deepEqual(
    rules,
    ALERTS.map(({ alert }) => alert),
  );
  const tests = ALERTS.flatMap(({ alert, bad, good }) => {
    const expr = `count(ALERTS{alertname="${alert}",alertstate="firing"})`;
    return [
      ...bad.map((series) => exampleOf(series, expr, [{ labels: '{}', value: 1 }])),
      ...good.map((series) => exampleOf(series, expr, [])),
    ];
  });
  const { status, text } = testRules(folder, tests);
  assert.equal(status, 0, text);
});

test('The query for API keys returns the last use of each name, across restarts', PROMTOOL, (t) => {
  const folder = writeFiles(t);
  const used = (key: string, instance: string): string =>
    `petstore_api_key_last_used_timestamp_seconds{job="petstore",key="${key}",instance="${instance}"}`;
  const example = exampleOf(
    {
      [used('old', 'a')]: '200x40 0x40',
      [used('old', 'b')]: '100x80',
      [used('new', 'a')]: '0x79 1190',
      [used('never', 'a')]: '0x80',
    },
    blockOf(PAGE, 'promql'),
    [
      { labels: '{key="old"}', value: 1000 },
      { labels: '{key="new"}', value: 10 },
    ],
  );
  const { status, text } = testRules(folder, [example]);
  assert.equal(status, 0, text);
});
