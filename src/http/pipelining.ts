/**
 * Pipelining: the requests of one connection are served one after the other (RFC 9112 section
 * 9.3.2).
 *
 * node:http parses all requests of one read of 64 KiB, some 3,600 of them, before it reads again. A
 * request that has to wait for the response before it is queued here, and its connection is not
 * read meanwhile. So no connection has more waiting than one read brings. A connection has a state:
 *
 *     state    its socket  a new request  becomes
 *     reading  is read     is served      queued, if the response before is still to go out
 *                                         held, if too many requests wait on other connections
 *     queued   is paused   waits, too     reading or held, when the last that waited is served
 *                                         ending, if too many wait and its response takes its time
 *     held     is paused   –              reading, when there is nothing more to serve at present
 *     ending   is paused   is discarded   closed, after the response in progress, or by rule 1
 *     closed   is closed   is discarded
 *
 * Too many are more than `maxWaiting` on all connections together. Then, in this order:
 *
 * 1. Connections whose clients have not taken their response are closed, the longest queued first,
 *    until the others are not too many.
 * 2. If a response takes its time, since it waits for the store, its connection is ending: the
 *    requests after it, none of which has begun, are discarded. Beyond twice as many, the connection
 *    is closed at once, unless its request may have taken effect.
 * 3. All other connections are held.
 *
 * So a client that does not read never delays others, and clients that read get every response, be
 * they thousands, as long as a response fits into the buffers of its connection. Where long ones
 * pile up beyond the bound, rule 1 cannot tell a client that reads slowly from one that does not.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Listener } from './listener.ts';

export class PipelineQueue {
  /** The open connections. */
  readonly connections: Map<Duplex, Connection> = new Map();
  readonly #listener: Listener;
  readonly #maxWaiting: number;
  /** Those with requests that wait, or were discarded, the longest queued first. */
  readonly #queued: Set<Connection> = new Set();
  /** The weights of all requests that wait, and of discarded ones until their connection closes. */
  #waiting = 0;
  /** How many connections are served in the next iteration of the event loop. */
  #scheduled = 0;
  #isHolding = false;
  #isNewestFirst = false;

  constructor(listener: Listener, maxWaiting: number) {
    this.#listener = listener;
    this.#maxWaiting = maxWaiting;
  }

  /** Takes care of a connection until it closes. */
  add(socket: Socket): void {
    const connection = new Connection(socket);
    this.connections.set(socket, connection);
    if (this.#isHolding) connection.state = 'held';
    // node:http starts to read a new connection, and reads on after each response, and when a slow
    // client has taken some of one.
    socket.on('resume', () => {
      if (!connection.isPaused || !socket.writable) return;
      socket.pause();
      // node:http stops reading at this event, which a socket that is paused already does not emit.
      socket.emit('pause');
    });
    socket.once('close', () => {
      this.connections.delete(socket);
      this.#forget(connection);
    });
  }

  /** Serves the request, now or after those before it on its connection. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.connections.get(request.socket);
    if (connection === undefined || !request.socket.writable) return;
    if (response.socket !== null) {
      // node:http gives a response the socket when all responses before it have gone out.
      connection.current = response;
      this.#listener(request, response);
    } else {
      this.#enqueue(connection, { response, begin: () => this.#listener(request, response) });
    }
  }

  /**
   * Calls `respond` for what the parser rejected, after the responses before it: what it writes is
   * the connection's last. If the fault is in the body of a request, `respond` is given the
   * request; if its own response has begun, `end` is called instead, since a request has one
   * response.
   */
  endWith(
    socket: Duplex,
    respond: (request: IncomingMessage | undefined) => void,
    end: () => void,
  ): void {
    const connection = this.connections.get(socket);
    const last = connection?.waiting.at(-1);
    const response = last?.response ?? connection?.current;
    if (connection === undefined || response === undefined) return respond(undefined);
    const { req } = response;
    if (!req.complete && response.headersSent) end();
    else if (!req.complete && last !== undefined) last.begin = () => respond(req);
    else if (!req.complete) respond(req);
    else if (isOut(response)) respond(undefined);
    else this.#enqueue(connection, { response, begin: () => respond(undefined) });
  }

  #enqueue(connection: Connection, queued: QueuedRequest): void {
    const weight = weightOf(queued.response);
    connection.weight += weight;
    this.#waiting += weight;
    // What follows a last response must not be processed (RFC 9112 section 9.6).
    if (connection.state === 'ending') return;
    connection.waiting.push(queued);
    if (connection.state !== 'queued') {
      connection.enter('queued');
      connection.queuedAt = performance.now();
      this.#queued.add(connection);
      this.#awaitCurrent(connection);
    }
    if (this.#waiting > this.#maxWaiting) this.#relieve(connection);
    if (this.#waiting > this.#maxWaiting / 8 && !this.#isHolding) this.#hold();
  }

  /** Too many requests wait, and `connection` has one more. */
  #relieve(connection: Connection): void {
    for (const other of this.#queued) {
      if (other.isBlocked) this.#close(other);
      if (this.#waiting <= this.#maxWaiting) return;
    }
    const { current, socket } = connection;
    if (current?.writableEnded === false && !socket.destroyed) {
      current.shouldKeepAlive = false;
      connection.waiting.length = 0;
      connection.enter('ending');
      const isFarTooMany = this.#waiting > 2 * this.#maxWaiting;
      if (isFarTooMany && !mayHaveTakenEffect(current)) this.#close(connection);
    }
  }

  #close(connection: Connection): void {
    this.#forget(connection);
    connection.socket.destroy();
  }

  #hold(): void {
    this.#isHolding = true;
    for (const connection of this.connections.values()) {
      if (connection.state === 'reading') connection.enter('held');
    }
    setImmediate(() => this.#release());
  }

  /** Reads some connections again when nothing is left to serve, and the others after them. */
  #release(): void {
    if (this.#scheduled > 0) return void setImmediate(() => this.#release());
    this.#isHolding = false;
    const held = [...this.connections.values()].filter(({ state }) => state === 'held');
    // By turns the newest or the oldest come first, so that neither can be kept waiting by others,
    // and before them all those that have not pipelined, or longest ago.
    this.#isNewestFirst = !this.#isNewestFirst;
    if (this.#isNewestFirst) held.reverse();
    held.sort((a, b) => a.queuedAt - b.queuedAt);
    for (const connection of held.slice(0, MAX_RELEASED)) connection.enter('reading');
    if (held.length > MAX_RELEASED) setImmediate(() => this.#isHolding || this.#release());
  }

  #awaitCurrent(connection: Connection): void {
    connection.current?.once('finish', () => {
      connection.servedInARow += 1;
      if (connection.servedInARow < MAX_IN_A_ROW) return this.#begin(connection);
      connection.servedInARow = 0;
      this.#scheduled += 1;
      setImmediate(() => {
        this.#scheduled -= 1;
        this.#begin(connection);
      });
    });
  }

  #begin(connection: Connection): void {
    if (connection.current !== undefined && !isOut(connection.current)) return;
    const next = connection.waiting.shift();
    if (next === undefined) return;
    const weight = weightOf(next.response);
    connection.weight -= weight;
    this.#waiting -= weight;
    connection.current = next.response;
    if (connection.waiting.length > 0) {
      this.#awaitCurrent(connection);
    } else {
      this.#queued.delete(connection);
      connection.enter(this.#isHolding ? 'held' : 'reading');
    }
    if (connection.socket.writable) next.begin();
  }

  /** The connection has no requests any more. */
  #forget(connection: Connection): void {
    this.#waiting -= connection.weight;
    connection.weight = 0;
    connection.waiting.length = 0;
    this.#queued.delete(connection);
  }
}

