/**
 * The parser of node:http, stopped from its inside.
 *
 * node:http reads up to 64 KiB at once, parses all of it, and emits an event for each request in
 * it: 3,640 of the shortest ones. There is no documented way to stop it in between, and `pause` or
 * `destroy` within an event does not. But the parser, llhttp, asks after each header whether to go
 * on, and the answer is what `onIncoming` returns. With HPE_PAUSED the parser stops there, and
 * node:http emits a `clientError` with that code and the bytes that were not parsed. Later
 * `resume` ends the stop, and the bytes are parsed as if they had just arrived.
 *
 * None of this is documented. It was tried on Node 20, 22, 24 and 26; `parserStops` tries it again
 * on the Node that runs.
 */

import { createServer, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import type { ParserError } from '../../core/http/gate.ts';

interface Parser {
  /** Called with each request, after its header. Returns 0 to go on, or llhttp's code of a stop. */
  onIncoming: (
    request: IncomingMessage & { readonly upgrade?: boolean },
    isKeptAlive: boolean,
  ) => number;
  resume(): void;
}

const HPE_PAUSED = 21;

/** Stops the parser of a socket after each header at which `mustStop` returns true. */
export function stopParserIf(
  socket: Duplex,
  mustStop: (request: IncomingMessage) => boolean,
): void {
  const parser = parserOf(socket);
  if (parser === undefined) return;
  const { onIncoming } = parser;
  parser.onIncoming = (request, isKeptAlive) => {
    // At a request to upgrade node:http does not report a stop, and it parses nothing after it.
    const { upgrade } = request;
    const result = onIncoming(request, isKeptAlive);
    return upgrade !== true && mustStop(request) ? HPE_PAUSED : result;
  };
}

/** Returns the bytes that were not parsed if an error is a stop, or undefined for a fault. */
export function unparsedOf(error: ParserError | undefined): Buffer | undefined {
  if (error?.code !== 'HPE_PAUSED') return undefined;
  // The bytes of the read, and how many of them were parsed.
  const { rawPacket, bytesParsed } = error as ParserError & {
    readonly rawPacket: Buffer;
    readonly bytesParsed: number;
  };
  return rawPacket.subarray(bytesParsed);
}

/** Ends a stop: the parser of the socket parses these bytes. */
export function parseOn(socket: Duplex, bytes: Buffer): void {
  parserOf(socket)?.resume();
  // The listener of node:http gives the bytes to the parser.
  socket.emit('data', bytes);
}

function parserOf(socket: Duplex): Parser | undefined {
  return (socket as Duplex & { parser?: Parser | null }).parser ?? undefined;
}

/** Returns true if the parser of this Node stops after a header, and goes on where it stopped. */
export function parserStops(): boolean {
  const request = 'GET / HTTP/1.1\r\n\r\n';
  let requests = 0;
  let unparsed: Buffer | undefined;
  const server = createServer({ requireHostHeader: false }, () => (requests += 1));
  server.on('clientError', (error) => (unparsed = unparsedOf(error)));
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  server.emit('connection', socket);
  stopParserIf(socket, () => requests === 1);
  socket.emit('data', Buffer.from(request.repeat(3)));
  const isStopped = requests === 1 && unparsed?.length === 2 * request.length;
  parseOn(socket, unparsed ?? Buffer.alloc(0));
  socket.destroy();
  return isStopped && Number(requests) === 3;
}
