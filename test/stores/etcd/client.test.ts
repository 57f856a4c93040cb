/** What the client does after each response of a member, or none. The tests play the member. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../../src/base/log.ts';
import type { CallResult } from '../../../src/stores/etcd/calls.ts';
import { EtcdClient } from '../../../src/stores/etcd/etcd-client.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { startLinks } from '../../support/etcd/link.ts';
import { callsOf, openFast, openStore } from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const slow = { timeout: 60_000 } as const;
const rex = { name: 'Rex', categoryId: 1n } as const;

type Handler = (
  path: string,
  response: ServerResponse,
  request: IncomingMessage,
) => void | Promise<void>;

/** Starts a gateway that responds by the handler. */
function startGateway(t: TestContext, handler: Handler): Promise<string> {
  return startServer(t, (request, response) => {
    request.resume().on('end', () => void handler(request.url ?? '', response, request));
  });
}

async function startServer(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts members of a simulated etcd. */
function startEtcd(t: TestContext, count: number): Promise<readonly string[]> {
  const etcd = new SimulatedEtcd();
  const start = (): Promise<string> =>
    startServer(t, (request, response) => {
      void text(request).then((body) => {
        response.end(request.url === '/v3/kv/txn' ? etcd.txn(body) : answer());
      });
    });
  return Promise.all(Array.from({ length: count }, start));
}

const answer = (clusterId = '1'): string =>
  JSON.stringify({ header: { cluster_id: clusterId }, succeeded: true });

function clientOf(t: TestContext, endpoints: readonly string[], more = {}): EtcdClient {
  const client = new EtcdClient({ endpoints, ...more });
  t.after(() => client.close());
  return client;
}

/** A member of the cluster 1 whose answer to a transaction is the handler's. */
const member =
  (handler: Handler): Handler =>
  (path, response, request) =>
    path === '/v3/kv/range' ? void response.end(answer()) : handler(path, response, request);

const error = (status: number, code: number, message: string): Handler =>
  member((_path, response) => {
    response.writeHead(status).end(JSON.stringify({ code, message }));
  });

/** Sends a byte now and then. */
const drip = (response: ServerResponse): void => {
  const dripping = setInterval(() => response.write(' '), 100);
  response.on('close', () => clearInterval(dripping));
};

/** Sends as much as the client takes. */
const pour = (response: ServerResponse): void => {
  const part = Buffer.alloc(1 << 20);
  const write = (): void => {
    while (!response.destroyed && response.write(part));
    if (!response.destroyed) response.once('drain', write);
  };
  response.on('error', () => undefined);
  write();
};

const halfResponse = (response: ServerResponse): void => {
  response.writeHead(200, { 'Content-Length': 100 }).write('{"header"');
  setTimeout(() => response.destroy(), 10);
};

const OUTCOMES: readonly (readonly [what: string, Handler, CallResult['kind']])[] = [
  ['a response', member((_path, response) => void response.end(answer())), 'answered'],
  ['a cut connection', member((_path, response) => void response.destroy()), 'in doubt'],
  ['half a response', member((_path, response) => halfResponse(response)), 'in doubt'],
  ['a response that is not JSON', member((_path, response) => void response.end('ok')), 'in doubt'],
  ['no response', member(() => undefined), 'in doubt'],
  ['an error without JSON', member((_path, r) => void r.writeHead(502).end('x')), 'in doubt'],
  ['code 14, unavailable', error(503, 14, 'etcdserver: request timed out'), 'in doubt'],
  ['code 2, unknown', error(500, 2, 'etcdserver: too many requests'), 'in doubt'],
  ['code 15, data loss', error(500, 15, 'etcdserver: corrupt cluster'), 'refused'],
  ['code 3, invalid', error(400, 3, 'etcdserver: request is too large'), 'refused'],
  ['code 7, denied', error(403, 7, 'etcdserver: permission denied'), 'refused'],
  ['code 16, unauthenticated', error(401, 16, 'etcdserver: invalid auth token'), 'refused'],
  ['code 8, exhausted', error(429, 8, 'etcdserver: mvcc: database space exceeded'), 'no space'],
  ['a byte now and then', member((_path, response) => drip(response)), 'in doubt'],
  ['another cluster', member((_path, response) => void response.end(answer('2'))), 'in doubt'],
];

// Not at the same time as the others, whose limits of time it would exceed on a busy machine.
test('After an endless response a transaction is: too long', async (t) => {
  const client = clientOf(t, [
    await startGateway(
      t,
      member((_path, response) => pour(response)),
    ),
  ]);
  assert.equal((await client.txn('{}', 'create')).kind, 'too long');
});

describe('The client', { concurrency: 4 }, () => {
  for (const [what, handler, kind] of OUTCOMES) {
    test(`After ${what} a transaction is: ${kind}`, async (t) => {
      const client = clientOf(t, [await startGateway(t, handler)]);
      assert.equal((await client.txn('{}', 'create')).kind, kind);
    });
  }

  test('If a member is down nothing is sent, and the next member is asked', async (t) => {
    const good = await startGateway(t, (_path, response) => void response.end(answer()));
    const client = clientOf(t, ['http://127.0.0.1:9', good]);
    assert.equal((await client.txn('{}', 'create')).kind, 'unsent');
    assert.equal((await client.txn('{}', 'create')).kind, 'answered');
  });

  test('A start ends while members answer byte by byte, or not at all', slow, async (t) => {
    const good = await startEtcd(t, 2);
    const silent = await startGateway(t, () => undefined);
    const dripping = await startGateway(t, (_path, response) => drip(response));
    await initEtcd({ endpoints: good });
    const store = await openStore(t, { endpoints: [dripping, silent, ...good] });
    assert.equal((await store.create(rex)).id, 1n);
  });

  test('The nearest member is used, also after it failed; a loss is logged', slow, async (t) => {
    const links = await startLinks(t, await startEtcd(t, 3));
    const [farther, near, far] = links;
    assert.ok(farther && near && far);
    far.delayMs = 300;
    farther.delayMs = 400;
    const endpoints = links.map(({ endpoint }) => endpoint);
    const lost = [near.endpoint, farther.endpoint];
    const lines: string[] = [];
    const log: Log = (level, event, { endpoint } = {}) => {
      if (lost.includes(String(endpoint))) lines.push(`${level} ${event}: ${endpoint}`);
    };
    await initEtcd({ endpoints });
    const store = await openFast(t, { endpoints, log });
    const isUsed = endpoints.map((endpoint) => callsOf(store, { endpoint }) > 0);
    assert.deepEqual(isUsed, [false, true, false]);
    // A member that is not asked is lost at the same time.
    near.set('cut');
    farther.set('cut');
    await store.create(rex);
    while (lines.length < 2) await sleep(20);
    for (const link of links) link.set('open');
    const callsOfNear = (): number => callsOf(store, { endpoint: near.endpoint });
    const before = callsOfNear();
    while (lines.length < 4 || callsOfNear() < before + 3) await sleep(20);
    const events = ['warn An etcd endpoint fails', 'info An etcd endpoint works again'];
    const expected = events.flatMap((event) => lost.map((endpoint) => `${event}: ${endpoint}`));
    assert.deepEqual(lines.slice(0, 4).sort(), expected.sort());
  });

  test('A create is in doubt if its kept-alive connection is cut', async (t) => {
    let calls = 0;
    const endpoint = await startGateway(
      t,
      member((_path, response, request) => {
        calls += 1;
        if (calls === 1) response.end(answer());
        else request.socket.resetAndDestroy();
      }),
    );
    const client = clientOf(t, [endpoint]);
    assert.equal((await client.txn('{}', 'create')).kind, 'answered');
    assert.equal((await client.txn('{}', 'create')).kind, 'in doubt');
  });

  test('The client sends no transaction to a member of another cluster', async (t) => {
    let sent = 0;
    const endpoints = [
      await startGateway(t, (_path, response) => void response.end(answer())),
      await startGateway(t, (path, response) => {
        if (path === '/v3/kv/txn') sent += 1;
        response.end(answer('2'));
      }),
    ];
    const client = clientOf(t, ['http://127.0.0.1:9', ...endpoints]);
    for (let i = 0; i < 4; i += 1) await client.txn('{}', 'create');
    assert.equal(sent, 0);
  });

  test('The client asks a member for its cluster again after a failure', async (t) => {
    let clusterId = '1';
    let sent = 0;
    const endpoint = await startGateway(t, (path, response) => {
      if (path === '/v3/kv/range') return void response.end(answer(clusterId));
      sent += 1;
      clusterId = '2';
      response.destroy();
    });
    const client = clientOf(t, [endpoint]);
    assert.equal((await client.txn('{}', 'create')).kind, 'in doubt');
    assert.equal((await client.txn('{}', 'create')).kind, 'unsent');
    assert.equal(sent, 1);
  });

  for (const [status, code, message] of [
    [401, 16, 'etcdserver: invalid auth token'],
    [400, 3, 'etcdserver: revision of auth store is old'],
    [400, 3, 'auth: revision in header is old'],
  ] as const) {
    test(`After "${message}" the client logs in again and repeats the request`, async (t) => {
      let logIns = 0;
      const tokens: (string | undefined)[] = [];
      const endpoint = await startGateway(t, (path, response, request) => {
        const { authorization } = request.headers;
        if (path === '/v3/auth/authenticate') {
          logIns += 1;
          response.end(JSON.stringify({ token: `token-${logIns}` }));
        } else if (path === '/v3/kv/range') {
          response.end(answer());
        } else {
          tokens.push(authorization);
          if (authorization === 'token-2') response.end(answer());
          else response.writeHead(status).end(JSON.stringify({ code, message }));
        }
      });
      const passwordFile = join(tempDir(t), 'password');
      writeFileSync(passwordFile, 'secret\n');
      const client = clientOf(t, [endpoint], { user: 'pets', passwordFile });
      assert.equal((await client.txn('{}', 'create')).kind, 'answered');
      assert.deepEqual(tokens, ['token-1', 'token-2']);
    });
  }
});
