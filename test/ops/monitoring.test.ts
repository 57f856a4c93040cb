/** src/ops/monitoring.md: its list of metrics is complete, and promtool accepts its files. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Histogram } from '../../src/base/histogram.ts';
import type { StoreStats } from '../../src/model/pet-store.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { blockOf } from '../support/browser/page-block.ts';
import { readText } from '../support/project.ts';
import { needs, run } from '../support/process/program.ts';
import { openService, RUNTIME } from '../support/http/service.ts';
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

/** Not of the service's own class: a store of another program may have its own. */
const HISTOGRAM = { bounds: [1, 2], counts: [3, 0, 2], sum: 9 } as unknown as Histogram;

/** All that the two kinds of store measure. */
const STATS: Required<StoreStats> = {
  ...{ refusedCreates: 1, unknownCreates: 1, queueLength: 1, keysHeld: 1, keysEvicted: 1 },
  ...{ journalBytes: 1, snapshotBytes: 1, conflicts: 1 },
  ...{ commitPets: HISTOGRAM, commitSeconds: HISTOGRAM },
  ...{ syncSeconds: HISTOGRAM, barrierSeconds: HISTOGRAM },
  calls: [{ call: 'put', outcome: 'ok', endpoint: 'http://e:1', value: 1 }],
};

/** Resolves with the text of all metrics. */
async function scrape(t: TestContext): Promise<string> {
  const store = { ...createMemoryStore(), stats: () => STATS };
  const service = await openService(t, { store, runtime: RUNTIME });
  await service.post({ name: 'Rex', categoryId: 1 });
  return (await service.fetch('/metrics')).text();
}

