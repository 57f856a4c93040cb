/**
 * What the client does after each response of a member, or none. The tests play the member, and
 * move the client's clock: no request takes too long because the machine is slow.
 */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../../../src/core/base/logger.ts';
import { etcdClock, type CallResult } from '../../../src/extras/etcd/calls.ts';
import { EtcdClient } from '../../../src/extras/etcd/etcd-client.ts';
import type { Txn } from '../../../src/extras/etcd/etcd-json.ts';
import type { ClusterOptions } from '../../../src/extras/etcd/etcd-options.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { EXPIRED_PEM, KEY_PEM } from '../../support/process/certificate.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { listenFor } from '../../support/http/service.ts';

type Handler = (response: ServerResponse, request: IncomingMessage, time: TestClock) => unknown;

/** Starts a gateway that responds by the handler, and to a check for the cluster 1. */
async function startMember(
  t: TestContext,
  handler: Handler,
  check: Handler = works,
  time = new TestClock(),
): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    void (request.url === '/v3/kv/range' ? check : handler)(response, request, time);
  });
  return `http://127.0.0.1:${await listenFor(t, server)}`;
}

const answer = (clusterId = '1', token?: string): string =>
  JSON.stringify({ header: { cluster_id: clusterId }, succeeded: true, token });

const works = (response: ServerResponse): unknown => response.end(answer());

/** Returns a client with this clock, which is closed with the test. */
function clientOf(
  t: TestContext,
  endpoints: readonly string[],
  more: Partial<ClusterOptions> = {},
  time = new TestClock(),
): EtcdClient {
  const clock = { ...etcdClock, ...time.options };
  const client = new EtcdClient({ endpoints, clock, ...more });
  t.after(() => client.close());
  return client;
}

/** Returns a function that makes a call, and resolves with the kind of its result. */
function callerOf(t: TestContext, endpoint: string, more = {}, time = new TestClock()) {
  const client = clientOf(t, [endpoint], more, time);
  return async (txn = {}): Promise<CallResult['kind']> => (await client.txn(txn, 'create')).kind;
}

/** How long a client waits for the response to a short request. */
const CALL_MS = 2_000;

/** How many requests a client without a call in progress waits for: it has one timer of its own. */
const waitingOf = ({ timers }: TestClock): number => timers - 1;

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

/** Responds when the client has waited for as long as it should. */
const late: Handler = async (response, _request, time) => {
  await time.pass(CALL_MS);
  works(response);
};

/** Sends a byte each second, and responds after a minute. */
const drip: Handler = async (response, _request, time) => {
  for (let seconds = 0; seconds < 60; seconds += 1) {
    const before = time.timersSet;
    response.write(' ');
    // The client waits again after each byte.
    await until(() => time.timersSet > before || response.destroyed);
    await time.pass(1_000);
  }
  works(response);
};

/** Sends 80 MiB, as fast as the client takes them. */
const pour: Handler = async (response) => {
  await pipeline(Array<Buffer>(80).fill(Buffer.alloc(1 << 20)), response).catch(() => undefined);
};

const halfResponse: Handler = (response) => {
  response.writeHead(200, { 'Content-Length': 100 });
  response.write('{"header"', () => response.destroy());
};

const OUTCOMES: readonly [what: string, Handler, CallResult['kind']][] = [
  ['a response', works, 'answered'],
  ['a cut connection', (response) => response.destroy(), 'in doubt'],
  ['half a response', halfResponse, 'in doubt'],
  ['a response that is not JSON', (response) => response.end('ok'), 'in doubt'],
  ['no response', late, 'in doubt'],
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
  ['a response of 80 MiB', pour, 'too long'],
];

