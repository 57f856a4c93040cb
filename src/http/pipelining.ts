/**
 * Pipelining: the requests of one connection are served one after the other (RFC 9112 section
 * 9.3.2).
 *
 * node:http parses all requests of one read of 64 KiB, up to about 3,600, before it reads again. A
 * request that has to wait for an earlier response is queued here, and its connection is not read
 * meanwhile. So at most the requests of one read wait on a connection. A connection has a state:
 *
 *     state    its socket  a new request  becomes
 *     reading  is read     is served      queued, if the response before is still to go out
 *                                         held, if many requests wait on other connections
 *     queued   is paused   waits, too     reading or held, when the last that waited is served
 *                                         ending, by rule 2, or closed, by rule 1 or 2
 *     held     is paused   –              reading, when there is nothing more to serve at present
 *     ending   is paused   is discarded   closed, after the response in progress, or by rule 1
 *     closed   is closed   is discarded
 *
 * The requests that wait on all connections are counted together, each with its weight. Above an
 * eighth of `maxWaiting`, the connections without a waiting request are held. Above `maxWaiting`:
 *
 * 1. Connections whose clients do not read their response are closed, the longest queued first,
 *    until at most `maxWaiting` requests wait.
 * 2. If that is not enough, and the connection with the newest request still waits for its handler,
 *    this connection is ending: the requests that wait on it, none of which has begun, are
 *    discarded. Above twice `maxWaiting`, it is closed instead, unless the request in progress may
 *    have taken effect.
 *
 * So a client that does not read never delays others, and thousands of clients that read get every
 * response, as long as a response fits into the buffers of its connection. If it does not fit, rule
 * 1 cannot distinguish a client that reads slowly from one that does not read.
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
  /** The connections with requests that wait or were discarded, the longest queued first. */
  readonly #queued: Set<Connection> = new Set();
  /** The weights of all requests that wait, and of discarded ones until their connection closes. */
  #waiting = 0;
  /** How many connections are served in the next iteration of the event loop. */
  #scheduled = 0;
  /** True while connections without a waiting request are held, and new ones, too. */
  #isHolding = false;
  /** The order among equals at the last release: see #release. */
  #isNewestFirst = false;

  constructor(listener: Listener, maxWaiting: number) {
    this.#listener = listener;
    this.#maxWaiting = maxWaiting;
  }

  /** Adds a new connection, and removes it when it closes. */
  add(socket: Socket): void {
    const connection = new Connection(socket);
    this.connections.set(socket, connection);
    if (this.#isHolding) connection.state = 'held';
    // node:http resumes a new connection, and any connection after a response, or after a slow
    // client has read a part of a response. A connection that must not be read is paused again.
    socket.on('resume', () => {
      if (!connection.isPaused || !socket.writable) return;
      socket.pause();
      // node:http stops reading at this event, which a paused socket does not emit again.
      socket.emit('pause');
    });
    socket.once('close', () => {
      this.connections.delete(socket);
      this.#forget(connection);
    });
  }

  /** Serves the request, now or after the earlier ones of its connection. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.connections.get(request.socket);
    if (connection === undefined || !request.socket.writable) return;
    if (response.socket !== null) {
      // node:http assigns the socket to a response when all earlier responses have gone out.
      connection.current = response;
      this.#listener(request, response);
    } else {
      this.#enqueue(connection, { response, begin: () => this.#listener(request, response) });
    }
  }

  /**
   * Ends a connection whose bytes the parser rejected. After the earlier responses, `writeLast`
   * writes the last one. It gets the request if the error is in a request's body. If that request's
   * own response has begun, `closeOnly` is called instead, since a request has one response.
   */
  endWith(
    socket: Duplex,
    writeLast: (request: IncomingMessage | undefined) => void,
    closeOnly: () => void,
  ): void {
    const connection = this.connections.get(socket);
    const last = connection?.waiting.at(-1);
    const response = last?.response ?? connection?.current;
    if (connection === undefined || response === undefined) return writeLast(undefined);
    const { req } = response;
    if (!req.complete && response.headersSent) closeOnly();
    else if (!req.complete && last !== undefined) last.begin = () => writeLast(req);
    else if (!req.complete) writeLast(req);
    else if (isOut(response)) writeLast(undefined);
    else this.#enqueue(connection, { response, begin: () => writeLast(undefined) });
  }

  #enqueue(connection: Connection, queued: QueuedRequest): void {
    const weight = weightOf(queued.response);
    connection.weight += weight;
    this.#waiting += weight;
    // Requests after a last response must not be processed (RFC 9112 section 9.6).
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

  /** Applies rules 1 and 2. `connection` has the newest request. */
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

  /** When nothing is left to serve, reads some connections again, and then the others. */
  #release(): void {
    if (this.#scheduled > 0) return void setImmediate(() => this.#release());
    this.#isHolding = false;
    const held = [...this.connections.values()].filter(({ state }) => state === 'held');
    // First those that have never pipelined, then those that did so the longest time ago. Among
    // equals, the newest and the oldest come first by turns, so that neither waits forever.
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

  /** Discards the requests of a connection. */
  #forget(connection: Connection): void {
    this.#waiting -= connection.weight;
    connection.weight = 0;
    connection.waiting.length = 0;
    this.#queued.delete(connection);
  }
}

/** How many pipelined requests of a connection are served in a row: about 1 ms. */
const MAX_IN_A_ROW = 64;
/** How many held connections are read again at a time. */
const MAX_RELEASED = 64;

export class Connection {
  readonly socket: Socket;
  /** Since when the service has been reading the connection, by performance.now(). */
  readSince: number = performance.now();
  /** A closed connection has no state: it is removed from `connections`. */
  state: 'reading' | 'queued' | 'held' | 'ending' = 'reading';
  /** The response in progress, or the last one; undefined before the first request. */
  current: ServerResponse | undefined;
  readonly waiting: QueuedRequest[] = [];
  /** The weights of the requests that wait or were discarded. */
  weight = 0;
  /** Pipelined requests that were served since it last waited for the event loop. */
  servedInARow = 0;
  /** When a request last had to wait, by performance.now(). */
  queuedAt = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** True while a response has yet to go out. */
  get isDue(): boolean {
    return this.waiting.length > 0 || (this.current !== undefined && !isOut(this.current));
  }

  /** True while the service does not read the connection. */
  get isPaused(): boolean {
    return this.state !== 'reading';
  }

  /** True if its client does not read the response in progress. */
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

/** node:http removes the socket from a response that has gone out. */
function isOut(response: ServerResponse): boolean {
  return response.writableEnded && response.socket === null;
}

/** A read never has an effect, and a create has none before its handler has the body. */
function mayHaveTakenEffect({ req }: ServerResponse): boolean {
  return req.method === 'POST' && req.readableEnded;
}
