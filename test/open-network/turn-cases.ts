/** What the gate of the open network adds to a queue, row by row of the table in turns.ts. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { openBench } from '../http/gate-bench.ts';
import { HELD, late, NOW } from '../http/gate-cases.ts';
import { requestOf } from '../support/http/requests.ts';
import type { OpenNetwork } from './modules.ts';

type Case = (t: TestContext, extra: OpenNetwork) => Promise<void>;

/** Opens a bench that counts what node:http has parsed, on a clock that the test moves. */
async function openCounting(t: TestContext, { createHttpServer }: OpenNetwork) {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const bench = await openBench(t, createHttpServer);
  let parsed = 0;
  bench.server.prependListener('request', () => (parsed += 1));
  return { ...bench, parsed: () => parsed, pass: (ms: number): void => void (now += ms) };
}

/** Its body comes with it, so that node:http runs the next tick between the two requests. */
const BODY = requestOf('GET /now', [], 'x');
const GRACE_MS = 5000;

export const TURN_CASES = {
  'The parser of this Node stops, and the log says nothing': async (_t, extra) => {
    assert.ok(extra.parserStops());
    extra.createHttpServer(
      () => undefined,
      {},
      () => assert.fail(),
    );
  },

  'reading → waiting: the request behind one in progress is parsed, the rest stays bytes': async (
    t,
    extra,
  ) => {
    const bench = await openCounting(t, extra);
    const client = await bench.open(NOW + HELD + NOW.repeat(500));
    assert.deepEqual([bench.served, bench.parsed()], [['/now', '/held'], 3]);
    await bench.release();
    assert.deepEqual([client.seen().length, bench.parsed()], [502, 502]);
    // In a later iteration, too.
    const other = await bench.open(HELD);
    await other.send(NOW.repeat(500));
    assert.equal(bench.parsed(), 504);
  },

  'reading → waiting: behind a last response one request is parsed, and none served': async (
    t,
    extra,
  ) => {
    for (const last of ['GET /held?last', 'GET /now?last']) {
      const bench = await openCounting(t, extra);
      const client = await bench.open(requestOf(last, [], 'x') + NOW.repeat(500));
      await bench.release();
      assert.deepEqual([bench.served.length, bench.parsed()], [1, 2]);
      assert.equal(client.seen().at(-1), 'closed');
    }
  },

  'reading → waiting: a connection is served once in an iteration, and then takes turns': async (
    t,
    extra,
  ) => {
    const bench = await openCounting(t, extra);
    let isOver = false;
    let most = 0;
    /** Counts the requests that are served between two polls of all connections. */
    const count = (before: number): void => {
      most = Math.max(most, bench.served.length - before);
      if (!isOver) setImmediate(count, bench.served.length);
    };
    count(0);
    const client = await bench.open(BODY.repeat(500));
    isOver = true;
    assert.equal(client.seen().length, 500);
    // 64 that wait for others, and one that was read; twice, since they may come before the count.
    assert.ok(most >= 1 && most <= 2 * 65, `${most} requests`);
  },

  'waiting → reading: connections are served in the order of waiting, one request of each': async (
    t,
    extra,
  ) => {
    const bench = await openCounting(t, extra);
    const targets = ['/now?a', '/now?b', '/now?c', '/now?d', '/now?e'];
    for (const target of targets) await bench.open(HELD + requestOf(`GET ${target}`).repeat(20));
    bench.served.length = 0;
    const order = [3, 1, 4, 0, 2];
    const held = bench.held.splice(0);
    for (const index of order) held[index]!.end('held');
    await bench.settle();
    const inTurn = Array.from({ length: 100 }, (_, turn) => targets[order[turn % 5]!]);
    assert.deepEqual(bench.served, inTurn);
  },

  'waiting → reading: what was read meanwhile is parsed, wherever a read was cut': async (
    t,
    extra,
  ) => {
    const bench = await openCounting(t, extra);
    const posts = Array.from({ length: 40 }, (_, i) =>
      requestOf('POST /body', [], 'x'.repeat(i + 1)),
    );
    const bytes = HELD + posts.join('');
    const client = await bench.open(bytes.slice(0, -100));
    await client.send(bytes.slice(-100));
    await bench.release();
    assert.deepEqual(client.seen(), ['held', ...posts.map((_, i) => String(i + 1))]);
  },

  'waiting → reading: in its turn a connection is read, although nobody reads the body': async (
    t,
    extra,
  ) => {
    const bench = await openCounting(t, extra);
    // More than are served in one iteration: some wait for their turn, and are held until then.
    const clients = [];
    for (let i = 0; i < 2 * 65; i += 1) {
      clients.push(await bench.open(HELD + requestOf('POST /held', ['Content-Length: 9'])));
    }
    for (const response of bench.held.splice(0)) response.end('held');
    await bench.settle();
    assert.equal(bench.served.length, 2 * clients.length);
    // Only a socket that is read reports it.
    for (const { socket } of clients) socket.resetAndDestroy();
    await bench.settle();
    assert.ok(clients.every(({ serverSide }) => serverSide.destroyed));
  },

  'A request is late only some time after the service began to read its connection': async (
    t,
    extra,
  ) => {
    const bench = await openCounting(t, extra);
    const expected = [
      // Since it was opened, and since its turn came.
      ['', GRACE_MS, ['now']],
      ['G', GRACE_MS + 1, ['408', 'closed']],
      // Nothing was sent on it, so no response would be understood.
      ['', 100 * GRACE_MS, ['now']],
      [HELD + NOW, GRACE_MS, ['held', 'now', 'now']],
      [HELD + NOW, GRACE_MS + 1, ['held', 'now', '408', 'closed']],
    ] as const;
    for (const [before, ms, seen] of expected) {
      const client = await bench.open(before);
      if (before !== '') bench.pass(10 * GRACE_MS);
      await bench.release();
      bench.pass(ms);
      bench.server.emit('clientError', late(), client.serverSide);
      await client.send(NOW);
      assert.deepEqual(client.seen(), seen);
    }
  },
} as const satisfies Readonly<Record<string, Case>>;