/** Returns the names and types in the page's list. */
function listedMetrics(): ReadonlyMap<string, string> {
  const rows = readText(PAGE).matchAll(/^\| (`[a-z_`, ]+`) \| (\w+) \|/gm);
  return new Map(
    [...rows].flatMap(([, names = '', type = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, type] as const),
    ),
  );
}

test('The page lists each metric with its type, and names no other metric', async (t) => {
  const text = await scrape(t);
  const shown = text.matchAll(/^# TYPE (\w+) (\w+)$/gm);
  const listed = listedMetrics();
  assert.deepEqual([...listed].sort(), Array.from(shown, ([, ...row]) => row).sort());
  assert.match(text, /^petstore_store_commit_pets_bucket\{le="2"\} 3\n.*le="\+Inf"\} 5$/m);
  const queries = blockOf(PAGE, 'yaml', 'alert:') + blockOf(PAGE, 'promql');
  for (const [name] of queries.matchAll(/\b(?:petstore|process)_\w+/g)) {
    assert.ok(listed.has(name.replace(/_bucket$/, '')), `A query names ${name}`);
  }
});

test('promtool accepts the metrics, the configuration and the rules', PROMTOOL, async (t) => {
  const folder = writeFiles(t);
  const file = join(folder, 'metrics');
  writeFileSync(file, await scrape(t));
  const checked = run('sh', ['-c', 'promtool check metrics < "$0"', file]);
  assert.deepEqual(checked, { status: 0, text: '' });
  const { status, text } = run('promtool', ['check', 'config', join(folder, 'prometheus.yml')]);
  assert.equal(status, 0, text);
  assert.match(text, /prometheus\.yml is valid/);
  assert.match(text, /SUCCESS: 6 rules found/);
  assert.doesNotMatch(text, /FAILED|warn/i);
});

/** Returns series: per 15 s, `fast` requests take up to 0.5 s, and `all` requests up to 1 s. */
const durations = (operation: string, fast: number, all: number): readonly string[] =>
  Object.entries({ '0.5': fast, 1: all, '+Inf': all }).map(
    ([le, count]) =>
      `petstore_http_request_duration_seconds_bucket{operation="${operation}",le="${le}"} 0+${count}x80`,
  );
const requests = (operation: string, status: number, values: string): string =>
  `petstore_http_requests_total{operation="${operation}",status="${status}"} ${values}`;

/** For each rule, series on which it fires, and on which it does not. */
const ALERTS: readonly (readonly [alert: string, isFiring: boolean, ...series: string[]])[] = [
  ['PetstoreDown', true, 'up{job="petstore"} 1x20 0x60'],
  ['PetstoreDown', false, 'up{job="petstore"} 1x80'],
  ['PetstoreDown', false, 'up{job="other"} 0x80'],
  ['PetstoreDown', false, 'up{job="petstore"} 1x77 0x2'],
  ['PetstoreCannotStore', true, 'petstore_store_can_store 1x20 0x60'],
  ['PetstoreCannotStore', true, 'petstore_store_refused_creates_total 0x70 1x10'],
  ['PetstoreCannotStore', false, 'petstore_store_can_store 1x80'],
  ['PetstoreCannotStore', false, 'petstore_store_refused_creates_total 4x80'],
  ['PetstoreFails', true, requests('getPet', 200, '0+100x80'), requests('getPet', 503, '0+1x80')],
  ['PetstoreFails', false, requests('getPet', 200, '0+1000x80'), requests('getPet', 503, '0+1x80')],
  ['PetstoreFails', false, requests('getPet', 200, '0+1x80'), requests('getPet', 404, '0+100x80')],
  ['PetstoreFails', false, requests('getPet', 200, '0+1x80'), requests('readyz', 503, '0+15x80')],
  ['PetstoreFails', false, requests('getPet', 200, '7x80'), requests('getPet', 503, '7x80')],
  ['PetstoreSlow', true, ...durations('createPet', 90, 100)],
  ['PetstoreSlow', false, ...durations('createPet', 100, 100)],
  ['PetstoreSlow', false, ...durations('metrics', 90, 100)],
  ['PetstoreRefusesConnections', true, 'petstore_http_refused_connections_total 0+1x80'],
  ['PetstoreRefusesConnections', false, 'petstore_http_refused_connections_total 3x80'],
  ['PetstoreKeysNotReloaded', true, 'petstore_api_key_reload_failures_total 0x40 1x40'],
  ['PetstoreKeysNotReloaded', false, 'petstore_api_key_reload_failures_total 1x80'],
];

/** Returns a test of promtool: the samples of an expression after 20 minutes of the series. */
function exampleOf(series: readonly string[], expr: string, exp_samples: object[]): object {
  const input_series = series.map((text) => {
    const [, name, values] = /^(\w+(?:\{.*\})?) (.*)$/.exec(text)!;
    return { series: name, values };
  });
  const promql_expr_test = [{ expr, eval_time: '20m', exp_samples }];
  return { interval: '15s', input_series, promql_expr_test };
}

/** Checks that the rules of the page pass these tests of promtool. */
function assertRules(t: TestContext, tests: readonly object[]): void {
  const folder = writeFiles(t);
  const file = join(folder, 'test.yml');
  // JSON is YAML.
  const content = { rule_files: ['petstore-alerts.yml'], evaluation_interval: '15s', tests };
  writeFileSync(file, JSON.stringify(content));
  const { status, text } = run('promtool', ['test', 'rules', file]);
  assert.equal(status, 0, text);
}

test('Each alert rule fires on bad series, and not on good series', PROMTOOL, (t) => {
  const names = blockOf(PAGE, 'yaml', 'alert:').matchAll(/(?<=alert: )\w+/g);
  const rules = Array.from(names, ([name]) => name);
  assert.deepEqual(rules, [...new Set(ALERTS.map(([alert]) => alert))]);
  const tests = ALERTS.map(([alert, isFiring, ...series]) => {
    const expr = `count(ALERTS{alertname="${alert}",alertstate="firing"})`;
    return exampleOf(series, expr, isFiring ? [{ labels: '{}', value: 1 }] : []);
  });
  assertRules(t, tests);
});

test('The query for API keys returns the last use of each name, across restarts', PROMTOOL, (t) => {
  const name = 'petstore_api_key_last_used_timestamp_seconds';
  const used = (key: string, instance: string, values: string): string =>
    `${name}{job="petstore",key="${key}",instance="${instance}"} ${values}`;
  const series = [
    used('old', 'a', '200x40 0x40'),
    used('old', 'b', '100x80'),
    used('new', 'a', '0x79 1190'),
    used('never', 'a', '0x80'),
  ];
  const expected = [
    { labels: '{key="old"}', value: 1000 },
    { labels: '{key="new"}', value: 10 },
  ];
  assertRules(t, [exampleOf(series, blockOf(PAGE, 'promql'), expected)]);
});
