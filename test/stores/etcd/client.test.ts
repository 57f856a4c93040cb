/** What the client does after each response of a member, or none. The tests play the member. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { etcdClock, type CallResult } from '../../../src/stores/etcd/calls.ts';
import { EtcdClient } from '../../../src/stores/etcd/etcd-client.ts';
import type { Txn } from '../../../src/stores/etcd/etcd-json.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { EXPIRED_PEM, KEY_PEM } from '../../support/process/certificate.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { listenFor } from '../../support/http/service.ts';

type Handler = (response: ServerResponse, request: IncomingMessage) => unknown;

/** Starts a gateway that responds by the handler, and to a check for the cluster 1. */
async function startMember(t: TestContext, handler: Handler, check = works): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    (request.url === '/v3/kv/range' ? check : handler)(response, request);
  });
  return `http://127.0.0.1:${await listenFor(t, server)}`;
}

const answer = (clusterId = '1', token?: string): string =>
  JSON.stringify({ header: { cluster_id: clusterId }, succeeded: true, token });

const works: Handler = (response) => response.end(answer());

/** Returns a client, which is closed with the test. */
function clientOf(t: TestContext, endpoints: readonly string[], more = {}): EtcdClient {
  const client = new EtcdClient({ endpoints, ...more });
  t.after(() => client.close());
  return client;
}

/** Returns a function that makes a call, and resolves with the kind of its result. */
function callerOf(t: TestContext, endpoint: string, more = {}) {
  const client = clientOf(t, [endpoint], more);
  return async (txn = {}): Promise<CallResult['kind']> => (await client.txn(txn, 'create')).kind;
}

/** A transaction of this length. */
const long = (length: number): Txn => ({ success: [{ x: 'x'.repeat(length) }] });

function fileOf(t: TestContext, content: string): string {
  const path = join(tempDir(t), 'file');
  writeFileSync(path, content);
  return path;
}

const error =
  (status: number, code: number, message: string): Handler =>
  (response) =>
    response.writeHead(status).end(JSON.stringify({ code, message }));

/** Sends a byte now and then. */
const drip: Handler = (response) => {
  const dripping = setInterval(() => response.write(' '), 100);
  response.on('close', () => clearInterval(dripping));
};

/** Sends as much as the client takes. */
const pour: Handler = (response) => {
  const write = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(1 << 20)));
    if (!response.destroyed) response.once('drain', write);
  };
  response.on('error', () => undefined);
  write();
};

const halfResponse: Handler = (response) => {
  response.writeHead(200, { 'Content-Length': 100 }).write('{"header"');
  setTimeout(() => response.destroy(), 10);
};

const OUTCOMES: readonly [what: string, Handler, CallResult['kind']][] = [
  ['a response', works, 'answered'],
  ['a cut connection', (response) => response.destroy(), 'in doubt'],
  ['half a response', halfResponse, 'in doubt'],
  ['a response that is not JSON', (response) => response.end('ok'), 'in doubt'],
  ['no response', () => undefined, 'in doubt'],
  ['an error without JSON', (response) => response.writeHead(502).end('x'), 'in doubt'],
  ['code 14, unavailable', error(503, 14, 'etcdserver: request timed out'), 'in doubt'],
  ['code 2, unknown', error(500, 2, 'etcdserver: too many requests'), 'in doubt'],
  ['code 15, data loss', error(500, 15, 'etcdserver: corrupt cluster'), 'refused'],
  ['code 3, invalid', error(400, 3, 'etcdserver: request is too large'), 'refused'],
  ['code 7, denied', error(403, 7, 'etcdserver: permission denied'), 'refused'],
  ['code 16, unauthenticated', error(401, 16, 'etcdserver: invalid auth token'), 'refused'],
  ['code 8, exhausted', error(429, 8, 'etcdserver: mvcc: database space exceeded'), 'no space'],
  ['a byte now and then', drip, 'in doubt'],
  ['another cluster', (response) => response.end(answer('2')), 'in doubt'],
];

// Not at the same time as the others, whose limits of time it would exceed on a busy machine.
test('After an endless response a transaction is: too long', async (t) => {
  assert.equal(await callerOf(t, await startMember(t, pour))(), 'too long');
});

