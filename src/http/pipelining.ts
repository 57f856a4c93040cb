/**
 * Pipelining: a client sends requests without waiting for the responses before them, and the
 * service serves them one after the other (RFC 9112 section 9.3.2).
 *
 * The rule: of each connection, one request is served and at most one more is parsed; what follows
 * it stays bytes, and the connection is not read, until its turn comes. Connections that wait only
 * for others are served in the order of waiting, one request of each.
 *
 * For example, a client sends 1,900 requests in 64 KiB, which is what node:http reads at once. The
 * first one is served. The parser stops after the header of the second one, which waits, and the
 * rest stays bytes. When the first response has gone out, the connection lines up behind others
 * that wait. In its turn the second request is served, and the third one is parsed. By itself,
 * node:http parses all of them at once. A parsed request takes 3 to 5 KB: 1,000 such clients would
 * take 10 GB, and would be served for a minute before anybody else.
 *
 *     state    its socket  a new request      becomes
 *     reading  is read     is served          waiting, if the response before it is not out yet,
 *                                             or if its connection was served in this iteration
 *                                             of the event loop
 *                                             ended, if the response before it was the last, or
 *                                             its bytes are not HTTP
 *     waiting  is paused   is not parsed yet  reading, in its turn
 *                                             ended, if the response before it was the last
 *     ended    is closing  is discarded       –
 *
 * So a connection holds at most two requests and one read of 64 KiB, whatever its client sends, and
 * a client that does not read its responses delays no other. After a last response nothing of its
 * connection is processed (RFC 9112 section 9.6).
 *
 * node:http has no documented way to stop its parser, so this file relies on its inside (`Parser`,
 * below), as tried on each supported Node. Behind a proxy that does not pipeline, it is not needed.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Listener } from './handle-request.ts';
import { lingeringClose } from './lingering-close.ts';

export class PipelineQueue {
  /** The open connections. */
  readonly connections: Map<Duplex, Connection> = new Map();
  readonly #listener: Listener;
  /** The connections that wait only for others, the longest waiting first. */
  readonly #line: Connection[] = [];
  /** Counts the iterations of the event loop in which requests are served. */
  #iteration = 0;
  /** How many connections of the line were served in this iteration. */
  #servedFromLine = 0;
  #nextIteration: NodeJS.Immediate | undefined;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** Adds a new connection, and removes it when it closes. */
  add(socket: Socket): void {
    const connection = new Connection(socket);
    this.connections.set(socket, connection);
    // node:http resumes any connection after a response, or after a slow client has read a part of
    // one. A connection that must not be read is paused again.
    socket.on('resume', () => {
      if (connection.state === 'reading' || !socket.writable) return;
      socket.pause();
      // node:http stops reading at this event, which a paused socket does not emit again.
      socket.emit('pause');
    });
    socket.once('close', () => this.connections.delete(socket));
  }

  /** Serves the request, now or in its turn. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.connections.get(request.socket);
    if (connection === undefined) return;
    if (connection.state === 'ended' || !request.socket.writable) {
      connection.state = 'ended';
    } else if (connection.state === 'waiting') {
      // The parser did not stop, perhaps in another runtime: nothing bounds what waits.
      request.socket.destroy();
    } else if (response.socket === null || connection.servedIn === this.#iteration) {
      // node:http assigns the socket to a response when all earlier responses have gone out.
      this.#wait(connection, response, () => this.#listener(request, response));
    } else {
      this.#begin(connection, response);
      this.#listener(request, response);
    }
  }

  /** Keeps the bytes after the header at which the parser was stopped. */
  keepUnparsed(socket: Duplex, bytes: Buffer): void {
    const connection = this.connections.get(socket);
    if (connection?.state === 'waiting') connection.unparsed ??= bytes;
  }

  /**
   * Ends a connection whose bytes the parser rejected. After the response in progress, `writeLast`
   * writes the last one. If the error is in the body of a request whose own response has begun, the
   * connection is closed after that, since a request has one response.
   */
  endWith(socket: Duplex, writeLast: (isHead: boolean) => void): void {
    const connection = this.connections.get(socket);
    const response = connection?.current;
    if (connection === undefined || response === undefined) return writeLast(false);
    const { req } = response;
    if (req.complete && !isOut(response)) {
      return this.#wait(connection, response, () => writeLast(false));
    }
    connection.state = 'ended';
    if (req.complete) writeLast(false);
    else if (!response.headersSent) writeLast(req.method === 'HEAD');
    else if (isOut(response)) lingeringClose(socket);
    else response.once('finish', () => lingeringClose(socket));
  }

  #wait(connection: Connection, response: ServerResponse, begin: () => void): void {
    const { current, socket } = connection;
    connection.waiting = { response, begin };
    connection.state = 'waiting';
    socket.pause();
    if (current === undefined || isOut(current)) this.#lineUp(connection);
    else current.once('finish', () => this.#lineUp(connection));
  }

  #lineUp(connection: Connection): void {
    this.#line.push(connection);
    this.#serveLine();
  }

  #serveLine(): void {
    while (this.#servedFromLine < MAX_FROM_LINE) {
      const connection = this.#line.shift();
      if (connection === undefined) return;
      this.#servedFromLine += 1;
      this.#serveWaiting(connection);
    }
    this.#awaitNextIteration().ref();
  }

  #serveWaiting(connection: Connection): void {
    const { socket, waiting } = connection;
    connection.waiting = undefined;
    if (waiting === undefined || !socket.writable) {
      connection.state = 'ended';
      return;
    }
    connection.state = 'reading';
    connection.readSince = performance.now();
    this.#begin(connection, waiting.response);
    waiting.begin();
    connection.parseOn();
  }

  #begin(connection: Connection, response: ServerResponse): void {
    connection.current = response;
    connection.servedIn = this.#iteration;
    this.#awaitNextIteration();
  }

  /** Without `ref`, the event loop does not poll once more than it does by itself. */
  #awaitNextIteration(): NodeJS.Immediate {
    this.#nextIteration ??= setImmediate(() => {
      this.#nextIteration = undefined;
      this.#iteration += 1;
      this.#servedFromLine = 0;
      this.#serveLine();
    }).unref();
    return this.#nextIteration;
  }
}

