/**
 * Turns: the gate for clients that nobody knows. Of each connection one request is served and at
 * most one more is parsed; what follows it stays bytes, and the connection is not read, until its
 * turn comes. Connections that wait only for others are served in the order of waiting, one request
 * of each.
 *
 * For example, a client sends 3,640 requests in 64 KiB, which is what node:http reads at once. The
 * first one is served. The parser stops after the header of the second one, which waits, and the
 * rest stays bytes. When the first response has gone out, the connection lines up behind others
 * that wait. In its turn the second request is served. The third one stays bytes until the second
 * response has gone out and the next turn has come. By itself, node:http parses all of them at
 * once. A parsed request takes 3 to 50 KB, and 1,000 such clients would be served for a minute
 * before any other.
 *
 *     state    its socket is  a new request      becomes
 *     reading  read           is served          waiting, if the response before it is not out yet,
 *                                                or was a last one, or if a request of the
 *                                                connection was served in this iteration of the
 *                                                event loop; or behind a request that was served in
 *                                                its turn, if bytes are left and none is its body
 *     waiting  held           is not parsed yet  reading, in its turn; never behind a last response
 *
 * So a connection holds at most two requests and one read of 64 KiB, whatever its client sends, and
 * a client that does not read its responses delays no other. A client that goes on pipelining waits
 * as bytes only: what was parsed of it is gone before it grows old in the heap.
 *
 * This gate stands before the queue of the core: it passes on each request in its turn, when none
 * is being served. The queue still knows what a last response is, and where an error belongs.
 */

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  REQUEST_TIMEOUT,
  type Gate,
  type ParserError,
  type Turn,
  type WriteLast,
} from '../../core/http/gate.ts';
import { announcesBody } from '../../core/http/fields.ts';
import { hold, holdWhile } from '../../core/http/hold-socket.ts';
import { parseOn, stopParserIf, unparsedOf } from './parser.ts';

export class Turns implements Gate {
  readonly #queue: Gate;
  readonly #graceMs: number;
  readonly #connections: WeakMap<Duplex, Connection> = new WeakMap();
  /** The connections that wait only for others, the longest waiting first. */
  readonly #line: Connection[] = [];
  /** Counts the iterations of the event loop in which requests are served. */
  #iteration = 0;
  /** When it began, by performance.now(). */
  #iterationAt = 0;
  /** How many connections of the line were served in this iteration. */
  #servedFromLine = 0;
  #nextIteration: NodeJS.Immediate | undefined;

  /** A connection that was not read gets `graceMs` from then on before its request is late. */
  constructor(queue: Gate, graceMs: number) {
    this.#queue = queue;
    this.#graceMs = graceMs;
  }

  open(socket: Socket): void {
    this.#queue.open(socket);
    const state: Reading = { name: 'reading', since: performance.now() };
    const connection: Connection = {
      ...{ socket, state, isBusy: false, servedIn: -1, isInTurn: false },
    };
    this.#connections.set(socket, connection);
    holdWhile(socket, () => connection.state.name === 'waiting' && socket.writable);
    stopParserIf(socket, (request) => {
      if (connection.isInTurn && !announcesBody(request)) {
        connection.state = { name: 'waiting', turn: undefined, unparsed: undefined };
      }
      connection.isInTurn = false;
      return connection.state.name === 'waiting';
    });
  }

