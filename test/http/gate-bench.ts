/**
 * A server for the tests of gates. Its listener knows a few paths, and the test ends what is held:
 *
 *     /now    responds immediately                  /body   responds with the length of the body
 *     /held   responds when `release` is called     /begun  sends a header, and is held
 *     /long   responds with nine megabytes, more than the buffers of a connection take
 *     ?last   the same, with Connection: close
 *
 * No test waits for an answer, since it would wait forever for a gate that forgets one. Each waits
 * until nothing moves any more, and then looks at all that has come.
 */

import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Listener } from '../../src/core/http/handle-request.ts';
import { parseAnswers } from '../support/http/answers.ts';
import { listen, listenFor } from '../support/http/listen.ts';
import { openWire } from '../support/http/wire.ts';

export type Bench = Awaited<ReturnType<typeof openBench>>;

export const LONG = 'x'.repeat(9_000_000);

/** Rounds of the event loop and of the network in which nothing moves. */
const QUIET_ROUNDS = 20;

export async function openBench(t: TestContext, create: (listener: Listener) => Server) {
  /** The targets of all requests, in the order in which they were served. */
  const served: string[] = [];
  const held: ServerResponse[] = [];
  const server = create((request, response) => {
    const url = request.url!;
    served.push(url);
    if (url.endsWith('?last')) response.setHeader('Connection', 'close');
    if (url.startsWith('/now')) response.end('now');
    if (url.startsWith('/long')) response.end(LONG);
    if (url.startsWith('/held')) held.push(response);
    if (url.startsWith('/begun')) {
      response.writeHead(200, { 'Content-Length': 'held'.length }).flushHeaders();
      held.push(response);
    }
    if (url.startsWith('/body')) {
      let length = 0;
      request.on('data', (chunk: Buffer) => (length += chunk.length));
      request.on('end', () => response.end(String(length)));
    }
  });
  const port = await listenFor(t, server);
  const echo = createServer((socket) => socket.pipe(socket));
  const pings = connect(await listen(echo), '127.0.0.1');
  t.after(() => {
    pings.destroy();
    echo.close();
  });
  const sockets: Socket[] = [];
  let moves = 0;
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('close', () => (moves += 1));
  });

  /** Resolves when nothing moves any more. */
  const settle = async (): Promise<void> => {
    let before = '';
    for (let quiet = 0; quiet < QUIET_ROUNDS; quiet += 1) {
      pings.write('x');
      await once(pings, 'data');
      for (let turn = 0; turn < 5; turn += 1) await nextIteration();
      const bytes = sockets.map(({ bytesRead, bytesWritten }) => bytesRead + bytesWritten);
      const now = [moves, served.length, ...bytes].join();
      if (now !== before) quiet = 0;
      before = now;
    }
  };
  return {
    ...{ server, served, settle },
    /** Opens a connection, and sends. Resolves with its two ends when nothing moves any more. */
    async open(bytes = '') {
      const wire = await openWire(t, port);
      wire.socket.on('data', () => (moves += 1));
      if (bytes !== '') wire.socket.write(bytes);
      await settle();
      return {
        ...wire,
        /** The side of the server. */
        serverSide: sockets.at(-1)!,
        /** Sends more. Resolves when nothing moves any more. */
        async send(more: string): Promise<void> {
          wire.socket.write(more);
          await settle();
        },
        /** The status and the body of each answer, and 'closed' if the server has closed. */
        seen(mayBeHead = false): readonly string[] {
          const answers = parseAnswers(wire.text(), mayBeHead).map(({ status, body }) =>
            status === 200 ? body : String(status),
          );
          return wire.isClosed() ? [...answers, 'closed'] : answers;
        },
      };
    },
    /** Ends the responses that are held, and those that are held then. */
    async release(): Promise<void> {
      for (let response = held.shift(); response !== undefined; response = held.shift()) {
        response.end('held');
        await settle();
      }
    },
    /** The responses that are held. */
    held,
  };
}

/** A case that opens what it needs. */
export type Case = (t: TestContext) => void | Promise<void>;

/** Returns the cases, each of which gets what is opened for it. */
export function opening<Name extends string, Opened>(
  cases: Readonly<Record<Name, (opened: Opened) => Promise<void>>>,
  open: (t: TestContext) => Promise<Opened>,
): Record<Name, Case> {
  const entries = Object.entries<(opened: Opened) => Promise<void>>(cases).map(([name, run]) => {
    return [name, async (t: TestContext) => run(await open(t))] as const;
  });
  return Object.fromEntries(entries) as Record<Name, Case>;
}
