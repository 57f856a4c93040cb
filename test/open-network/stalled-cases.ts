/** Which connections are closed because they make no progress, and when, second by second. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { TestContext } from 'node:test';
import { createPlainServer, responsesOf } from '../../src/core/http/http-server.ts';
import { LIMITS, type Limits } from '../../src/core/http/limits.ts';
import { closeStalledConnections } from '../../src/extras/open-network/stalled-connections.ts';
import type { Case } from '../http/gate-bench.ts';

/** A socket, as far as it is looked at. */
class WatchedSocket extends EventEmitter {
  bytesRead = 9;
  bytesWritten = 0;
  /** The bytes that the client does not take, as far as the service has sent them. */
  writableLength = 0;
  writable = true;
  isGivenAway = false;
  /** The bytes that the kernel has not accepted yet. */
  readonly _handle = { writeQueueSize: 0 };
  /** How often something was written, to see whether the client is still there. */
  probes = 0;
  isDestroyed = false;
  closedAt: number | undefined;
  isPaused = (): boolean => false;
  readonly pause = (): this => this;
  readonly resume = (): this => this;

  override listenerCount(): number {
    return this.isGivenAway ? 0 : 1;
  }

  write(): void {
    this.probes += 1;
  }

  destroy(): void {
    this.isDestroyed = true;
    this.closedAt ??= performance.now() / 1000;
    this.emit('close');
  }

  /** The first call of a lingering close, which ends when the client closes its side. */
  end(): void {
    this.closedAt ??= performance.now() / 1000;
    this.writable = false;
  }
}

