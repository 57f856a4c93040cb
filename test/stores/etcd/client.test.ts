/** What the client does after each response of a member, or none. The tests play the member. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../../src/base/log.ts';
import { etcdClock, type CallResult } from '../../../src/stores/etcd/calls.ts';
import { EtcdClient } from '../../../src/stores/etcd/etcd-client.ts';
import type { Txn } from '../../../src/stores/etcd/etcd-json.ts';
import { initEtcd } from '../../../src/stores/etcd/open-log.ts';
import { startLinks } from '../../support/etcd/link.ts';
import { callsOf, openFast, openStore, rex } from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { EXPIRED_PEM, KEY_PEM } from '../../support/process/certificate.ts';
import { TestClock } from '../../support/test-clock.ts';
import { listenFor } from '../../support/http/service.ts';

const slow = { timeout: 60_000 } as const;

type Handler = (response: ServerResponse, request: IncomingMessage, body: string) => unknown;

/** Starts a gateway that responds by the handler. */
async function startGateway(t: TestContext, handler: Handler): Promise<string> {
  const server = createServer((request, response) => {
    void text(request).then((body) => handler(response, request, body));
  });
  return `http://127.0.0.1:${await listenFor(t, server)}`;
}

/** Starts members of a simulated etcd. */
function startEtcd(t: TestContext, count: number): Promise<readonly string[]> {
  const etcd = new SimulatedEtcd();
  const handler = member((response, _request, body) => response.end(etcd.txn(body)));
  return Promise.all(Array.from({ length: count }, () => startGateway(t, handler)));
}

const answer = (clusterId = '1'): string =>
  JSON.stringify({ header: { cluster_id: clusterId }, succeeded: true });

/** Returns a client, which is closed with the test. */
function clientOf(t: TestContext, endpoints: readonly string[], more = {}): EtcdClient {
  const client = new EtcdClient({ endpoints, ...more });
  t.after(() => client.close());
  return client;
}

/** Returns a function that makes a call, and resolves with the kind of its result. */
function callerOf(t: TestContext, endpoints: readonly string[], more = {}) {
  const client = clientOf(t, endpoints, more);
  return async (txn = {}): Promise<CallResult['kind']> => (await client.txn(txn, 'create')).kind;
}

/** A transaction of this length. */
const long = (length: number): Txn => ({ success: [{ x: 'x'.repeat(length) }] });

function fileOf(t: TestContext, content: string): string {
  const path = join(tempDir(t), 'file');
  writeFileSync(path, content);
  return path;
}

/** A member of the cluster 1 whose answer to a transaction is the handler's. */
const member =
  (handler: Handler): Handler =>
  (response, request, body) =>
    request.url === '/v3/kv/range' ? response.end(answer()) : handler(response, request, body);

