/** Starts of the etcd store that have it hard: few endpoints, a wrong one, busy writers, no log. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { joiningOf } from '../../../src/stores/etcd/join-cluster.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { encodeMeta } from '../../../src/stores/etcd/slots.ts';
import { gateway, startCluster, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { startLink } from '../../support/etcd/link.ts';
import { simulatedCalls } from '../../support/etcd/simulated-calls.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { SERVER_JS } from '../../support/process/process.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const cluster: Cluster | undefined =
  withoutEtcd === false ? await startCluster({ after }) : undefined;
const endpoints = cluster?.endpoints ?? [];
const skip = withoutEtcd;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const rex = { name: 'Rex', categoryId: 1n } as const;

/** What a check of the endpoints a, b, c … found: a cluster, silence, or a refusal. */
const JOININGS: readonly (readonly [found: string, expected: string | RegExp])[] = [
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

for (const [found, expected] of JOININGS) {
  test(`A start where the endpoints answer ${found} is: ${expected}`, () => {
    const urls = [...'abcde'].slice(0, found.length);
    const answers = [...found].map((answer, index) => {
      if (answer === '-') return { kind: 'unsent', cause: `${urls[index]}: silent` } as const;
      if (answer === '!') return { kind: 'refused', cause: `${urls[index]}: no rights` } as const;
      return { clusterId: answer, roundTripMs: 1 };
    });
    const join = (): string => {
      const joining = joiningOf(urls, answers, Math.ceil(urls.length / 2));
      if ('cause' in joining) throw new Error(`${joining.kind}: ${joining.cause}`);
      return `joined ${joining.clusterId}`;
    };
    if (typeof expected === 'string') assert.equal(join(), expected);
    else assert.throws(join, expected);
  });
}

for (const delayMs of [10, 25, 50]) {
  test(
    `A start at ${delayMs} ms beside eight busy clients is ready`,
    { skip, timeout: 60_000 },
    async (t) => {
      const prefix = `busy-${delayMs}/`;
      const writer = await openInitialized({ endpoints, prefix });
      t.after(() => writer.close());
      const links = await Promise.all(endpoints.map((endpoint) => startLink(endpoint)));
      t.after(() => links.forEach((link) => link.close()));
      for (const link of links) link.delayMs = delayMs;
      let isOver = false;
      let stored = 0;
      const clients = Array.from({ length: 8 }, async () => {
        while (!isOver) stored = Number((await writer.create(rex)).id);
      });
      const far = await openEtcdStore({
        ...{ endpoints: links.map(({ endpoint }) => endpoint), prefix },
      }).finally(() => (isOver = true));
      t.after(() => far.close());
      await Promise.all(clients);
      assert.ok(stored > 8, `${stored} pets stored`);
      assert.equal((await far.get(BigInt(stored)))?.name, 'Rex');
    },
  );
}

test('A start that takes long says what it does', async () => {
  const etcd = new SimulatedEtcd();
  const names = ['http://e:1'];
  const writer = await openInitialized({ endpoints: names, calls: simulatedCalls(etcd) });
  await writer.create(rex);
  await writer.close();
  const clock = new VirtualClock();
  const calls = simulatedCalls(etcd, () => clock.sleep(2_000).then(() => 'answered' as const));
  const lines: string[] = [];
  const log = (_level: string, event: string): void => void lines.push(event);
  const store = await openEtcdStore({ endpoints: names, calls, clock, log });
  await store.close();
  assert.deepEqual(
    [...new Set(lines)],
    ['The start waits for the etcd cluster', 'The start reads the pets from etcd'],
  );
});

test(
  'A member that was made anew, and is alone, begins no second log',
  { skip, timeout: 90_000 },
  async (t) => {
    const { members, endpoints: three } = await startCluster(t);
    const store = await openInitialized({ endpoints: three });
    await store.create(rex);
    await store.close();
    await Promise.all(members.map((member) => member.kill()));
    const [wrong] = members;
    assert.ok(wrong);
    const peer = argumentOf(wrong.child.spawnargs, '--initial-advertise-peer-urls');
    const anew = ['--data-dir', join(tempDir(t), 'anew'), '--initial-cluster', `m0=${peer}`];
    wrong.restart(anew);
    const keysOf = async (): Promise<string> =>
      gateway(wrong.endpoint, '/v3/kv/range', `{"key":"AA==","range_end":"AA=="}`);
    while (!(await keysOf().catch(() => '')).includes('cluster_id'));
    // At each place in the list.
    const orders = [0, 1, 2].map((first) => [...three.slice(first), ...three.slice(0, first)]);
    await Promise.all(
      orders.map(async (order) => {
        const expected =
          /within 10 seconds: 1 of 3 endpoints have answered, 2 must; .*ECONNREFUSED/;
        await assert.rejects(openEtcdStore({ endpoints: order }), expected);
      }),
    );
    await assert.rejects(initEtcd({ endpoints: three }), /1 of 3 endpoints have answered, 3 must/);
    // With one of two a start goes on, and finds no log.
    const [first = '', second = ''] = three;
    await assert.rejects(openEtcdStore({ endpoints: [first, second] }), /There is no log under/);
    assert.doesNotMatch(await keysOf(), /"kvs"/);
    // Beside the others it is found out.
    for (const member of members.slice(1)) member.restart();
    await Promise.all(
      orders.map((order) =>
        assert.rejects(async () => {
          // Until the others answer, and then those of both clusters do.
          for (;;) {
            await openEtcdStore({ endpoints: order }).catch((error: unknown) => {
              if (!String(error).includes('ECONNREFUSED')) throw error;
            });
          }
        }, /belong to different clusters/),
      ),
    );
  },
);

/** Runs `init-etcd` with these settings. */
function initCommand(env: Record<string, string>, ...args: readonly string[]): [number, string] {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [SERVER_JS, 'init-etcd', ...args],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], ...env } },
  );
  return [status ?? -1, stdout + stderr];
}

