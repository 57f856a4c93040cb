/** Connections without progress, second by second: which are closed, and when. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { LIMITS } from '../../src/http/limits.ts';
import { PipelineQueue, type Connection } from '../../src/http/pipelining.ts';
import { closeStalledConnections } from '../../src/http/stalled-connections.ts';

/** A connection: its socket, as far as it is looked at, and its state. */
const IDLE = {
  isDue: false,
  bytesWritten: 0,
  /** The bytes that the kernel has not accepted yet. */
  writeQueueSize: 9000,
  /** The listeners of its socket for `timeout`. */
  listeners: 1,
};
type Watched = typeof IDLE;
const DUE: Watched = { ...IDLE, isDue: true };

/** Connections, what happens in each second, and the second in which they are closed. */
const CASES: readonly (readonly [
  what: string,
  start: Watched,
  change: (watched: Watched, second: number) => void,
  closed: number | undefined,
])[] = [
  ['does not take a response', DUE, (it) => (it.bytesWritten = it.writeQueueSize += 10), 62],
  [
    'takes a byte every minute',
    DUE,
    (it, at) => (it.writeQueueSize = 9000 - Math.floor(at / 60)),
    undefined,
  ],
  ['sends no request', IDLE, () => undefined, 77],
  ['sends a request in time', IDLE, (it, at) => (it.isDue = at > 70), 132],
  ['another program has taken', { ...IDLE, listeners: 0 }, () => undefined, undefined],
];

for (const [what, start, change, closed] of CASES) {
  test(`A connection that ${what} is closed ${closed === undefined ? 'never' : `after ${closed} s`}`, (t) => {
    let second = 0;
    let closedAt: number | undefined;
    const listenerCount = (): number => start.listeners;
    const destroy = (): unknown => (closedAt ??= second);
    // One object is the connection, its socket and the handle of that.
    const progress = { isDue: false, sentBytes: 0, at: 0 };
    const watched = { ...start, progress, listenerCount, destroy };
    const socket = Object.assign(watched, { _handle: watched }) as unknown as Socket;
    const queue = new PipelineQueue(() => undefined);
    queue.connections.set(socket, Object.assign(watched, { socket }) as unknown as Connection);
    let check = (): void => assert.fail('Nothing is checked');
    t.mock.method(globalThis, 'setInterval', (run: () => void, ms: number) => {
      assert.equal(ms, 1000);
      check = run;
      return setTimeout(() => undefined, 0);
    });
    t.mock.method(performance, 'now', () => 1000 * second);
    const server = new EventEmitter() as Server;
    closeStalledConnections(server, queue, LIMITS);
    server.emit('listening');
    while (second < 300) {
      second += 1;
      change(watched, second);
      check();
    }
    assert.equal(closedAt, closed);
  });
}
