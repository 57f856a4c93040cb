/** Starts of the etcd store under difficulties, and the command init-etcd. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import type { ClusterResponse } from '../../../src/stores/etcd/etcd-client.ts';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { joiningOf } from '../../../src/stores/etcd/join-cluster.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { encodeMeta } from '../../../src/stores/etcd/slots.ts';
import {
  base64,
  rangeOf,
  startCluster,
  withoutEtcd,
  type Cluster,
} from '../../support/etcd/cluster.ts';
import { fastClock } from '../../support/etcd/fast-clock.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { startLinks } from '../../support/etcd/link.ts';
import { simulatedCalls } from '../../support/etcd/simulated-calls.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { isWhole } from '../../support/extent.ts';
import { SERVER_JS } from '../../support/process/process.ts';

const cluster: Cluster | undefined =
  withoutEtcd === false ? await startCluster({ after }) : undefined;
const endpoints = cluster?.endpoints ?? [];
const skip = withoutEtcd;
const rex = { name: 'Rex', categoryId: 1n } as const;

/** What the endpoints a, b, c … answered: a cluster, nothing (-), or a refusal (!). */
const JOININGS: readonly (readonly [answers: string, expected: string | RegExp])[] = [
  ['1', 'joined 1'],
  ['-', /0 of 1 endpoints have answered, 1 must; a: silent/],
  ['1-', 'joined 1'],
  ['-1', 'joined 1'],
  ['12', /to different clusters, a to one and b to another: name the members of one/],
  ['11-', 'joined 1'],
  ['1-1', 'joined 1'],
  ['1--', /1 of 3 endpoints have answered, 2 must; b: silent; c: silent/],
  ['--1', /1 of 3 endpoints have answered, 2 must/],
  ['211', /a to one and b, c to another/],
  ['112', /a, b to one and c to another/],
  ['1-2', /a to one and c to another/],
  ['11!', /refused: c: no rights/],
  ['11--', 'joined 1'],
  ['1---', /1 of 4 endpoints have answered, 2 must/],
  ['111--', 'joined 1'],
  ['11---', /2 of 5 endpoints have answered, 3 must/],
];

for (const [answers, expected] of JOININGS) {
  test(`A start is ${expected} if the endpoints answer ${answers}`, () => {
    const urls = [...'abcde'].slice(0, answers.length);
    const responses = [...answers].map((answer, index): ClusterResponse => {
      const url = urls[index];
      if (answer === '-') return { kind: 'unsent', cause: `${url}: silent` };
      if (answer === '!') return { kind: 'refused', cause: `${url}: no rights` };
      return { clusterId: answer, roundTripMs: 1 };
    });
    const join = (): string => {
      const joining = joiningOf(urls, responses, Math.ceil(urls.length / 2));
      if ('cause' in joining) throw new Error(`${joining.kind}: ${joining.cause}`);
      return `joined ${joining.clusterId}`;
    };
    if (typeof expected === 'string') assert.equal(join(), expected);
    else assert.throws(join, expected);
  });
}

for (const delayMs of isWhole ? [10, 25, 50] : [50]) {
  test(
    `A start at ${delayMs} ms succeeds while eight clients create pets`,
    { skip, timeout: 60_000 },
    async (t) => {
      const prefix = `busy-${delayMs}/`;
      const writer = await openInitialized({ endpoints, prefix });
      t.after(() => writer.close());
      const links = await startLinks(t, endpoints);
      for (const link of links) link.delayMs = delayMs;
      let isOver = false;
      let stored = 0;
      const clients = Array.from({ length: 8 }, async () => {
        while (!isOver) stored = Number((await writer.create(rex)).id);
      });
      const urls = links.map(({ endpoint }) => endpoint);
      const far = await openEtcdStore({ endpoints: urls, prefix }).finally(() => (isOver = true));
      t.after(() => far.close());
      await Promise.all(clients);
      assert.ok(stored > 8, `${stored} pets stored`);
      assert.equal((await far.get(BigInt(stored)))?.name, 'Rex');
    },
  );
}

test('A start that takes long logs what it waits for', async () => {
  const etcd = new SimulatedEtcd();
  const names = ['http://e:1'];
  await initEtcd({ endpoints: names, calls: simulatedCalls(etcd) });
  const clock = new VirtualClock();
  const calls = simulatedCalls(etcd, () => clock.sleep(2_000).then(() => 'answered' as const));
  const events = new Set<string>();
  const log = (_level: string, event: string): void => void events.add(event);
  await (await openEtcdStore({ endpoints: names, calls, clock, log })).close();
  const expected = ['The start waits for the etcd cluster', 'The start reads the pets from etcd'];
  assert.deepEqual([...events], expected);
});

