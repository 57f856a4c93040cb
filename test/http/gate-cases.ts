/**
 * What every gate promises, row by row of the tables in request-queue.ts: cases for the plain queue
 * of the core, and for any gate that stands before it.
 */

import assert from 'node:assert/strict';
import { REQUEST_TIMEOUT } from '../../src/core/http/gate.ts';
import { CHUNKED, EXPECT, requestOf } from '../support/http/requests.ts';
import { LONG, openBench, opening, type Bench } from './gate-bench.ts';

export const NOW = requestOf('GET /now');
export const HELD = requestOf('GET /held');
const HELD_LAST = requestOf('GET /held?last');
/** Its body comes with it, so that node:http runs the next tick between two requests. */
const LAST_WITH_BODY = requestOf('GET /now?last', [], 'x');
const CONNECT = requestOf('CONNECT b:443');
/** A request whose body is yet to come, and a body that is not chunked. */
const chunked = (line: string): string => requestOf(line, [CHUNKED]);
const NO_CHUNK = 'no size\r\n\r\n';

type BenchCase = (bench: Bench) => Promise<void>;

/** Sends bytes, ends all that is held, and compares what has come: its order shows the turns. */
function sees(bytes: string, ...expected: readonly string[]): BenchCase {
  return async (bench) => {
    const client = await bench.open(bytes);
    await bench.release();
    assert.deepEqual(client.seen(bytes.includes('HEAD')), expected);
  };
}

/** Sends more, of which the service reads nothing. */
async function sendUnread(client: Awaited<ReturnType<Bench['open']>>, more: string): Promise<void> {
  const { bytesRead } = client.serverSide;
  await client.send(more);
  assert.equal(client.serverSide.bytesRead, bytesRead);
}

