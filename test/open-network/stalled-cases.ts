/** Which connections are closed because they make no progress, and when, second by second. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { TestContext } from 'node:test';
import { LIMITS } from '../../src/core/http/limits.ts';
import type { OpenNetwork } from './modules.ts';

/** A socket, as far as it is looked at. */
class WatchedSocket extends EventEmitter {
  bytesRead = 9;
  bytesWritten = 0;
  writable = true;
  isGivenAway = false;
  /** The bytes that the kernel has not accepted yet. */
  readonly _handle = { writeQueueSize: 0 };
  /** How often something was written, to see whether the client is still there. */
  probes = 0;
  isHeld = false;
  closedAt: number | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    super();
    this.#now = now;
  }

  override listenerCount(): number {
    return this.isGivenAway ? 0 : 1;
  }

  isPaused(): boolean {
    return this.isHeld;
  }

  write(): void {
    this.probes += 1;
  }

  destroy(): void {
    this.closedAt ??= this.#now() / 1000;
  }

  /** The first call of a lingering close. */
  end(): void {
    this.writable = false;
    this.destroy();
  }
}

/** Watches sockets of a server, on a clock that `pass` moves by seconds. */
function watch(t: TestContext, { closeStalledConnections }: OpenNetwork, maxConnections = 1024) {
  let second = 0;
  let check = (): void => assert.fail('Nothing is checked');
  t.mock.method(globalThis, 'setInterval', (run: () => void, ms: number) => {
    assert.equal(ms, 1000);
    check = run;
    return setTimeout(() => undefined, 0);
  });
  t.mock.method(performance, 'now', () => 1000 * second);
  const server = new EventEmitter() as Server;
  closeStalledConnections(server, { ...LIMITS, maxConnections });
  server.emit('listening');
  return {
    server,
    connect(): WatchedSocket {
      const socket = new WatchedSocket(() => 1000 * second);
      server.emit('connection', socket);
      return socket;
    },
    /** A request comes. Returns what ends its response. */
    request(socket: WatchedSocket, event = 'request'): () => void {
      const response = { writableEnded: false, socket: socket as WatchedSocket | null };
      server.emit(event, { socket }, response);
      return () => Object.assign(response, { writableEnded: true, socket: null });
    },
    /** Runs the checks of so many seconds, with what happens before each. */
    pass(seconds: number, happens: (second: number) => void = () => undefined): void {
      for (const last = second + seconds; second < last;) {
        second += 1;
        happens(second);
        check();
      }
    },
  };
}

type Case = (t: TestContext, extra: OpenNetwork) => void;

export const STALLED_CASES = {
  'A connection that does not take its response is closed after a minute': (t, extra) => {
    const { connect, request, pass } = watch(t, extra);
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      const socket = connect();
      request(socket, event);
      const seconds: number[] = [];
      // What is only queued is no progress.
      pass(100, (second) => {
        seconds.push(second);
        socket.bytesWritten = socket._handle.writeQueueSize += 10;
      });
      assert.equal(seconds.indexOf(socket.closedAt!), 61);
    }
  },
  'A connection that takes a byte every minute stays': (t, extra) => {
    const { connect, request, pass } = watch(t, extra);
    const socket = connect();
    request(socket);
    pass(300, (second) => (socket._handle.writeQueueSize = -Math.floor(second / 60)));
    assert.equal(socket.closedAt, undefined);
  },
  'A connection on which no request comes is closed after 76 seconds': (t, extra) => {
    const { connect, pass } = watch(t, extra);
    const socket = connect();
    pass(100);
    assert.equal(socket.closedAt, 76);
  },
  'A connection on which nothing was sent is closed after 66 seconds': (t, extra) => {
    const { connect, pass } = watch(t, extra);
    const socket = connect();
    socket.bytesRead = 0;
    pass(100);
    assert.equal(socket.closedAt, 66);
  },
  'A request in time begins a new time, and so does the end of its response': (t, extra) => {
    const { connect, request, pass } = watch(t, extra);
    const socket = connect();
    let end = (): void => undefined;
    pass(70);
    end = request(socket);
    pass(50);
    end();
    pass(70);
    assert.equal(socket.closedAt, undefined);
    pass(10);
    assert.equal(socket.closedAt, 197);
  },
  'A connection that another program has taken stays': (t, extra) => {
    const { connect, pass } = watch(t, extra);
    const socket = connect();
    socket.isGivenAway = true;
    pass(300);
    assert.equal(socket.closedAt, undefined);
  },
  'A connection that is not read is written to, which shows a reset': (t, extra) => {
    const { connect, pass } = watch(t, extra);
    const [held, read, ended] = [connect(), connect(), connect()];
    held.isHeld = ended.isHeld = true;
    ended.writable = false;
    pass(3);
    assert.deepEqual([held.probes, read.probes, ended.probes], [3, 0, 0]);
  },
  'If all are taken but a part, the one without progress for the longest time goes': (t, extra) => {
    const { server, connect, request, pass } = watch(t, extra, 64);
    const sockets = Array.from({ length: 62 }, connect);
    // Not these: one has a response to get, another program has taken one, one is ending.
    request(sockets[0]!);
    sockets[1]!.isGivenAway = true;
    sockets[2]!.writable = false;
    pass(2, (second) => {
      for (const socket of sockets.slice(5)) socket.bytesWritten += 1;
      if (second === 1) sockets[4]!.bytesWritten += 1;
    });
    const closed = (): number[] => sockets.flatMap(({ closedAt }, i) => (closedAt ? [i] : []));
    assert.deepEqual(closed(), []);
    connect();
    assert.deepEqual(closed(), [3]);
    server.emit('drop');
    assert.deepEqual(closed(), [3]);
    pass(1, () => {
      for (const socket of sockets.slice(5)) socket.bytesWritten += 1;
    });
    server.emit('drop');
    assert.deepEqual(closed(), [3, 4]);
    // The others made progress a moment ago.
    server.emit('drop');
    assert.deepEqual(closed(), [3, 4]);
  },
  'A connection that has closed is no longer counted': (t, extra) => {
    const { connect, pass } = watch(t, extra, 64);
    const sockets = Array.from({ length: 62 }, connect);
    pass(2);
    sockets[0]!.emit('close');
    connect();
    assert.ok(sockets.every(({ closedAt }) => closedAt === undefined));
  },
} as const satisfies Readonly<Record<string, Case>>;
