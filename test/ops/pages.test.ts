/**
 * src/extras/ops/monitoring.md: its list of metrics is complete, and promtool accepts its files and
 * the rules for alerts.
 * src/extras/ops/README.md: each program accepts its file, a proxy serves the service with it, and
 * a start waits as the systemd unit says.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Measurement } from '../../src/core/base/measurement.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { openSimulated } from '../support/etcd/opened-store.ts';
import { freePort, KEY, listenFor, openService } from '../support/http/service.ts';
import { CERTIFICATE_PEM, KEY_PEM } from '../support/process/certificate.ts';
import {
  end,
  outputOf,
  portOf,
  runNode,
  startFor,
  startProgram,
} from '../support/process/process.ts';
import { needs, pathOf, run } from '../support/process/program.ts';
import { blockOf, readText } from '../support/project.ts';
import { RUNTIME } from './runtime.ts';

const MONITORING = 'src/extras/ops/monitoring.md';
const RULES = readText('src/extras/ops/petstore-alerts.yaml');
const PROMTOOL = needs('promtool');

/** Returns a folder with the files of the page, as in /etc/prometheus. */
function writeFiles(t: TestContext): string {
  const folder = tempDir(t);
  writeFileSync(join(folder, 'prometheus.yml'), blockOf(MONITORING, 'yaml', 'scrape_configs:'));
  writeFileSync(join(folder, 'petstore-alerts.yaml'), RULES);
  writeFileSync(join(folder, 'petstore-key'), 'key\n');
  return folder;
}

/** Not of the service's own class: a store of another program may have its own. */
const HISTOGRAM: Measurement['value'] = { bounds: [1, 2], counts: [3, 0, 2], sum: 9 };

/** Resolves with all that the two kinds of store measure. */
async function measureStores(t: TestContext): Promise<readonly Measurement[]> {
  const files = await openFileStore({ path: join(tempDir(t), 'pets.json') });
  const { store: cluster } = await openSimulated(t);
  const rows = [...files.measurements(), ...cluster.measurements()];
  for (const store of [files, cluster]) await store.close();
  const byName = new Map(rows.map((row) => [row.name, row]));
  const own = byName.get('petstore_store_commit_pets')!;
  return [...byName.set(own.name, { ...own, value: HISTOGRAM }).values()];
}

/** Resolves with the text of all metrics. */
async function scrape(t: TestContext): Promise<string> {
  const rows = await measureStores(t);
  const store = {
    ...createMemoryStore(),
    measurements: () => rows,
    durability: () => 'data file' as const,
  };
  const service = await openService(t, { store, runtime: RUNTIME });
  await service.post({ name: 'Rex', categoryId: 1 });
  return (await service.fetch('/metrics')).text();
}

