/** What the client does after each response of a member, or none. The tests play the member. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../../src/base/log.ts';
import type { CallResult } from '../../../src/stores/etcd/calls.ts';
import { EtcdClient } from '../../../src/stores/etcd/etcd-client.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { startLinks } from '../../support/etcd/link.ts';
import { callsOf, openFast, openStore, rex } from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
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

/** Returns a function that makes a call, and resolves with the kind of its result. */
function callerOf(t: TestContext, endpoints: readonly string[], more = {}) {
  const client = new EtcdClient({ endpoints, ...more });
  t.after(() => client.close());
  return async (): Promise<CallResult['kind']> => (await client.txn('{}', 'create')).kind;
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
    const callsOfNear = (): number => callsOf(store, { endpoint: near.endpoint });
    // On a busy machine the first round trips may mislead.
    while (callsOfNear() === 0) await sleep(20);
    // A member that is not asked is lost at the same time.
    near.set('cut');
    farther.set('cut');
    await store.create(rex);
    while (lines.length < 2) await sleep(20);
    for (const link of links) link.set('open');
    const before = callsOfNear();
    while (lines.length < 4 || callsOfNear() < before + 3) await sleep(20);
    const events = ['warn An etcd endpoint fails', 'info An etcd endpoint works again'];
    const expected = events.flatMap((event) => lost.map((endpoint) => `${event}: ${endpoint}`));
    assert.deepEqual(lines.slice(0, 4).sort(), expected.sort());
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
      const passwordFile = join(tempDir(t), 'password');
      writeFileSync(passwordFile, 'secret\n');
      const call = callerOf(t, [endpoint], { user: 'pets', passwordFile });
      assert.equal(await call(), 'answered');
      assert.deepEqual(tokens, ['token-1', 'token-2']);
    });
  }
});