/** Watches sockets of a server, on a clock that `pass` moves by seconds. */
function watch(t: TestContext, limits: Partial<Limits> = {}) {
  let second = 0;
  let check = (): void => assert.fail('Nothing is checked');
  const sockets: WatchedSocket[] = [];
  t.mock.method(globalThis, 'setInterval', (run: () => void, ms: number) => {
    assert.equal(ms, 1000);
    check = run;
    return setTimeout(() => undefined, 0);
  });
  t.mock.method(performance, 'now', () => 1000 * second);
  const server = createPlainServer(() => undefined);
  // The sockets and responses are no real ones.
  server.removeAllListeners();
  const responses = responsesOf(server) as unknown as Map<WatchedSocket, object | string>;
  closeStalledConnections(server, { ...LIMITS, ...limits });
  server.emit('listening');
  return {
    server,
    connect(): WatchedSocket {
      const socket = new WatchedSocket();
      sockets.push(socket);
      responses.set(socket, 'none');
      socket.once('close', () => responses.delete(socket));
      server.emit('connection', socket);
      return socket;
    },
    /** A request comes. Returns what ends its response. */
    request(socket: WatchedSocket): () => void {
      responses.set(socket, {});
      return () => void responses.set(socket, 'sent');
    },
    /** Which connections were closed, by their numbers. */
    closed(): readonly number[] {
      return [...sockets.entries()].flatMap(([i, { closedAt }]) => (closedAt ? [i] : []));
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

export const STALLED_CASES = {
  'A connection that does not take its response is closed after a minute': (t) => {
    const { connect, request, pass } = watch(t);
    const socket = connect();
    request(socket);
    // What is only queued is no progress.
    pass(100, () => (socket.bytesWritten = socket._handle.writeQueueSize += 10));
    assert.equal(socket.closedAt, 62);
  },
  'A connection that takes a byte every minute stays': (t) => {
    const { connect, request, pass } = watch(t);
    const socket = connect();
    request(socket);
    pass(300, (second) => (socket._handle.writeQueueSize = -Math.floor(second / 60)));
    assert.equal(socket.closedAt, undefined);
  },
  'A connection on which no request comes is closed after 76 s, or 66 s if nothing was sent': (
    t,
  ) => {
    const { connect, pass } = watch(t);
    const [begun, unused] = [connect(), connect()];
    unused.bytesRead = 0;
    pass(100);
    assert.deepEqual([begun.closedAt, unused.closedAt], [76, 66]);
  },
  'A limit of 0 is no limit': (t) => {
    const { connect, request, pass, closed } = watch(t, { timeout: 0, keepAliveTimeout: 0 });
    connect();
    request(connect());
    pass(300);
    assert.deepEqual(closed(), []);
  },
  'A request in time begins a new time, and so does the end of its response': (t) => {
    const { connect, request, pass } = watch(t);
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
  'A connection that another program has taken stays': (t) => {
    const { connect, pass } = watch(t);
    const socket = connect();
    socket.isGivenAway = true;
    pass(300);
    assert.equal(socket.closedAt, undefined);
  },
  'A connection that is not read is written to, which shows a reset': (t) => {
    const { connect, pass } = watch(t);
    const [held, read, ended] = [connect(), connect(), connect()];
    held.isPaused = ended.isPaused = () => true;
    ended.writable = false;
    pass(3);
    assert.deepEqual([held.probes, read.probes, ended.probes], [3, 0, 0]);
  },
  'If all are taken but a part, an unused one goes first, that without progress for the longest time':
    (t) => {
      const { server, connect, request, pass, closed } = watch(t, { maxConnections: 64 });
      const sockets = Array.from({ length: 62 }, connect);
      // Not these: one has a response to get, another program has taken one.
      request(sockets[0]!);
      sockets[1]!.isGivenAway = true;
      // These later: they are idle between two requests.
      for (const socket of sockets.slice(5)) request(socket)();
      pass(3, (second) => {
        if (second === 1) for (const socket of sockets.slice(4)) socket.bytesWritten += 1;
      });
      // It has had its last response, and does not close its side.
      request(sockets[3]!)();
      sockets[3]!.writable = false;
      assert.deepEqual(closed(), []);
      connect();
      assert.deepEqual(closed(), [2]);
      connect();
      assert.deepEqual(closed(), [2, 3]);
      // The one that is left made progress a moment ago.
      sockets[4]!.bytesWritten += 1;
      connect();
      assert.deepEqual(closed(), [2, 3, 5]);
      // While the client of the idle one has time to close its side, no other one is closed.
      server.emit('drop');
      assert.deepEqual(closed(), [2, 3, 5]);
      assert.equal(sockets[5]!.isDestroyed, false);
      pass(2);
      assert.equal(sockets[5]!.isDestroyed, true);
      connect();
      assert.deepEqual(closed(), [2, 3, 5, 62]);
    },
  'After connections that came together, the check frees places, one of each 32 and at least one': (
    t,
  ) => {
    for (const [maxConnections, gone] of [
      [64, [0, 1]],
      [29, [0]],
    ] as const) {
      const { server, connect, pass, closed } = watch(t, { maxConnections });
      const sockets = Array.from({ length: maxConnections }, connect);
      // As a slow reader it could go. But a moment ago none could, so none is looked for.
      sockets[0]!.writableLength = 1;
      server.emit('drop');
      sockets[0]!.writableLength = 0;
      pass(1);
      assert.deepEqual(closed(), []);
      pass(3);
      assert.deepEqual(closed(), gone);
      // Nothing is to be sent to their clients, so the places are free at once.
      assert.ok(gone.every((i) => sockets[i]!.isDestroyed));
    }
  },
  'If all are taken but a part, the slowest reader goes before an idle connection': (t) => {
    const { connect, request, pass, closed } = watch(t, { maxConnections: 64 });
    const sockets = Array.from({ length: 62 }, connect);
    const [idle, waiting, honest, ...slow] = sockets as [WatchedSocket, ...WatchedSocket[]];
    request(idle)();
    // Of its response the service has sent nothing: its request waits for the store.
    request(waiting!);
    for (const socket of [honest!, ...slow]) {
      request(socket);
      // The buffers of the kernel take the beginning, however slow the client is.
      socket.bytesWritten += socket === honest ? 1e6 : 1e7;
      socket.writableLength = 1;
    }
    // The honest one takes more than the others, but in bursts.
    pass(22, (second) => {
      if (second % 4 === 0) honest!.bytesWritten += 4000;
      for (const [i, socket] of slow.entries()) socket.bytesWritten += 300 - i;
    });
    for (let slowest = 61; slowest > 1; slowest -= 1) {
      connect();
      assert.equal(closed()[0], slowest);
    }
  },
  'If it is not known how slow readers are, one of them goes if there are more than idle ones': (
    t,
  ) => {
    for (const [readers, gone] of [
      [30, 30],
      [31, 1],
      [32, 1],
    ] as const) {
      const { connect, request, pass, closed } = watch(t, { maxConnections: 64 });
      const sockets = Array.from({ length: 62 }, connect);
      for (const socket of sockets.slice(0, readers)) request(socket);
      for (const socket of sockets.slice(readers)) request(socket)();
      // One of them makes progress later.
      pass(1);
      pass(1, () => (sockets[0]!.bytesWritten += 1));
      for (const socket of sockets.slice(0, readers)) socket.writableLength = 1;
      connect();
      assert.deepEqual(closed(), [gone]);
    }
  },
  'If most connections are new, an idle one stays': (t) => {
    for (const [idle, gone] of [
      [31, []],
      [32, [0]],
    ] as const) {
      const { connect, request, pass, closed } = watch(t, { maxConnections: 64 });
      const sockets = Array.from({ length: idle }, connect);
      for (const socket of sockets) request(socket)();
      pass(2);
      while (closed().length === 0 && sockets.length < 63) sockets.push(connect());
      assert.deepEqual(closed(), gone);
    }
  },
} as const satisfies Readonly<Record<string, Case>>;