/** Returns the names and types in the page's list. */
function listedMetrics(): ReadonlyMap<string, string> {
  const rows = readText(MONITORING).matchAll(/^\| (`[a-z_`, ]+`) \| (\w+) \|/gm);
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
  const queries = RULES + blockOf(MONITORING, 'promql');
  for (const [name] of queries.matchAll(/\b(?:petstore|process)_\w+/g)) {
    assert.ok(listed.has(name.replace(/_bucket$/, '')), `A query names ${name}`);
  }
});

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly targets: readonly { expr: string }[];
  }[];
}

/** Returns the queries of the dashboard, with a value for each variable of Grafana. */
function dashboardQueries(): readonly string[] {
  const { panels } = JSON.parse(readText('scripts/grafana-dashboard.json')) as Dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assert.ok(queries.length > 10);
  return queries.map((query) =>
    query.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'),
  );
}

test('The dashboard shows metrics that exist', () => {
  const listed = listedMetrics();
  for (const query of dashboardQueries()) {
    const names = query.match(/\b(?:petstore|process)_\w+/g) ?? [];
    assert.ok(names.length > 0, query);
    for (const name of names) assert.ok(listed.has(name.replace(/_bucket$/, '')), name);
  }
});

test('promtool accepts the queries of the dashboard', PROMTOOL, (t) => {
  const rules = dashboardQueries().map((expr, index) => ({ record: `a:b:c${index}`, expr }));
  const file = join(tempDir(t), 'rules.json');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  const { status, text } = run('promtool', ['check', 'rules', file]);
  assert.equal(status, 0, text);
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
  assert.match(text, /SUCCESS: 8 rules found/);
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
  ['PetstorePetsInMemory', true, 'petstore_store_pets_location{at="memory"} 0x79 1'],
  ['PetstorePetsInMemory', false, 'petstore_store_pets_location{at="memory"} 0x80'],
  ['PetstorePetsInMemory', false, 'petstore_store_pets_location{at="data file"} 1x80'],
  ['PetstoreHasFewerPets', true, 'petstore_pets{status="sold"} 3x60 0x20'],
  ['PetstoreHasFewerPets', true, 'petstore_pets{status="sold"} 3x10 0x70'],
  // After an outage.
  ['PetstoreHasFewerPets', true, 'petstore_pets{status="sold"} 3x10 stale _x60 0x10'],
  ['PetstoreHasFewerPets', false, 'petstore_pets{status="sold"} 3x10 stale _x60 3x10'],
  ['PetstoreHasFewerPets', false, 'petstore_pets{status="sold"} 3x60 4x20'],
  ['PetstoreFails', true, requests('getPet', 200, '0+100x80'), requests('getPet', 503, '0+1x80')],
  ['PetstoreFails', true, requests('getPet', 503, '0+1x80'), requests('', 404, '0+1000x80')],
  ['PetstoreFails', false, requests('getPet', 200, '0+1x80'), requests('', 501, '0+15x80')],
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
  const content = { rule_files: ['petstore-alerts.yaml'], evaluation_interval: '15s', tests };
  writeFileSync(file, JSON.stringify(content));
  const { status, text } = run('promtool', ['test', 'rules', file]);
  assert.equal(status, 0, text);
}

test('Each alert rule fires on bad series, and not on good series', PROMTOOL, (t) => {
  const names = RULES.matchAll(/(?<=alert: )\w+/g);
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
  assertRules(t, [exampleOf(series, blockOf(MONITORING, 'promql'), expected)]);
});

const ADDRESS = '127.0.0.1:8080';

/** A proxy, and its configuration: its file for this machine, and what else it needs. */
interface Proxy {
  readonly program: string;
  /** Below `scripts/proxies`. */
  readonly file: string;
  readonly scheme: 'http' | 'https';
  configuration(adapt: Adapt, folder: string, port: number): string;
  /** The arguments before the file: to check it, and to serve with it. */
  readonly check: readonly string[];
  readonly serve: readonly string[];
}

/** Returns the file's text with these texts replaced. */
type Adapt = (texts: Readonly<Record<string, string>>) => string;

const NGINX: Proxy = {
  program: 'nginx',
  file: 'nginx.conf',
  scheme: 'https',
  configuration(adapt, folder, port) {
    const server = adapt({
      '/etc/ssl/pets.example.pem': join(folder, 'cert.pem'),
      '/etc/ssl/pets.example.key': join(folder, 'key.pem'),
      'listen 443': `listen 127.0.0.1:${port}`,
    });
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const own = paths.map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n');
    const main = `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log stderr;`;
    return `${main}\nevents {}\nhttp {\naccess_log off;\n${own}\n${server}}\n`;
  },
  check: ['-t', '-c'],
  serve: ['-c'],
};

const CADDY: Proxy = {
  program: 'caddy',
  file: 'Caddyfile',
  scheme: 'http',
  // With the name of a host Caddy would ask for a certificate.
  configuration: (adapt, _folder, port) =>
    `{\n\tadmin off\n}\n${adapt({ 'pets.example {': `http://127.0.0.1:${port} {` })}`,
  check: ['validate', '--adapter', 'caddyfile', '--config'],
  serve: ['run', '--adapter', 'caddyfile', '--config'],
};

const HAPROXY: Proxy = {
  program: 'haproxy',
  file: 'haproxy.cfg',
  scheme: 'https',
  configuration: (adapt, folder, port) =>
    adapt({
      '/etc/ssl/pets.example-with-key.pem': join(folder, 'both.pem'),
      'bind :443': `bind 127.0.0.1:${port}`,
      // Once: a service that a busy machine holds up for some seconds would count as down.
      'check maxconn': 'check inter 1h maxconn',
    }),
  check: ['-c', '-f'],
  serve: ['-db', '-f'],
};

/** Sends a request with the key, and resolves with the response and its body. */
async function send(origin: string, path: string, body?: string) {
  const request = origin.startsWith('https') ? requestHttps : requestHttp;
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  const sent = request(`${origin}${path}`, { method, headers, ca: CERTIFICATE_PEM, agent: false });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { response, text: (await response.toArray()).join('') };
}

const PROXIES = [NGINX, CADDY, HAPROXY].flatMap((proxy) =>
  ['/shop', ''].map((prefix) => [proxy, prefix] as const),
);

for (const [proxy, prefix] of PROXIES) {
  const { program, scheme } = proxy;
  const where = prefix === '' ? 'without a prefix' : 'under a prefix';

  test(`${program} accepts its file, and serves with it ${where}`, needs(program), async (t) => {
    const [folder, port] = [tempDir(t), await freePort()];
    const service = await openService(t, { prefix });
    const adapt: Adapt = (texts) => {
      // As the page says.
      let text = readText(`scripts/proxies/${proxy.file}`).replaceAll('/shop/', `${prefix}/`);
      const all = { [ADDRESS]: `127.0.0.1:${service.port}`, ...texts };
      for (const [from, to] of Object.entries(all)) {
        assert.ok(text.includes(from), `${proxy.file} has no ${from}`);
        text = text.replaceAll(from, to);
      }
      return text;
    };
    const file = join(folder, 'config');
    writeFileSync(file, proxy.configuration(adapt, folder, port));
    writeFileSync(join(folder, 'cert.pem'), CERTIFICATE_PEM);
    writeFileSync(join(folder, 'key.pem'), KEY_PEM);
    writeFileSync(join(folder, 'both.pem'), CERTIFICATE_PEM + KEY_PEM);
    const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const { status: checked, text } = run(program, [...proxy.check, file], home);
    assert.equal(checked, 0, text);
    assert.doesNotMatch(text, /warn|alert|emerg|not formatted/i);
    const started = startProgram(pathOf(program)!, [...proxy.serve, file], { env: home });
    t.after(() => end(started, 'SIGKILL'));
    const origin = `${scheme}://127.0.0.1:${port}`;
    const statusNow = async (): Promise<number | undefined> =>
      (await send(origin, `${prefix}/livez`).catch(() => undefined))?.response.statusCode;
    let status = await statusNow();
    for (; status === undefined; status = await statusNow()) {
      assert.equal(started.child.exitCode, null, started.stderr());
      await sleep(50);
    }
    assert.equal(status, 200);
    const created = await send(origin, `${prefix}/v1/pets`, '{"name":"Rex","categoryId":7}');
    assert.equal(created.response.statusCode, 201);
    assert.equal(created.response.headers.location, `${prefix}/v1/pets/1`);
    const list = await send(origin, `${prefix}/v1/pets?limit=1`);
    assert.equal(list.text, `[${created.text}]`);
    // An encoded slash stays in its segment only if the proxy passes the path unchanged.
    const unknown = await send(origin, `${prefix}/v1/pets/%2F1`);
    assert.match(unknown.text, /^\{"code":"not_found",/);
    if (prefix === '') return;
    // No answer that a client with a wrong base URL would take for its pet's.
    const elsewhere = await send(origin, '/v1/pets', '{"name":"Tom","categoryId":7}');
    assert.ok(elsewhere.response.statusCode! >= 400);
  });
}