describe('The client', () => {
  for (const [what, handler, kind] of OUTCOMES) {
    test(`After ${what} a transaction is: ${kind}`, async (t) => {
      const time = new TestClock();
      const endpoint = await startMember(t, handler, works, time);
      assert.equal(await callerOf(t, endpoint, {}, time)(), kind);
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
    const reset: Handler = (response) => (isLost ? response.destroy() : works(response));
    const last = await startMember(t, reset, reset);
    const good = await startMember(t, works);
    const time = new TestClock();
    const lines: string[] = [];
    const log: Logger = (_level, event, { endpoint } = {}) => {
      lines.push(`${event}: ${String(endpoint)}`);
    };
    const client = clientOf(t, [first, good, last], { log }, time);
    client.join('1');
    /** Ends the nth check of the first member: it has arrived, and all others have ended. */
    const endCheck = async (nth: number): Promise<void> => {
      await nextTurn();
      assert.ok(waitingOf(time) > 0, 'No check was sent');
      await until(() => sent === nth && waitingOf(time) === 1);
      await time.pass(CALL_MS);
      await nextTurn();
    };
    const call = client.txn({}, 'read');
    await endCheck(1);
    assert.equal((await call).kind, 'unsent');
    for (const nth of [2, 3, 4]) {
      assert.equal((await client.txn({}, 'read')).kind, 'answered');
      await time.pass(15_000);
      await endCheck(nth);
      isLost = false;
    }
    const fails = [first, last].map((endpoint) => `An etcd endpoint fails: ${endpoint}`);
    assert.deepEqual(lines, [...fails, `An etcd endpoint works again: ${last}`]);
    assert.equal(sent, 4);
  });

  test('If its only member belongs to another cluster for ten seconds, the cluster is lost', async (t) => {
    const time = new TestClock();
    const strange: Handler = (response) => response.end(answer('2'));
    const client = clientOf(t, [await startMember(t, works, strange)], {}, time);
    client.join('1');
    for (const isLost of [false, true]) {
      assert.equal('isOtherCluster' in (await client.txn({}, 'read')), isLost);
      await time.pass(10_000);
    }
  });

  test('A long request may take longer than a short one', async (t) => {
    const time = new TestClock();
    const requests: ServerResponse[] = [];
    const endpoint = await startMember(t, async (response, request) => {
      await text(request);
      requests.push(response);
    });
    const kinds = [{}, long(1 << 20)].map(callerOf(t, endpoint, {}, time));
    await until(() => requests.length === 2);
    await time.pass(CALL_MS + 1_000);
    requests.forEach(works);
    assert.deepEqual(await Promise.all(kinds), ['in doubt', 'answered']);
  });

  test('A request of which a part was not written is unsent', async (t) => {
    // The system's buffers do not hold the end.
    const reset: Handler = (_response, request) => request.socket.resetAndDestroy();
    const endpoint = await startMember(t, reset);
    assert.equal(await callerOf(t, endpoint)(long(32 << 20)), 'unsent');
  });

  test('An expired certificate of a member is named', async (t) => {
    const server = https.createServer({ key: KEY_PEM, cert: EXPIRED_PEM });
    const endpoint = `https://127.0.0.1:${await listenFor(t, server)}`;
    const client = clientOf(t, [endpoint], { caFile: fileOf(t, EXPIRED_PEM) });
    const cause = `${endpoint}: the member's certificate has expired`;
    assert.deepEqual(await client.txn({}, 'read'), { kind: 'unsent', cause });
  });

  for (const [refusal, code, kind] of [
    ['authentication failed, invalid user ID or password', 3, 'refused'],
    // While auth is off, calls need no token.
    ['authentication is not enabled', 9, 'answered'],
  ] as const) {
    test(`After "${refusal}" calls are ${kind}, and a log-in is tried every ten seconds`, async (t) => {
      let logIns = 0;
      const time = new TestClock();
      const endpoint = await startMember(t, (response, request) => {
        if (request.url !== '/v3/auth/authenticate') return works(response);
        logIns += 1;
        return error(400, code, `etcdserver: ${refusal}`)(response, request, time);
      });
      const user = { user: 'pets', passwordFile: fileOf(t, 'secret') };
      const call = callerOf(t, endpoint, user, time);
      for (const expected of [1, 2]) {
        for (let i = 0; i < 5; i += 1) assert.equal(await call(), kind);
        assert.equal(logIns, expected);
        await time.pass(10_000);
      }
    });
  }

  test('A create is in doubt if its connection is cut; its member is checked again', async (t) => {
    let sent = 0;
    const first = (response: ServerResponse): unknown => response.end(answer(sent < 2 ? '1' : '2'));
    const reset: Handler = (response, request) => {
      sent += 1;
      return sent < 2 ? first(response) : request.socket.resetAndDestroy();
    };
    const call = callerOf(t, await startMember(t, reset, first));
    for (const kind of ['answered', 'in doubt', 'unsent']) assert.equal(await call(), kind);
    assert.equal(sent, 2);
  });

  test('A create is not sent if the member that was in use has ended', async (t) => {
    const server = createServer((_request, response) => response.end(answer()));
    const call = callerOf(t, `http://127.0.0.1:${await listenFor(t, server)}`);
    const sockets: Socket[] = [];
    const onSocket = (opened: unknown): void => {
      sockets.push((opened as { readonly socket: Socket }).socket);
    };
    subscribe('net.client.socket', onSocket);
    t.after(() => unsubscribe('net.client.socket', onSocket));
    assert.equal(await call(), 'answered');
    const [socket] = sockets;
    server.close().closeAllConnections();
    // The client learns that its connection is closed. By itself an idle one keeps nothing alive.
    await once(socket!.ref(), 'close');
    assert.equal(await call(), 'unsent');
  });

  for (const message of [
    'etcdserver: invalid auth token',
    'etcdserver: revision of auth store is old',
    'auth: revision in header is old',
  ]) {
    test(`After "${message}" the client logs in again and repeats the request`, async (t) => {
      let logIns = 0;
      const tokens: (string | undefined)[] = [];
      const endpoint = await startMember(t, (response, request, time) => {
        const { authorization } = request.headers;
        if (request.url === '/v3/auth/authenticate') {
          return response.end(answer('1', `token-${(logIns += 1)}`));
        }
        tokens.push(authorization);
        if (authorization === 'token-2') return works(response);
        return error(400, 3, message)(response, request, time);
      });
      const user = { user: 'pets', passwordFile: fileOf(t, 'secret\n') };
      assert.equal(await callerOf(t, endpoint, user)(), 'answered');
      assert.deepEqual(tokens, ['token-1', 'token-2']);
    });
  }

  test('Calls whose token has expired share one log-in, since a member takes long for it', async (t) => {
    let logIns = 0;
    let hasExpired = false;
    const refusals: (() => unknown)[] = [];
    const refuse = error(401, 16, 'etcdserver: invalid auth token');
    const endpoint = await startMember(t, (response, request, time) => {
      if (request.url === '/v3/auth/authenticate') {
        return response.end(answer('1', `token-${(logIns += 1)}`));
      }
      if (hasExpired && request.headers.authorization === 'token-1') {
        refusals.push(() => refuse(response, request, time));
        // The other one is refused when the first one has been repeated with the new token.
        return refusals.length === 2 && refusals.shift()!();
      }
      works(response);
      return refusals.shift()?.();
    });
    const call = callerOf(t, endpoint, { user: 'pets', passwordFile: fileOf(t, 'secret') });
    assert.equal(await call(), 'answered');
    hasExpired = true;
    assert.deepEqual(await Promise.all([call(), call()]), ['answered', 'answered']);
    assert.equal(logIns, 2);
  });
});