/** How many connections of the line are served before others are read: about 1 ms. */
const MAX_FROM_LINE = 64;

export class Connection {
  readonly socket: Socket;
  state: 'reading' | 'waiting' | 'ended' = 'reading';
  /** The response in progress, or the last one; undefined before the first request. */
  current: ServerResponse | undefined;
  /** The request that waits, or the last response. */
  waiting: { readonly response: ServerResponse; readonly begin: () => void } | undefined;
  /** What was read after the request that waits, if the parser was stopped. */
  unparsed: Buffer | undefined;
  /** The iteration of the event loop in which a request was last served. */
  servedIn = -1;
  /** Since when the service has been reading the connection, by performance.now(). */
  readSince: number = performance.now();
  /** The last progress that stalled-connections.ts has seen. `at` is by performance.now(). */
  progress: { readonly isDue: boolean; readonly sentBytes: number; readonly at: number };
  /** True while `parseOn` gives the parser one header at a time: then it need not stop. */
  #isParsingOn = false;

  constructor(socket: Socket) {
    this.socket = socket;
    this.progress = { isDue: false, sentBytes: 0, at: this.readSince };
    const parser = parserOf(socket);
    if (parser === undefined) return;
    const { onIncoming } = parser;
    parser.onIncoming = (request, isKeptAlive) => {
      // At a request to upgrade node:http does not report a stop, and it parses nothing after it.
      const { upgrade } = request;
      const result = onIncoming(request, isKeptAlive);
      return upgrade || this.state === 'reading' || this.#isParsingOn ? result : HPE_PAUSED;
    };
  }

  /**
   * Parses what was read, up to the next request that has to wait, and then reads on. A stop costs
   * an Error, so the bytes are cut after each header: that gives 10 to 25 % more responses.
   */
  parseOn(): void {
    const { socket } = this;
    if (this.unparsed !== undefined) parserOf(socket)?.resume();
    this.#isParsingOn = true;
    while (this.unparsed !== undefined && this.state === 'reading' && socket.writable) {
      const { unparsed } = this;
      const end = unparsed.indexOf(HEADER_END, MIN_HEADER_BYTES - HEADER_END.length);
      const length = end === -1 ? unparsed.length : end + HEADER_END.length;
      this.unparsed = length < unparsed.length ? unparsed.subarray(length) : undefined;
      // The listener of node:http gives the bytes to the parser.
      socket.emit('data', unparsed.subarray(0, length));
    }
    this.#isParsingOn = false;
    if (this.state === 'reading') socket.resume();
  }

  /** True while a response has yet to go out. */
  get isDue(): boolean {
    return this.waiting !== undefined || (this.current !== undefined && !isOut(this.current));
  }
}

const HEADER_END = '\r\n\r\n';
const MIN_HEADER_BYTES = 'GET / HTTP/1.1\r\n\r\n'.length;

/** The parser of node:http, as far as it is used here. It is not documented. */
interface Parser {
  /** Called after each header. Returns 0, or HPE_PAUSED to stop there. */
  onIncoming: (
    request: IncomingMessage & { readonly upgrade?: boolean },
    isKeptAlive: boolean,
  ) => number;
  /** Ends a stop. */
  resume(): void;
}

/** llhttp's code for a stop. node:http then emits a clientError with the unparsed bytes. */
const HPE_PAUSED = 21;

function parserOf(socket: Socket): Parser | undefined {
  return (socket as Socket & { parser?: Parser | null }).parser ?? undefined;
}

/** node:http removes the socket from a response that has gone out. */
function isOut(response: ServerResponse): boolean {
  return response.writableEnded && response.socket === null;
}