/** Runs a command of the service with these settings. */
function run(env: Record<string, string>, ...args: readonly string[]): [number, string] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SERVER_JS, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...env },
  });
  return [status ?? -1, stdout + stderr];
}

const settings = (prefix: string): Record<string, string> => ({
  PETSTORE_ETCD: endpoints.join(','),
  PETSTORE_ETCD_PREFIX: prefix,
});

test('init-etcd makes a log once, and a service never makes one', { skip }, async () => {
  const options = { endpoints, prefix: 'init/' };
  await assert.rejects(openEtcdStore(options), /There is no log under init\/ in etcd/);
  const env = settings('init/');
  assert.deepEqual(run(env, 'init-etcd'), [0, 'A new log was made in etcd, under init/\n']);
  const store = await openEtcdStore(options);
  assert.equal((await store.create(rex)).id, 1n);
  await store.close();
  const found = 'A ready log was found in etcd, under init/, and left as it is\n';
  assert.deepEqual(run(env, 'init-etcd'), [0, found]);
  const again = await openEtcdStore(options);
  assert.equal(again.count().total, 1);
  await again.close();
  // After the log is deleted a service gives no id again.
  await cluster?.call('/v3/kv/deleterange', rangeOf('init/'));
  const [status, text] = run(env, '--port', '0');
  assert.match(
    text,
    /^petstore: There is no log under init\/ in etcd\. .* petstore init-etcd.*\n$/,
  );
  assert.equal(status, 1);
});

test('Four init-etcd at the same time make one log', { skip }, async () => {
  const options = { endpoints, prefix: 'race/' };
  const results = await Promise.all(Array.from({ length: 4 }, () => initEtcd(options)));
  assert.deepEqual(results.sort(), ['found', 'found', 'found', 'made']);
});

test('init-etcd ends with 1 if it cannot make the log', { skip }, async () => {
  const put = async (key: string, value: string): Promise<void> =>
    void (await cluster?.call('/v3/kv/put', { key: base64(key), value: base64(value) }));
  await put('stray/x', 'x');
  const state = `importing ${'1'.repeat(32)}`;
  await put('half/meta', encodeMeta({ logId: '0'.repeat(32), state }).toString());
  for (const [prefix, expected] of [
    ['stray/', /^petstore: stray\/x exists, but stray\/meta is missing/],
    ['half/', /^petstore: An import into half\/ is not finished/],
  ] as const) {
    const [status, text] = run(settings(prefix), 'init-etcd');
    assert.match(text, expected);
    assert.equal(status, 1);
  }
  await assert.rejects(
    initEtcd({ endpoints: [...endpoints, 'http://127.0.0.1:9'], clock: fastClock }),
    / 3 of 4 endpoints have answered, 4 must; .*:9: /,
  );
});

test('init-etcd ends with 2 for mistakes, and helps', () => {
  const mistakes: readonly (readonly [Record<string, string>, readonly string[], RegExp])[] = [
    [{}, [], /^petstore: PETSTORE_ETCD or --etcd must name the endpoints\n$/],
    [{ PETSTORE_ETCD: 'e:1' }, [], /PETSTORE_ETCD must be URLs/],
    [{ PETSTORE_ETCD_PREFX: 'p/' }, ['--etcd', 'http://e:1'], /did you mean PETSTORE_ETCD_PREFIX/],
    [{}, ['--etcd', 'http://e:1', '--what'], /Unknown option --what/],
  ];
  for (const [env, args, expected] of mistakes) {
    const [status, text] = run(env, 'init-etcd', ...args);
    assert.match(text, expected);
    assert.equal(status, 2);
  }
  // It does not check the settings of the service that are not for etcd.
  const env = { PETSTORE_API_KEYS_FILE: '/nowhere', PORT: 'x' };
  const [status, text] = run(env, 'init-etcd', '--help');
  assert.match(text, /^Usage: petstore init-etcd/);
  assert.equal(status, 0);
});

test('init-etcd makes one log if a call is cut off', async () => {
  for (const fate of ['done, cut', 'not done, cut', 'unsent'] as const) {
    const etcd = new SimulatedEtcd();
    let calls = 0;
    const broken = simulatedCalls(etcd, () => ((calls += 1) === 2 ? fate : 'answered'));
    const options = { endpoints: ['http://e:1'], clock: new VirtualClock() };
    assert.equal(await initEtcd({ ...options, calls: broken }), 'made');
    assert.equal(await initEtcd({ ...options, calls: simulatedCalls(etcd) }), 'found');
  }
});
