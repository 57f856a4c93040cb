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
 *     state    socket  a new request  becomes
 *     reading  read    is served      waiting, if the response before it is not out yet, or was a
 *                                     last one, or if a request of the connection was served in
 *                                     this iteration of the event loop
 *     waiting  held    is not parsed  in its turn, when the request is served: reading, if it has a
 *                                     body or no byte is left; otherwise kept
 *     kept     held    is not parsed  in its turn: parsing
 *     parsing  read    is served      kept, if it has no body; without bytes that are left:
 *                                     reading; waiting, behind one with a body that is not
 *                                     responded to yet
 *
 * After a last response the turn of a connection never comes. A connection holds at most two
 * requests and one read of 64 KiB, whatever its client sends, and a client that does not read its
 * responses delays no other. Of a client that goes on pipelining only bytes are kept: each request
 * is gone before it grows old in the heap.
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
    const connection: Connection = { socket, state: reading(), isBusy: false, servedIn: -1 };
    this.#connections.set(socket, connection);
    holdWhile(socket, () => isHeld(connection.state) && socket.writable);
    stopParserIf(socket, (request) => {
      if (connection.state.name === 'parsing' && !announcesBody(request)) {
        connection.state = { name: 'kept', unparsed: NO_BYTES };
      }
      return isHeld(connection.state);
    });
  }

  request(turn: Turn): void {
    const { socket } = turn.request;
    const connection = this.#connections.get(socket)!;
    const { isBusy, servedIn, state } = connection;
    if (!isBusy && (state.name === 'parsing' || servedIn !== this.#iteration)) {
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
    if (isHeld(connection.state)) this.#lineUp(connection);
  }

  last(socket: Duplex, error: ParserError | undefined, write: WriteLast): void {
    const connection = this.#connections.get(socket)!;
    const { state } = connection;
    const unparsed = unparsedOf(error);
    if (unparsed !== undefined) {
      // It is kept until the turn of the connection comes.
      if (state.name === 'waiting') state.unparsed = unparsed;
      if (state.name === 'kept') this.#keep(connection, unparsed);
      return;
    }
    // node:http reports a late request once. From then on stalled-connections.ts does the checks.
    const isRead = !isHeld(state) && performance.now() - state.since > this.#graceMs;
    if (error?.code === REQUEST_TIMEOUT && !isRead) return;
    this.#queue.last(socket, error, write);
  }

  #serve(connection: Connection, turn: Turn): void {
    connection.isBusy = true;
    connection.servedIn = this.#iteration;
    this.#awaitNextIteration();
    this.#queue.request(turn);
  }

  /** Serves the request that waits, or the first one in the bytes that are kept. */
  #takeTurn(connection: Connection): void {
    const { socket, state } = connection;
    if (!isHeld(state) || !socket.writable) return;
    if (state.name === 'waiting') {
      const { turn, unparsed } = state;
      connection.state = reading();
      this.#serve(connection, turn);
      if (unparsed !== undefined) {
        if (announcesBody(turn.request)) parseOn(socket, unparsed);
        else this.#keep(connection, unparsed);
      }
    } else {
      connection.state = { name: 'parsing', since: performance.now() };
      parseOn(socket, state.unparsed);
    }
    if (!isHeld(connection.state)) socket.resume();
  }

  /** Keeps what is left behind a request that was served in its turn, and has no body. */
  #keep(connection: Connection, unparsed: Buffer): void {
    const { socket } = connection;
    connection.state = reading();
    // The parser ends the request.
    parseOn(socket, NO_BYTES);
    if (unparsed.length === 0) return;
    connection.state = { name: 'kept', unparsed };
    // In its turn it is held already, but not if the rest of its header has just been read.
    if (!socket.isPaused()) hold(socket);
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
      this.#takeTurn(connection);
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
  state: State;
  /** While a response is in progress. */
  isBusy: boolean;
  /** The iteration of the event loop in which a request was last served. */
  servedIn: number;
}

type State = Reading | Held;
type Held = Waiting | { readonly name: 'kept'; readonly unparsed: Buffer };

interface Reading {
  readonly name: 'reading' | 'parsing';
  /** Since when the service has been reading the connection, by performance.now(). */
  readonly since: number;
}

interface Waiting {
  readonly name: 'waiting';
  readonly turn: Turn;
  /** What was read behind the header of the request that waits, once the parser has stopped. */
  unparsed: Buffer | undefined;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

function reading(): Reading {
  return { name: 'reading', since: performance.now() };
}

function isHeld(state: State): state is Held {
  return state.name === 'waiting' || state.name === 'kept';
}