const UNIT = readText('scripts/systemd/petstore.service');

test('systemd-analyze accepts both units of the page', needs('systemd-analyze'), (t) => {
  const folder = tempDir(t);
  const units = {
    'petstore.service': UNIT,
    'petstore.socket': readText('scripts/systemd/petstore.socket'),
  };
  assert.ok(units['petstore.socket'].includes(`ListenStream=${ADDRESS}\n`));
  for (const [name, unit] of Object.entries(units)) {
    writeFileSync(join(folder, name), unit.replaceAll('/usr/bin/node', process.execPath));
  }
  const paths = Object.keys(units).map((name) => join(folder, name));
  // The output has lines about units of the machine, too.
  const { text } = run('systemd-analyze', ['verify', ...paths]);
  const ours = text.split('\n').filter((line) => line.includes('petstore'));
  assert.deepEqual(ours, []);
});

/** Returns the arguments of ExecStartPost=, as systemd parses them. */
function waitArguments(): readonly string[] {
  const [, command = ''] = /^ExecStartPost=\/usr\/bin\/node ((?:.*\\\n)*.*)$/m.exec(UNIT) ?? [];
  // To systemd, a backslash at the end of a line is a blank, and double quotes make one word.
  const joined = command.replaceAll('\\\n', ' ');
  const [, words = '', quoted = ''] = /^([^"]*) "([^"]*)"$/.exec(joined) ?? [];
  assert.ok(quoted.includes('/readyz'), command);
  // systemd would replace these.
  assert.doesNotMatch(command, /[$%]/);
  return [...words.split(' '), quoted];
}

/** For each environment, where both probes ask: an empty variable counts as not set. */
const PROBED: readonly (readonly [env: Readonly<Record<string, string>>, origin: string])[] = [
  [{}, 'http://127.0.0.1:8080'],
  [{ HOST: '', PORT: '', PETSTORE_PREFIX: '' }, 'http://127.0.0.1:8080'],
  [{ HOST: '10.0.0.7', PORT: '81', PETSTORE_PREFIX: '/shop' }, 'http://10.0.0.7:81/shop'],
  [{ HOST: '::' }, 'http://[::]:8080'],
];

test('The unit and the image ask at the address of the service', async () => {
  const [, healthCheck = ''] = /^HEALTHCHECK .*?(\[.*\])$/m.exec(readText('scripts/Dockerfile'))!;
  const [, ...check] = JSON.parse(healthCheck) as string[];
  const hook = 'globalThis.fetch = async (url) => (console.log(url), { ok: true })';
  for (const [env, origin] of PROBED) {
    const asked = (args: readonly string[]): Promise<string> =>
      outputOf(['--import', `data:text/javascript,${encodeURIComponent(hook)}`, ...args], { env });
    assert.equal(await asked(waitArguments()), `${origin}/readyz\n`);
    assert.equal(await asked(check), `${origin}/livez\n`);
  }
});

/** Waits as the unit does. Resolves with the exit code and with what it wrote. */
async function wait(port: number, mainPid: number | undefined): Promise<string> {
  // To a client, 0.0.0.0 is this machine, as in a container.
  const own = { MAINPID: String(mainPid), HOST: '0.0.0.0', PORT: String(port) };
  const env = { ...own, PETSTORE_PREFIX: '/shop' };
  const { code, stdout, stderr } = await runNode(waitArguments(), { env });
  return `${code} ${stdout}${stderr}`;
}

test('The unit waits until the service is ready, while it responds with 503', async (t) => {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    const isReady = asked >= 4 && request.url === '/shop/readyz';
    response.writeHead(isReady ? 200 : 503).end();
  });
  assert.equal(await wait(await listenFor(t, server), process.pid), '0 ');
  // An answer that takes a second is not waited for.
  assert.ok(asked >= 4, `${asked}`);
});

test('The unit stops waiting if the service has ended', async (t) => {
  const service = startFor(t, ['--port', '0', '--memory']);
  const port = await portOf(service);
  const { pid } = service.child;
  await end(service, 'SIGKILL');
  // `systemctl status` shows the last lines: those of the service.
  assert.equal(await wait(port, pid), '1 ');
});
