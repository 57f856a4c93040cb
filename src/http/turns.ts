/**
 * Turns: the requests of one connection are served one after the other (RFC 9112 section 9.3.2).
 *
 * A client may send many requests before it reads an answer. node:http hands over all that came in
 * one read of 64 KiB at once, and its own back-pressure counts the answers that are written, not
 * those that are due: 650 requests for long lists become 650 lists in memory, and requests that
 * follow a create are looked at before it is done. Here a request waits until the answer before it
 * has gone out to the system, and while one waits the socket is not read. So a connection costs one
 * answer and the requests of one read, whatever its client does.
 *
 * Measured: 30 MB of requests of 26 bytes take 76 MB of memory, and another client waits 44 ms at
 * the longest (scripts/bench.mjs --part pressure).
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export class Turns {
  readonly #connections: WeakMap<Duplex, Connection> = new WeakMap();
  readonly #maxWaiting: number;
  #waiting = 0;

  /**
   * `maxWaiting` bounds the requests that wait, on all connections together. One with many header
   * fields counts as several.
   */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Calls `begin` when the request's turn on its connection has come: nearly always at once. */
  take(request: IncomingMessage, response: ServerResponse, begin: () => void): void {
    const { socket } = request;
    // What comes behind a last answer must not be processed (RFC 9112 section 9.6).
    if (!socket.writable) return;
    let connection = this.#connections.get(socket);
    if (connection === undefined) {
      connection = { current: response, waiting: [], isWatched: false };
      this.#connections.set(socket, connection);
    }
    // node:http gives an answer the socket when all answers before it have gone out.
    if (response.socket !== null) {
      connection.current = response;
      begin();
    } else if (this.#waiting < this.#maxWaiting || makeLast(connection.current)) {
      this.#wait(socket, connection, { response, begin });
    } else {
      socket.destroy();
    }
  }

  /**
   * Calls `answer` for what came behind the requests and is none, once they are answered: what it
   * writes is the connection's last. Calls `end` in its place when that fault is in the body of a
   * request whose own answer has begun, since a request has one answer.
   */
  answerFault(socket: Duplex, answer: () => void, end: () => void): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return answer();
    const { current, waiting } = connection;
    const last = waiting.at(-1);
    const lastResponse = last === undefined ? current : last.response;
    if (!lastResponse.req.complete) {
      if (lastResponse.headersSent) end();
      else if (last === undefined) answer();
      else last.begin = answer;
    } else if (isOut(lastResponse)) {
      answer();
    } else {
      this.#wait(socket, connection, { response: lastResponse, begin: answer });
    }
  }

  /** True while the connection is not read, so that a request on its way cannot arrive. */
  isHeld(socket: Duplex): boolean {
    return (this.#connections.get(socket)?.waiting.length ?? 0) > 0;
  }

  /** Tells the answer under way that the system has taken what was written of it. */
  tellDrain(socket: Duplex): void {
    this.#connections.get(socket)?.current.emit('drain');
  }

  /** True while an answer has to go out. */
  isDue(socket: Duplex): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return false;
    return connection.waiting.length > 0 || !isOut(connection.current);
  }

  #wait(socket: Duplex, connection: Connection, turn: Turn): void {
    const { current, waiting } = connection;
    waiting.push(turn);
    this.#waiting += weightOf(turn);
    if (waiting.length > 1) return;
    this.#callNextAfter(current, socket, connection);
    if (!connection.isWatched) this.#watch(socket, connection);
    socket.pause();
  }

  /** In a later turn of the event loop, so that a long row of requests holds up nobody else. */
  #callNextAfter(response: ServerResponse, socket: Duplex, connection: Connection): void {
    response.once('finish', () => setImmediate(() => this.#next(socket, connection)));
  }

  #next(socket: Duplex, connection: Connection): void {
    const turn = connection.waiting.shift();
    if (turn === undefined) return;
    this.#waiting -= weightOf(turn);
    connection.current = turn.response;
    if (connection.waiting.length > 0) this.#callNextAfter(turn.response, socket, connection);
    else socket.resume();
    if (socket.writable) turn.begin();
  }

  #watch(socket: Duplex, connection: Connection): void {
    const { waiting } = connection;
    connection.isWatched = true;
    // node:http reads on after each answer, and when a slow client has read some of one.
    socket.on('resume', () => {
      if (waiting.length > 0 && socket.writable) socket.pause();
    });
    socket.once('close', () => {
      for (const turn of waiting) this.#waiting -= weightOf(turn);
      waiting.length = 0;
    });
  }
}

/**
 * Makes an answer that has not begun the last of its connection: a pet may be stored already. One
 * that has begun waits for a client that does not read, and this is false.
 */
function makeLast(response: ServerResponse): boolean {
  if (response.headersSent) return false;
  response.shouldKeepAlive = false;
  return true;
}

/** In what a short request takes, some 3 KB: so much do 50 header fields, of any length, add. */
function weightOf({ response }: Turn): number {
  return 1 + Math.floor(response.req.rawHeaders.length / 100);
}

/** node:http takes the socket from an answer when that has gone out, and then tells of it. */
function isOut(response: ServerResponse): boolean {
  return response.writableEnded && response.socket === null;
}

interface Connection {
  /** The answer that is due, or was the last to go out. */
  current: ServerResponse;
  readonly waiting: Turn[];
  isWatched: boolean;
}

interface Turn {
  readonly response: ServerResponse;
  begin: () => void;
}