const error = (status: number, code: number, message: string): Handler =>
  member((response) => {
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
  ['a response', member((response) => response.end(answer())), 'answered'],
  ['a cut connection', member((response) => response.destroy()), 'in doubt'],
  ['half a response', member(halfResponse), 'in doubt'],
  ['a response that is not JSON', member((response) => response.end('ok')), 'in doubt'],
  ['no response', member(() => undefined), 'in doubt'],
  ['an error without JSON', member((r) => r.writeHead(502).end('x')), 'in doubt'],
  ['code 14, unavailable', error(503, 14, 'etcdserver: request timed out'), 'in doubt'],
  ['code 2, unknown', error(500, 2, 'etcdserver: too many requests'), 'in doubt'],
  ['code 15, data loss', error(500, 15, 'etcdserver: corrupt cluster'), 'refused'],
  ['code 3, invalid', error(400, 3, 'etcdserver: request is too large'), 'refused'],
  ['code 7, denied', error(403, 7, 'etcdserver: permission denied'), 'refused'],
  ['code 16, unauthenticated', error(401, 16, 'etcdserver: invalid auth token'), 'refused'],
  ['code 8, exhausted', error(429, 8, 'etcdserver: mvcc: database space exceeded'), 'no space'],
  ['a byte now and then', member(drip), 'in doubt'],
  ['another cluster', member((response) => response.end(answer('2'))), 'in doubt'],
];

// Not at the same time as the others, whose limits of time it would exceed on a busy machine.
test('After an endless response a transaction is: too long', async (t) => {
  const call = callerOf(t, [await startGateway(t, member(pour))]);
  assert.equal(await call(), 'too long');
});

describe('The client', { concurrency: 4 }, () => {
  for (const [what, handler, kind] of OUTCOMES) {
    test(`After ${what} a transaction is: ${kind}`, async (t) => {
      const call = callerOf(t, [await startGateway(t, handler)]);
      assert.equal(await call(), kind);
    });
  }

  test('A start ends while members answer byte by byte, or not at all', slow, async (t) => {
    const good = await startEtcd(t, 2);
    const silent = await startGateway(t, () => undefined);
    const dripping = await startGateway(t, drip);
    await initEtcd({ endpoints: good });
    const store = await openStore(t, { endpoints: [dripping, silent, ...good] });
    assert.equal((await store.create(rex)).id, 1n);
  });

  test('Members are used in their order; a loss is logged, and its end', slow, async (t) => {
    const links = await startLinks(t, await startEtcd(t, 3));
    const endpoints = links.map(({ endpoint }) => endpoint);
    const lost = [endpoints[0] ?? '', endpoints[2] ?? ''];
    const lines: string[] = [];
    const log: Log = (level, event, { endpoint } = {}) => {
      if (lost.includes(String(endpoint))) lines.push(`${level} ${event}: ${endpoint}`);
    };
    await initEtcd({ endpoints });
    const store = await openFast(t, { endpoints, log });
    const callsTo = (index: number): number => callsOf(store, { endpoint: endpoints[index]! });
    await store.create(rex);
    assert.ok(callsTo(0) > 0);
    // A member that is not asked is lost at the same time.
    for (const index of [0, 2]) links[index]?.set('cut');
    await store.create(rex);
    while (lines.length < 2) await sleep(20);
    for (const link of links) link.set('open');
    while (lines.length < 4) await sleep(20);
    const events = ['warn An etcd endpoint fails', 'info An etcd endpoint works again'];
    const expected = events.flatMap((event) => lost.map((endpoint) => `${event}: ${endpoint}`));
    assert.deepEqual(lines.slice(0, 4).sort(), expected.sort());
    // The one that took over is kept.
    const before = callsTo(1);
    await store.create(rex);
    assert.ok(callsTo(1) > before);
  });

  test('A member that is cut off from the others costs one check, and does not work again', async (t) => {
    let sent = 0;
    const cutOff = await startGateway(t, (response, _request, body) => {
      // It answers what it can answer alone.
      if (body.includes('"serializable":true')) response.end(answer());
      else sent += 1;
    });
    const good = await startGateway(t, (response) => response.end(answer()));
    const time = new TestClock();
    const clock = { ...etcdClock, ...time.options };
    const lines: string[] = [];
    const log: Log = (_level, event, { endpoint } = {}) => void lines.push(`${event}: ${endpoint}`);
    const client = clientOf(t, [cutOff, good], { clock, log });
    client.join('1');
    assert.equal((await client.txn({}, 'read')).kind, 'unsent');
    for (let round = 0; round < 3; round += 1) {
      assert.equal((await client.txn({}, 'read')).kind, 'answered');
      await time.pass(15_000);
      // The checks end after a second.
      await sleep(1_500);
    }
    assert.deepEqual(lines, [`An etcd endpoint fails: ${cutOff}`]);
    assert.ok(sent <= 5, `${sent} requests`);
  });

  test('A long request may take longer than a short one', async (t) => {
    const endpoint = await startGateway(t, (response, { url }) =>
      setTimeout(() => response.end(answer()), url === '/v3/kv/txn' ? 3_000 : 0),
    );
    const kinds = [{}, long(1 << 20)].map(callerOf(t, [endpoint]));
    assert.deepEqual(await Promise.all(kinds), ['in doubt', 'answered']);
  });

  test('A request of which a part was not written is unsent', async (t) => {
    const server = createServer((request, response) => {
      if (request.url === '/v3/kv/range') return void response.end(answer());
      // It takes what the system's buffers hold, and not the end.
      request.pause();
      setTimeout(() => request.socket.resetAndDestroy(), 300);
    });
    const endpoint = `http://127.0.0.1:${await listenFor(t, server)}`;
    assert.equal(await callerOf(t, [endpoint])(long(32 << 20)), 'unsent');
  });

  test('An expired certificate of a member is named', async (t) => {
    const server = https.createServer({ key: KEY_PEM, cert: EXPIRED_PEM });
    const endpoint = `https://127.0.0.1:${await listenFor(t, server)}`;
    const client = clientOf(t, [endpoint], { caFile: fileOf(t, EXPIRED_PEM) });
    const cause = `${endpoint}: the member's certificate has expired`;
    assert.deepEqual(await client.txn({}, 'read'), { kind: 'unsent', cause });
  });

  test('A refused password is sent again after ten seconds', async (t) => {
    let logIns = 0;
    const message = 'etcdserver: authentication failed, invalid user ID or password';
    const endpoint = await startGateway(t, (response) => {
      logIns += 1;
      response.writeHead(400).end(JSON.stringify({ code: 3, message }));
    });
    const passwordFile = fileOf(t, 'wrong');
    const time = new TestClock();
    const clock = { ...etcdClock, ...time.options };
    const client = clientOf(t, [endpoint], { user: 'pets', passwordFile, clock });
    for (const expected of [1, 2]) {
      for (let i = 0; i < 5; i += 1) {
        const result = await client.txn({}, 'read');
        assert.match('cause' in result ? result.cause : '', /^Cannot log in: .*invalid user ID/);
      }
      assert.equal(logIns, expected);
      await time.pass(10_000);
    }
  });

  test('A create is not sent if the member that was in use has ended', async (t) => {
    const endpoint = await startGateway(t, (response) => response.end(answer()));
    const [link] = await startLinks(t, [endpoint]);
    const call = callerOf(t, [link?.endpoint ?? '']);
    assert.equal(await call(), 'answered');
    link?.close();
    // The client learns that its connection is closed, also if the machine is busy.
    for (let turn = 0; turn < 10; turn += 1) await sleep(5);
    assert.equal(await call(), 'unsent');
  });

  test('A create is in doubt if its connection is cut, and its cluster is checked again', async (t) => {
    let clusterId = '1';
    let sent = 0;
    const endpoint = await startGateway(t, (response, { url, socket }) => {
      if (url === '/v3/kv/txn') sent += 1;
      if (sent < 2 || url === '/v3/kv/range') return response.end(answer(clusterId));
      clusterId = '2';
      return socket.resetAndDestroy();
    });
    const call = callerOf(t, [endpoint]);
    for (const kind of ['answered', 'in doubt', 'unsent']) assert.equal(await call(), kind);
    assert.equal(sent, 2);
  });

  for (const [status, code, message] of [
    [401, 16, 'etcdserver: invalid auth token'],
    [400, 3, 'etcdserver: revision of auth store is old'],
    [400, 3, 'auth: revision in header is old'],
  ] as const) {
    test(`After "${message}" the client logs in again and repeats the request`, async (t) => {
      let logIns = 0;
      const tokens: (string | undefined)[] = [];
      const endpoint = await startGateway(t, (response, { url, headers }) => {
        const { authorization } = headers;
        if (url === '/v3/auth/authenticate') {
          logIns += 1;
          response.end(JSON.stringify({ token: `token-${logIns}` }));
        } else if (url === '/v3/kv/range') {
          response.end(answer());
        } else {
          tokens.push(authorization);
          if (authorization === 'token-2') response.end(answer());
          else response.writeHead(status).end(JSON.stringify({ code, message }));
        }
      });
      const call = callerOf(t, [endpoint], { user: 'pets', passwordFile: fileOf(t, 'secret\n') });
      assert.equal(await call(), 'answered');
      assert.deepEqual(tokens, ['token-1', 'token-2']);
    });
  }
});