  request(turn: Turn): void {
    const { socket } = turn.request;
    const connection = this.#connections.get(socket)!;
    const { isBusy, isInTurn, servedIn } = connection;
    if (!isBusy && (isInTurn || servedIn !== this.#iteration)) {
      this.#serve(connection, turn);
      return;
    }
    connection.state = { name: 'waiting', turn, unparsed: undefined };
    hold(socket);
    if (!isBusy) this.#lineUp(connection);
  }

  sent(socket: Socket): void {
    const connection = this.#connections.get(socket)!;
    connection.isBusy = false;
    this.#queue.sent(socket);
    if (connection.state.name === 'waiting') this.#lineUp(connection);
  }

  last(socket: Duplex, error: ParserError | undefined, write: WriteLast): void {
    const connection = this.#connections.get(socket)!;
    const { state } = connection;
    const unparsed = unparsedOf(error);
    if (unparsed !== undefined) {
      // It is kept until the turn of the connection comes.
      if (state.name !== 'waiting') return;
      if (state.turn === undefined) this.#keep(connection, unparsed);
      else state.unparsed = unparsed;
      return;
    }
    // node:http reports a late request once. From then on stalled-connections.ts does the checks.
    const isRead = state.name === 'reading' && performance.now() - state.since > this.#graceMs;
    if (error?.code === REQUEST_TIMEOUT && !isRead) return;
    this.#queue.last(socket, error, write);
  }

  #serve(connection: Connection, turn: Turn): void {
    connection.isBusy = true;
    connection.servedIn = this.#iteration;
    this.#awaitNextIteration();
    this.#queue.request(turn);
  }

  /** Serves the request that waits, or the first one in the bytes that do. */
  #serveWaiting(connection: Connection): void {
    const { socket, state } = connection;
    if (state.name !== 'waiting' || !socket.writable) return;
    const { turn, unparsed } = state;
    connection.state = { name: 'reading', since: performance.now() };
    socket.resume();
    if (turn !== undefined) this.#serve(connection, turn);
    if (unparsed === undefined) return;
    if (turn !== undefined && !announcesBody(turn.request)) {
      this.#keep(connection, unparsed);
      return;
    }
    connection.isInTurn = turn === undefined;
    parseOn(socket, unparsed);
    connection.isInTurn = false;
  }

  /** Keeps what is left behind a request that was served in its turn. */
  #keep(connection: Connection, unparsed: Buffer): void {
    const { socket } = connection;
    if (unparsed.length === 0) {
      connection.state = { name: 'reading', since: performance.now() };
      parseOn(socket, unparsed);
      return;
    }
    // Without a body, the request ends here.
    parseOn(socket, Buffer.alloc(0));
    connection.state = { name: 'waiting', turn: undefined, unparsed };
    if (!connection.isBusy) this.#lineUp(connection);
  }

  #lineUp(connection: Connection): void {
    this.#line.push(connection);
    this.#serveLine();
  }

  #serveLine(): void {
    const { count, ms } = MOST_FROM_LINE;
    while (this.#servedFromLine < count && performance.now() - this.#iterationAt < ms) {
      const connection = this.#line.shift();
      if (connection === undefined) return;
      this.#servedFromLine += 1;
      this.#serveWaiting(connection);
    }
    this.#awaitNextIteration().ref();
  }

  /** Without `ref`, the event loop does not poll once more than it does by itself. */
  #awaitNextIteration(): NodeJS.Immediate {
    this.#nextIteration ??= setImmediate(() => {
      this.#nextIteration = undefined;
      this.#iteration += 1;
      this.#servedFromLine = 0;
      this.#iterationAt = performance.now();
      this.#serveLine();
    }).unref();
    return this.#nextIteration;
  }
}

/** How many connections of the line are served before others are read, and for how long at most. */
const MOST_FROM_LINE = { count: 64, ms: 1 };

interface Connection {
  readonly socket: Socket;
  state: Reading | Waiting;
  /** While a response is in progress. */
  isBusy: boolean;
  /** The iteration of the event loop in which a request was last served. */
  servedIn: number;
  /** While the first request of bytes that waited is parsed. */
  isInTurn: boolean;
}

interface Reading {
  readonly name: 'reading';
  /** Since when the service has been reading the connection, by performance.now(). */
  readonly since: number;
}

interface Waiting {
  readonly name: 'waiting';
  /** The request that waits. Undefined if only bytes wait. */
  readonly turn: Turn | undefined;
  /** What was read behind the last header, once the parser has stopped. */
  unparsed: Buffer | undefined;
}