const CASES = {
  'Requests that come together are served one after the other': async (bench) => {
    const client = await bench.open(NOW + HELD + NOW + HELD + NOW);
    assert.deepEqual([bench.served, client.seen()], [['/now', '/held'], ['now']]);
    bench.held.shift()!.end('first');
    await bench.settle();
    assert.deepEqual(bench.served, ['/now', '/held', '/now', '/held']);
    await bench.release();
    assert.deepEqual(client.seen(), ['now', 'first', 'now', 'held', 'now']);
    await client.send(NOW);
    assert.equal(client.seen().length, 6);
  },

  'A request that comes while others wait is served after them': async (bench) => {
    const client = await bench.open(HELD + NOW + requestOf('GET /now?then'));
    await client.send(requestOf('GET /now?later'));
    await bench.release();
    assert.deepEqual(bench.served, ['/held', '/now', '/now?then', '/now?later']);
    assert.deepEqual(client.seen(), ['held', 'now', 'now', 'now']);
  },

  'A request that waits for a client that does not read delays no other': async (bench) => {
    const client = await bench.open();
    client.socket.pause();
    await client.send(requestOf('GET /long'));
    await client.send(NOW + HELD + NOW);
    const other = await bench.open(NOW);
    assert.deepEqual([bench.served, other.seen()], [['/long', '/now'], ['now']]);
    client.socket.resume();
    await bench.settle();
    await bench.release();
    assert.deepEqual(client.seen(), [LONG, 'now', 'held', 'now']);
  },

  'Bodies of 300 KB between other requests arrive whole': async (bench) => {
    const body = 'x'.repeat(300_000);
    const post = requestOf('POST /body', [], body);
    const client = await bench.open(HELD + post + NOW + post + HELD + post);
    await bench.release();
    assert.deepEqual(client.seen(), ['held', '300000', 'now', '300000', 'held', '300000']);
  },

  'While a request waits, its connection is not read, and after that it is': async (bench) => {
    const client = await bench.open(HELD + NOW);
    await sendUnread(client, NOW);
    await bench.release();
    await client.send(NOW);
    assert.deepEqual(client.seen(), ['held', 'now', 'now', 'now']);
  },

  'A connection that node:http resumes while a request waits is not read': async (bench) => {
    const client = await bench.open(HELD + NOW);
    client.serverSide.resume();
    await sendUnread(client, NOW);
    await bench.release();
    assert.deepEqual(client.seen(), ['held', 'now', 'now']);
  },

  'A connection on which a request waits again is not read': async (bench) => {
    const client = await bench.open(HELD + NOW + HELD + NOW);
    bench.held.shift()!.end('first');
    await bench.settle();
    await sendUnread(client, NOW.repeat(3));
    await bench.release();
    assert.deepEqual(client.seen(), ['first', 'now', 'held', 'now', 'now', 'now', 'now']);
  },

  'A connection that is resumed and paused in one tick is not read': async (bench) => {
    const client = await bench.open(HELD + NOW);
    client.serverSide.resume();
    client.serverSide.pause();
    await sendUnread(client, NOW.repeat(3));
    await bench.release();
    assert.deepEqual(client.seen(), ['held', 'now', 'now', 'now', 'now']);
  },

  'After a last response in whose request a tick runs nothing is served': async (bench) => {
    const client = await bench.open(LAST_WITH_BODY + NOW.repeat(50));
    assert.deepEqual([bench.served.length, client.seen()], [1, ['now', 'closed']]);
  },

  'Behind a last response that is held nothing is served': async (bench) => {
    const client = await bench.open(HELD_LAST + NOW);
    await client.send(NOW);
    await bench.release();
    assert.deepEqual([bench.served, client.seen()], [['/held?last'], ['held', 'closed']]);
  },

  'What follows a last response is read and discarded, also after CONNECT': async (bench) => {
    for (const [bytes, body] of [
      [HELD_LAST + NOW, 'held'],
      [LAST_WITH_BODY + CONNECT, 'now'],
    ] as const) {
      const client = await bench.open(bytes);
      const rest = 'x'.repeat(300_000);
      await client.send(rest);
      await bench.release();
      assert.deepEqual(client.seen(), [body, 'closed']);
      assert.equal(client.serverSide.bytesRead, (bytes + rest).length);
    }
  },

  'Behind the response to an error the rest is read until its client closes, wherever the error was':
    async (bench) => {
      const chunked = requestOf('POST /body', ['Transfer-Encoding: chunked']);
      const rest = 'x'.repeat(100_000);
      for (const error of ['nonsense\r\n\r\n', `${chunked}zz\r\n`]) {
        for (const count of [0, 1, 2, 3, 4]) {
          const bytes = NOW.repeat(count) + error;
          const client = await bench.open(bytes);
          await client.send(rest);
          assert.deepEqual(client.seen(), [...Array<string>(count).fill('now'), '400', 'closed']);
          assert.equal(client.serverSide.bytesRead, (bytes + rest).length);
          client.close();
          await bench.settle();
          assert.ok(client.serverSide.destroyed);
        }
      }
    },

  'An error behind a request in progress gets its response after it': sees(
    `${HELD}nonsense\r\n\r\n`,
    ...['held', '400', 'closed'],
  ),

  'An error behind requests that wait gets its response after them': sees(
    `${HELD + NOW + HELD}nonsense\r\n\r\n`,
    ...['held', 'now', 'held', '400', 'closed'],
  ),

  'After an error nothing is read or served, and no second error gets a response': async (
    bench,
  ) => {
    const client = await bench.open(`${HELD}nonsense\r\n\r\n`);
    await sendUnread(client, `nonsense\r\n\r\n${NOW}`);
    const again = (): unknown =>
      bench.server.emit('clientError', new Error('Again'), client.serverSide);
    again();
    await bench.release();
    again();
    await bench.settle();
    assert.deepEqual(client.seen(), ['held', '400', 'closed']);
    assert.doesNotMatch(client.text(), /Again/);
  },

  'An error in the body of a request in progress is its response': sees(
    chunked('POST /body') + NO_CHUNK,
    ...['400', 'closed'],
  ),

  'An error in the body of a HEAD is its response, without content': async (bench) => {
    const client = await bench.open(chunked('HEAD /held') + NO_CHUNK);
    assert.match(client.text(), /^HTTP\/1\.1 400 [^]*\r\n\r\n$/);
    assert.doesNotMatch(client.text(), /malformed/);
  },

  'An error in the body of a request that waits is its response, in its turn': sees(
    HELD + NOW + chunked('POST /body') + NO_CHUNK,
    ...['held', 'now', '400', 'closed'],
  ),

  'An error in the body of a HEAD that waits is its response, without content': async (bench) => {
    const client = await bench.open(HELD + chunked('HEAD /held') + NO_CHUNK);
    await bench.release();
    assert.match(client.text(), /held[^]*HTTP\/1\.1 400 [^]*\r\n\r\n$/);
    assert.doesNotMatch(client.text(), /malformed/);
  },

  'An error in the body of a request whose response has begun is no response': sees(
    chunked('POST /begun') + NO_CHUNK,
    ...['held', 'closed'],
  ),

  'An error in the body of a request whose response has gone out is no response': async (bench) => {
    const client = await bench.open(chunked('POST /now'));
    assert.deepEqual(client.seen(), ['now']);
    await client.send(NO_CHUNK);
    assert.deepEqual(client.seen(), ['now', 'closed']);
  },

  'A request to upgrade that waits gets its response in its turn': sees(
    HELD + requestOf('POST /body', ['Connection: Upgrade', 'Upgrade: h2c'], 'abc'),
    ...['held', '3'],
  ),

  'An expectation that waits gets its 100 in its turn': sees(
    HELD + requestOf('POST /body', [EXPECT], 'abc') + NOW,
    ...['held', '100', '3', 'now'],
  ),

  'A client that half-closes gets all its responses': async (bench) => {
    const client = await bench.open(HELD + NOW + HELD);
    client.socket.end();
    await bench.settle();
    assert.deepEqual(client.seen(), []);
    await bench.release();
    assert.deepEqual(client.seen(), ['held', 'now', 'held', 'closed']);
  },

  'A request that is cut by a half-close gets an error after the others': async (bench) => {
    const client = await bench.open(`${HELD + NOW}GET /no`);
    client.socket.end();
    await bench.release();
    assert.deepEqual(client.seen(), ['held', 'now', '400', 'closed']);
  },

  'A timeout of a connection that is not read is ignored': async (bench) => {
    const client = await bench.open(HELD + NOW);
    bench.server.emit('clientError', late(), client.serverSide);
    await bench.release();
    assert.deepEqual(client.seen(), ['held', 'now']);
  },
} as const satisfies Readonly<Record<string, BenchCase>>;

/** The cases for a gate: those of a server that is made so. */
export const gateCases = (create: Parameters<typeof openBench>[1]) =>
  opening(CASES, (t) => openBench(t, create));

/** What node:http reports of a request that is late. */
export function late(): Error {
  return Object.assign(new Error('A deliberate error'), { code: REQUEST_TIMEOUT });
}