describe('The client', () => {
  for (const [what, handler, kind] of OUTCOMES) {
    test(`After ${what} a transaction is: ${kind}`, async (t) => {
      assert.equal(await callerOf(t, await startMember(t, handler))(), kind);
    });
  }

  test('A member that is cut off from the others costs one check, and another one works again', async (t) => {
    let sent = 0;
    let isLost = true;
    // It answers what it can answer alone.
    const check: Handler = async (response, request) => {
      if ((await text(request)).includes('"serializable":true')) response.end(answer());
      else sent += 1;
    };
    const first = await startMember(t, check, check);
    const reset: Handler = (...call) => (isLost ? call[0].destroy() : works(...call));
    const last = await startMember(t, reset, reset);
    const good = await startMember(t, works);
    const time = new TestClock();
    const lines: string[] = [];
    const client = clientOf(t, [first, good, last], {
      clock: { ...etcdClock, ...time.options },
      log: (_level: string, event: string, { endpoint }: Record<string, unknown>) =>
        void lines.push(`${event}: ${endpoint}`),
    });
    client.join('1');
    assert.equal((await client.txn({}, 'read')).kind, 'unsent');
    for (let round = 0; round < 3; round += 1) {
      assert.equal((await client.txn({}, 'read')).kind, 'answered');
      await time.pass(15_000);
      // The checks end after a second.
      await sleep(1_500);
      isLost = false;
    }
    await until(() => lines.length >= 3);
    const fails = [first, last].map((endpoint) => `An etcd endpoint fails: ${endpoint}`);
    assert.deepEqual(lines, [...fails, `An etcd endpoint works again: ${last}`]);
    assert.ok(sent <= 5, `${sent} requests`);
  });

  test('A long request may take longer than a short one', async (t) => {
    const endpoint = await startMember(t, (response) =>
      setTimeout(() => response.end(answer()), 3_000),
    );
    const kinds = [{}, long(1 << 20)].map(callerOf(t, endpoint));
    assert.deepEqual(await Promise.all(kinds), ['in doubt', 'answered']);
  });

  test('A request of which a part was not written is unsent', async (t) => {
    const endpoint = await startMember(t, (_response, request) => {
      // It takes what the system's buffers hold, and not the end.
      request.pause();
      setTimeout(() => request.socket.resetAndDestroy(), 300);
    });
    assert.equal(await callerOf(t, endpoint)(long(32 << 20)), 'unsent');
  });

  test('An expired certificate of a member is named', async (t) => {
    const server = https.createServer({ key: KEY_PEM, cert: EXPIRED_PEM });
    const endpoint = `https://127.0.0.1:${await listenFor(t, server)}`;
    const client = clientOf(t, [endpoint], { caFile: fileOf(t, EXPIRED_PEM) });
    const expected = `{"kind":"unsent","cause":"${endpoint}: the member's certificate has expired"}`;
    // On a busy machine the first calls may take too long.
    await until(async () => JSON.stringify(await client.txn({}, 'read')) === expected);
  });

  test('A refused password is sent again after ten seconds', async (t) => {
    let logIns = 0;
    const message = 'etcdserver: authentication failed, invalid user ID or password';
    const endpoint = await startMember(t, (response, request) => {
      logIns += 1;
      return error(400, 3, message)(response, request);
    });
    const time = new TestClock();
    const clock = { ...etcdClock, ...time.options };
    const user = { user: 'pets', passwordFile: fileOf(t, 'wrong') };
    const client = clientOf(t, [endpoint], { ...user, clock });
    for (const expected of [1, 2]) {
      for (let i = 0; i < 5; i += 1) {
        const result = await client.txn({}, 'read');
        assert.match('cause' in result ? result.cause : '', /^Cannot log in: .*invalid user ID/);
      }
      assert.equal(logIns, expected);
      await time.pass(10_000);
    }
  });

  test('A create is in doubt if its connection is cut; its member is checked again', async (t) => {
    let sent = 0;
    const first: Handler = (response) => response.end(answer(sent < 2 ? '1' : '2'));
    const reset: Handler = (response, request) => {
      sent += 1;
      return sent < 2 ? first(response, request) : request.socket.resetAndDestroy();
    };
    const call = callerOf(t, await startMember(t, reset, first));
    for (const kind of ['answered', 'in doubt', 'unsent']) assert.equal(await call(), kind);
    assert.equal(sent, 2);
  });

  test('A create is not sent if the member that was in use has ended', async (t) => {
    const server = createServer((_request, response) => response.end(answer()));
    const call = callerOf(t, `http://127.0.0.1:${await listenFor(t, server)}`);
    assert.equal(await call(), 'answered');
    server.close().closeAllConnections();
    // The client learns that its connection is closed, also if the machine is busy.
    for (let turn = 0; turn < 10; turn += 1) await sleep(5);
    assert.equal(await call(), 'unsent');
  });

  for (const [status, code, message] of [
    [401, 16, 'etcdserver: invalid auth token'],
    [400, 3, 'etcdserver: revision of auth store is old'],
    [400, 3, 'auth: revision in header is old'],
  ] as const) {
    test(`After "${message}" the client logs in again and repeats the request`, async (t) => {
      let logIns = 0;
      const tokens: (string | undefined)[] = [];
      const endpoint = await startMember(t, (response, request) => {
        const { authorization } = request.headers;
        if (request.url === '/v3/auth/authenticate') {
          return response.end(answer('1', `token-${(logIns += 1)}`));
        }
        tokens.push(authorization);
        return (authorization === 'token-2' ? works : error(status, code, message))(
          response,
          request,
        );
      });
      const user = { user: 'pets', passwordFile: fileOf(t, 'secret\n') };
      assert.equal(await callerOf(t, endpoint, user)(), 'answered');
      assert.deepEqual(tokens, ['token-1', 'token-2']);
    });
  }
});
