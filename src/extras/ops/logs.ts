/**
 * The log as JSON, one line per event: `{"time":…,"level":…,"event":…,…details}`; and the access
 * log, with one line for each request that got to the listener. It has neither the query nor a
 * header field except the request id. Of an API key it has the name, which is empty if the key is
 * unknown or missing: the client's address then shows who guesses keys.
 *
 * The address is that of the connection, so behind a proxy it is the proxy's. X-Forwarded-For is
 * ignored, since any client can send one.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import type { Logger } from '../../core/base/logger.ts';
import type { Policy, ResponseSummary } from '../../core/http/handle-request.ts';

/** JSON.stringify escapes each line feed, so no value can forge a line. */
export function createJsonLogger(writeLine: (line: string) => void): Logger {
  return (level, event, details = {}) => {
    const entry = { time: new Date().toISOString(), level, event, ...details };
    const plain = (_key: string, value: unknown): unknown => {
      if (typeof value === 'bigint') return String(value);
      if (typeof value !== 'string' || value.length <= MAX_TEXT_LENGTH) return value;
      return `${value.slice(0, MAX_TEXT_LENGTH)}…`;
    };
    writeLine(JSON.stringify(entry, plain));
  };
}

/**
 * Writes lines to a stream, and drops them while more than 1 MiB waits for its reader, who may have
 * stopped: `docker logs` that nobody reads, a terminal after Ctrl+S.
 */
export class LineWriter {
  /** How many lines were dropped. */
  dropped = 0;
  readonly #stream: Writable;
  readonly #onResume: (dropped: number) => void;

  /** When the reader has read all, calls `onResume` with how many lines were dropped. */
  constructor(stream: Writable, onResume: (dropped: number) => void) {
    this.#stream = stream;
    this.#onResume = onResume;
    // A terminal blocks the process by default. Node.js has no documented way to change that.
    const { _handle } = stream as { readonly _handle?: { setBlocking?(isOn: boolean): void } };
    if ((stream as Partial<WriteStream>).isTTY) _handle?.setBlocking?.(false);
  }

  write(line: string): void {
    if (this.#stream.writableLength <= MAX_WAITING) {
      this.#stream.write(`${line}\n`);
      return;
    }
    const before = this.dropped;
    this.dropped += 1;
    if (this.#stream.listenerCount('drain') > 0) return;
    this.#stream.once('drain', () => this.#onResume(this.dropped - before));
  }
}

/** UTF-16 code units: some thousand lines of the access log. */
const MAX_WAITING: number = 1 << 20;

/** Limits a line, whatever a client sent or a disk reported. A stack trace fits. */
const MAX_TEXT_LENGTH = 4096;

/** The ids of requests, which their responses carry. */
export interface RequestIds extends Policy {
  idOf(request: IncomingMessage): string;
}

export function createRequestIds(): RequestIds {
  const ids = new WeakMap<IncomingMessage, string>();
  const idOf = (request: IncomingMessage): string => {
    const id = ids.get(request) ?? identify(request);
    ids.set(request, id);
    return id;
  };
  return {
    idOf,
    respond(request) {
      // The log asks for both when the response is known. By then the client may have gone.
      idOf(request);
      return undefined;
    },
    headersFor: (request) => ['X-Request-Id', idOf(request)],
  };
}

/** Returns a request's id: its X-Request-Id if that is short and plain, or else a new one. */
function identify({ headers, socket }: IncomingMessage): string {
  // Makes Node.js remember it: a closed socket no longer knows it.
  void socket.remoteAddress;
  const given = headers['x-request-id'];
  return typeof given === 'string' && PLAIN_ID.test(given) ? given : randomUUID();
}

const PLAIN_ID: RegExp = /^[A-Za-z0-9._-]{1,64}$/;

export function logResponse(
  logger: Logger,
  summary: ResponseSummary,
  requestId: string,
  seconds: number,
): void {
  logger('info', 'Answered', {
    requestId,
    client: summary.request.socket.remoteAddress ?? '',
    method: summary.request.method ?? '',
    path: summary.path,
    operation: summary.operation ?? '',
    key: summary.keyName ?? '',
    status: summary.status,
    bytes: summary.bodyBytes,
    durationMs: Math.round(seconds * 1e6) / 1000,
  });
}
