/** What the gate of the open network adds to a queue, row by row of the table in turns.ts. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createHttpServer } from '../../src/extras/open-network/open-network-server.ts';
import { parserStops } from '../../src/extras/open-network/parser.ts';
import { openBench, type Case } from '../http/gate-bench.ts';
import { HELD, late, NOW } from '../http/gate-cases.ts';
import { requestOf } from '../support/http/requests.ts';

/** Opens a bench that counts what node:http has parsed, on a clock that the test moves. */
async function openCounting(t: TestContext) {
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
  'The parser of this Node stops, and the log says nothing': () => {
    assert.ok(parserStops());
    createHttpServer(
      () => undefined,
      {},
      () => assert.fail(),
    );
  },

  'reading → waiting: the request behind one in progress is parsed, the rest stays bytes': async (
    t,
  ) => {
    const bench = await openCounting(t);
    const client = await bench.open(HELD + NOW.repeat(500));
    assert.deepEqual([bench.served, bench.parsed()], [['/held'], 2]);
    await bench.release();
    assert.deepEqual([client.seen().length, bench.parsed()], [501, 501]);
    // In a later iteration, too.
    const other = await bench.open(HELD);
    await other.send(NOW.repeat(500));
    assert.equal(bench.parsed(), 503);
  },

  'waiting → kept → parsing → kept: behind a request that was served in its turn all stays bytes, but its body':
    async (t) => {
      const bench = await openCounting(t);
      // The second one is in progress in its turn; and the third one, of which only bytes waited.
      for (const [before, served, parsed] of [
        [NOW, 2, 2],
        [NOW.repeat(2), 3, 3],
      ] as const) {
        const [servedBefore, parsedBefore] = [bench.served.length, bench.parsed()];
        const client = await bench.open(before + HELD + NOW.repeat(500));
        assert.equal(bench.served.length - servedBefore, served);
        assert.equal(bench.parsed() - parsedBefore, parsed);
        // Nothing of it is to come.
        assert.ok(bench.held[0]!.req.complete);
        await bench.release();
        assert.equal(client.seen().length, served + 500);
        // If nothing is left, the connection is read.
        const other = await bench.open(before + HELD);
        other.socket.resetAndDestroy();
        await bench.settle();
        assert.ok(other.serverSide.destroyed);
        bench.held.length = 0;
      }
      for (const before of [NOW, NOW.repeat(2)]) {
        const body = requestOf('POST /body', [], 'x'.repeat(9));
        const client = await bench.open(before + body + NOW);
        assert.deepEqual(client.seen().slice(-2), ['9', 'now']);
        // The beginning of a header is kept, and its end comes later.
        await client.send(NOW.repeat(2) + NOW.slice(0, -9));
        await client.send(NOW.slice(-9) + BODY.repeat(9));
        assert.deepEqual(client.seen().slice(-12), Array(12).fill('now'));
        assert.ok(bench.parsed() - bench.served.length === 0);
      }
      // While bytes are kept nothing is read, also if the header before them came in two parts.
      const client = await bench.open(NOW.repeat(2) + HELD.slice(0, -9));
      await client.send(HELD.slice(-9) + NOW.repeat(3));
      await client.send(NOW.repeat(2));
      client.socket.end(NOW);
      await bench.settle();
      await bench.release();
      const all = ['now', 'now', 'held', ...Array<string>(6).fill('now'), 'closed'];
      assert.deepEqual(client.seen(), all);
    },

  'reading → waiting: behind a last response one request is parsed, and none served': async (t) => {
    for (const last of ['GET /held?last', 'GET /now?last']) {
      const bench = await openCounting(t);
      const client = await bench.open(requestOf(last, [], 'x') + NOW.repeat(500));
      await bench.release();
      assert.deepEqual([bench.served.length, bench.parsed()], [1, 2]);
      assert.equal(client.seen().at(-1), 'closed');
    }
  },

  'reading → waiting: a connection is served once in an iteration, and then takes turns': async (
    t,
  ) => {
    // Of the line 64 are served in an iteration, or what takes a millisecond.
    for (const [ms, fromLine] of [
      [0, 64],
      [0.1, 10],
      [1, 1],
    ] as const) {
      const bench = await openCounting(t);
      bench.server.prependListener('request', () => bench.pass(ms));
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
      // And one that was read; twice, since they may come before the count.
      assert.ok(most >= 1 && most <= 2 * (fromLine + 1), `${most} requests of ${ms} ms`);
      t.mock.restoreAll();
    }
  },

  'waiting → reading: connections are served in the order of waiting, one request of each': async (
    t,
  ) => {
    const bench = await openCounting(t);
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

  'waiting → reading: what was read meanwhile is parsed, wherever a read was cut': async (t) => {
    const bench = await openCounting(t);
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
  ) => {
    const bench = await openCounting(t);
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

  'A request is late only some time after the service began to read its connection': async (t) => {
    const bench = await openCounting(t);
    const expected = [
      // Since it was opened, and since its turn came.
      ['', GRACE_MS, ['now']],
      ['G', GRACE_MS + 1, ['408', 'closed']],
      // Nothing was sent on it, so no response would be understood.
      ['', 100 * GRACE_MS, ['now']],
      [HELD + NOW, GRACE_MS, ['held', 'now', 'now']],
      [HELD + NOW, GRACE_MS + 1, ['held', 'now', '408', 'closed']],
      [`${HELD + NOW + NOW}G`, GRACE_MS + 1, ['held', 'now', 'now', '408', 'closed']],
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