test('init-etcd makes a log once, and finds it then', { skip }, async () => {
  const env = { PETSTORE_ETCD: endpoints.join(','), PETSTORE_ETCD_PREFIX: 'init/' };
  const starts = openEtcdStore({ endpoints, prefix: 'init/' });
  await assert.rejects(starts, /There is no log under init\/ in etcd\..* petstore init-etcd/);
  assert.deepEqual(initCommand(env), [0, 'A new log was made in etcd, under init/\n']);
  const store = await openEtcdStore({ endpoints, prefix: 'init/' });
  assert.equal((await store.create(rex)).id, 1n);
  await store.close();
  const found = 'A ready log was found in etcd, under init/, and left as it is\n';
  assert.deepEqual(initCommand(env), [0, found]);
  const again = await openEtcdStore({ endpoints, prefix: 'init/' });
  assert.equal(again.count().total, 1);
  await again.close();
});

test('Of two init-etcd at the same time one makes the log', { skip }, async () => {
  const options = { endpoints, prefix: 'race/' };
  const results = await Promise.all(Array.from({ length: 4 }, () => initEtcd(options)));
  assert.deepEqual(results.sort(), ['found', 'found', 'found', 'made']);
});

test('init-etcd ends with 1 if it cannot make the log', { skip }, async () => {
  const [first = ''] = endpoints;
  const settings = (prefix: string, urls = endpoints): Record<string, string> => ({
    PETSTORE_ETCD: urls.join(','),
    PETSTORE_ETCD_PREFIX: prefix,
  });
  const oneDown = initCommand(settings('down/', [...endpoints, 'http://127.0.0.1:9']));
  assert.equal(oneDown[0], 1);
  assert.match(oneDown[1], /^petstore: .* 3 of 4 endpoints have answered, 4 must; .*:9: .*\n$/);
  const put = (key: string, value: string): Promise<string> =>
    gateway(first, '/v3/kv/put', JSON.stringify({ key: base64(key), value: base64(value) }));
  await put('stray/x', 'x');
  const stray = initCommand(settings('stray/'));
  assert.equal(stray[0], 1);
  assert.match(stray[1], /^petstore: There is stray\/x under stray\/, and no meta: damage/);
  const state = `importing ${'1'.repeat(32)}`;
  await put('half/meta', encodeMeta({ logId: '0'.repeat(32), state }).toString());
  const half = initCommand(settings('half/'));
  assert.equal(half[0], 1);
  assert.match(half[1], /^petstore: An import into half\/ is not finished/);
});

test('init-etcd ends with 2 for mistakes, and helps', () => {
  const mistakes: readonly (readonly [Record<string, string>, readonly string[], RegExp])[] = [
    [{}, [], /^petstore: PETSTORE_ETCD or --etcd must name the endpoints\n$/],
    [{ PETSTORE_ETCD: 'e:1' }, [], /PETSTORE_ETCD must be URLs/],
    [{ PETSTORE_ETCD_PREFX: 'p/' }, ['--etcd', 'http://e:1'], /did you mean PETSTORE_ETCD_PREFIX/],
    [{}, ['--etcd', 'http://e:1', '--what'], /Unknown option --what/],
  ];
  for (const [env, args, expected] of mistakes) {
    const [status, text] = initCommand(env, ...args);
    assert.match(text, expected);
    assert.equal(status, 2);
  }
  // Settings of the service that are not for etcd are none of its business.
  const [status, text] = initCommand({ PETSTORE_API_KEYS_FILE: '/nowhere', PORT: 'x' }, '--help');
  assert.match(text, /^Usage: petstore init-etcd/);
  assert.equal(status, 0);
});

test('init-etcd that was cut off makes one log in the end', async () => {
  for (const fate of ['done, cut', 'not done, cut', 'unsent'] as const) {
    const etcd = new SimulatedEtcd();
    let calls = 0;
    const broken = simulatedCalls(etcd, () => ((calls += 1) === 2 ? fate : 'answered'));
    const options = { endpoints: ['http://e:1'], clock: new VirtualClock() };
    assert.equal(await initEtcd({ ...options, calls: broken }), 'made');
    assert.equal(await initEtcd({ ...options, calls: simulatedCalls(etcd) }), 'found');
  }
});

test(
  'A service whose log was deleted gives no id again: it is refused in one line',
  { skip },
  async () => {
    const options = { endpoints, prefix: 'deleted/' };
    const store = await openInitialized(options);
    await store.create(rex);
    await store.close();
    const range = { key: base64('deleted/'), range_end: base64('deleted0') };
    await gateway(endpoints[0] ?? '', '/v3/kv/deleterange', JSON.stringify(range));
    const { status, stderr } = spawnSync(process.execPath, [SERVER_JS, '--port', '0'], {
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        PETSTORE_ETCD: endpoints.join(','),
        PETSTORE_ETCD_PREFIX: 'deleted/',
      },
    });
    assert.equal(status, 1);
    assert.match(stderr, /^petstore: There is no log under deleted\/ in etcd\. .*init-etcd.*\n$/);
  },
);

function argumentOf(args: readonly string[], name: string): string {
  return args[args.indexOf(name) + 1] ?? '';
}