/** How many pipelined requests are served before other connections have their turn: about 1 ms. */
const MAX_IN_A_ROW = 64;
/** How many held connections are read again at a time. */
const MAX_RELEASED = 64;

export class Connection {
  readonly socket: Socket;
  /** By performance.now(): when it was opened, or held last. */
  readSince: number = performance.now();
  state: 'reading' | 'queued' | 'held' | 'ending' = 'reading';
  /** The response in progress, or the last one; undefined before the first request. */
  current: ServerResponse | undefined;
  readonly waiting: QueuedRequest[] = [];
  /** Of the requests that wait, or were discarded. */
  weight = 0;
  servedInARow = 0;
  /** When a request had to wait last, by performance.now(). */
  queuedAt = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** True while a response has to go out. */
  get isDue(): boolean {
    return this.waiting.length > 0 || (this.current !== undefined && !isOut(this.current));
  }

  /** True while the service does not read it, so that a request in transit cannot arrive. */
  get isPaused(): boolean {
    return this.state !== 'reading';
  }

  /** True if its client does not take the response in progress. */
  get isBlocked(): boolean {
    return this.current?.headersSent === true && this.socket.writableLength > 0;
  }

  enter(state: Connection['state']): void {
    this.state = state;
    if (state === 'reading') this.readSince = performance.now();
    if (state === 'reading') this.socket.resume();
    else this.socket.pause();
  }
}

interface QueuedRequest {
  readonly response: ServerResponse;
  begin: () => void;
}

/** A short request takes about 3 KB; 50 header fields, however long, take as much again. */
function weightOf({ req }: ServerResponse): number {
  return 1 + Math.floor(req.rawHeaders.length / 100);
}

/** node:http takes the socket from a response that has gone out. */
function isOut(response: ServerResponse): boolean {
  return response.writableEnded && response.socket === null;
}

/** A create whose body its handler does not have yet has changed nothing, nor has a read. */
function mayHaveTakenEffect({ req }: ServerResponse): boolean {
  return req.method === 'POST' && req.readableEnded;
}
