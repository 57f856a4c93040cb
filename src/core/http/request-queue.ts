/**
 * RequestQueue: the plain gate. Of each connection one request is served, and the others wait.
 *
 *     state    its socket is   a new request     when a response has gone out
 *     idle     read            is served → busy  –
 *     busy     read, or held   waits             the first that waits is served; if none waits
 *              while some wait                   → idle; if the response was a last one → ended
 *     closing  held            is dropped        the same; if none waits, the last response is
 *                                                written → ended
 *     ended    closing         is dropped        –
 *
 * What an error of the parser (or CONNECT) leads to depends on the request that came last, since
 * the error may be in its body:
 *
 *     the request that came last           the last response is
 *     is complete, or there is none        that of the error, in its turn (closing)
 *     is not complete, and waits           that of the error, in the turn of the request (closing)
 *     is not complete, and has no header   that of the error, at once (ended)
 *     of its response yet
 *     is not complete, its response has    that of the request (ended)
 *     begun, or has gone out
 *
 * For example, a client sends a create and 20 reads in 2 KiB, and node:http parses all of them at
 * once. The create is served, the reads wait, and the connection is not read while they do. So of
 * each client the service holds what one read of 64 KiB brings, whatever the client sends: up to
 * 3,640 requests, in 10 MB. That is enough behind a proxy that does not pipeline. It is no defence
 * against a thousand clients that do.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { REQUEST_TIMEOUT, type Gate, type ParserError, type Turn, type WriteLast } from './gate.ts';
import { hold, holdWhile } from './hold-socket.ts';
import { lingeringClose } from './lingering-close.ts';

export class RequestQueue implements Gate {
  readonly #connections: WeakMap<Duplex, Connection> = new WeakMap();

  open(socket: Socket): void {
    const connection: Connection = { socket, state: { name: 'idle', latest: undefined } };
    this.#connections.set(socket, connection);
    holdWhile(socket, () => isHeld(connection.state));
  }

  request(turn: Turn): void {
    const { socket } = turn.request;
    const connection = this.#connections.get(socket)!;
    const { state } = connection;
    if (state.name === 'idle') {
      this.#serve(connection, { name: 'busy', current: turn, waiting: [] });
    } else if (state.name === 'busy') {
      state.waiting.push(turn);
      hold(socket);
    }
  }

  /** Serves what waits. */
  sent(socket: Socket): void {
    const connection = this.#connections.get(socket)!;
    const { state } = connection;
    if (state.name === 'idle' || state.name === 'ended') return;
    const next = state.waiting.shift();
    // The response was a last one.
    if (!socket.writable) connection.state = { name: 'ended' };
    else if (next !== undefined) this.#serve(connection, { ...state, current: next });
    else if (state.name === 'busy') {
      const { request } = state.current;
      connection.state = { name: 'idle', latest: request.complete ? undefined : request };
    } else {
      connection.state = { name: 'ended' };
      state.writeLast();
    }
    if (!isHeld(connection.state)) socket.resume();
  }

  last(socket: Duplex, error: ParserError | undefined, write: WriteLast): void {
    const connection = this.#connections.get(socket)!;
    const { state } = connection;
    if (state.name === 'closing' || state.name === 'ended' || !socket.writable) return;
    if (error?.code === REQUEST_TIMEOUT && isHeld(state)) return;
    connection.state = { name: 'ended' };
    if (state.name === 'idle') {
      if (state.latest?.complete === false) lingeringClose(socket);
      else write(undefined);
      return;
    }
    const { current, waiting } = state;
    const latest = (waiting.at(-1) ?? current).request;
    if (latest.complete || waiting.length > 0) {
      if (!latest.complete) waiting.pop();
      const writeLast = (): void => write(latest.complete ? undefined : latest);
      connection.state = { name: 'closing', current, waiting, writeLast };
      hold(connection.socket);
      return;
    }
    const { response } = current;
    if (response.headersSent) response.once('finish', () => lingeringClose(socket));
    else write(latest);
  }

  /** Serves the current request of a state. */
  #serve(connection: Connection, state: Busy | Closing): void {
    connection.state = state;
    const { request, response, serve } = state.current;
    serve(request, response);
  }
}

interface Connection {
  readonly socket: Socket;
  state: Idle | Busy | Closing | { readonly name: 'ended' };
}

/** `latest` is the request whose response has gone out last, if its body had not come by then. */
type Idle = { readonly name: 'idle'; readonly latest: IncomingMessage | undefined };
type Busy = { readonly name: 'busy' } & InProgress;
type Closing = { readonly name: 'closing'; readonly writeLast: () => void } & InProgress;

interface InProgress {
  readonly current: Turn;
  readonly waiting: Turn[];
}

/** Returns true while something waits, so that the socket must not be read. */
function isHeld(state: Connection['state']): boolean {
  return state.name === 'closing' || (state.name === 'busy' && state.waiting.length > 0);
}
