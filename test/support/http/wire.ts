/** A connection for tests, byte by byte: what is sent, when, and everything that comes back. */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { STATUS_OF_CODE, type ErrorCode } from '../../../src/core/api/api-error.ts';
import { endOfAnswers, parseAnswers, type RawAnswer } from './answers.ts';
import { lastRequestOf, requestOf } from './requests.ts';

/** An answer, or what came of it before the connection ended. */
export type Outcome = RawAnswer | { readonly status: 'cut'; readonly received: string };

export type Wire = Awaited<ReturnType<typeof connectWire>>;

/** Connects, until the test ends, and sends. Rejects if the service takes no connection. */
export async function openWire(t: Pick<TestContext, 'after'>, port: number, bytes = '') {
  const wire = await connectWire(port);
  t.after(() => wire.close());
  if (bytes !== '') wire.socket.write(bytes);
  return wire;
}

/** Connects, until `close` is called. Rejects if the service takes no connection. */
export async function connectWire(port: number) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const changes = new EventEmitter();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  for (const event of ['data', 'end', 'close']) socket.on(event, () => changes.emit('change'));
  await once(socket, 'connect');
  // The system may choose the port itself for this end: then nobody listens there.
  if (socket.localPort === port) {
    socket.destroy();
    throw new Error(`The connection to port ${port} is one to itself`);
  }
  socket.on('error', () => undefined);

  /** Resolves when that holds, with true, or when nothing more can come. */
  const settled = async (holds: () => boolean): Promise<boolean> => {
    while (!isClosed() && !holds()) await once(changes, 'change');
    return holds();
  };
  const isClosed = (): boolean => socket.readableEnded || socket.destroyed;
  const hasAnswers = (count: number) => () => endOfAnswers(received, count) !== undefined;
  const firstAnswers = (count: number): readonly RawAnswer[] =>
    parseAnswers(received.slice(0, endOfAnswers(received, count)));
  return {
    socket,
    /** True if nothing more can come. */
    isClosed,
    /** All that came so far, since the last `send`. */
    text: (): string => received,
    /** Resolves with the first `count` answers. */
    async answers(count: number): Promise<readonly RawAnswer[]> {
      const areThere = await settled(hasAnswers(count));
      assert.ok(areThere, `Nothing more after ${JSON.stringify(received.slice(0, 300))}`);
      return firstAnswers(count);
    },
    /** Resolves with all answers when the service has closed the connection, and closes it, too. */
    async allAnswers(mayBeHead = false): Promise<readonly RawAnswer[]> {
      await settled(isClosed);
      socket.end();
      return parseAnswers(received, mayBeHead);
    },
    /** Sends one request with the key. Resolves with its outcome. */
    async send(method: string, path: string, body = '', fields: readonly string[] = []) {
      received = '';
      if (!isClosed()) socket.write(requestOf(`${method} ${path}`, fields, body));
      const isWhole = await settled(hasAnswers(1));
      const outcome: Outcome = isWhole ? firstAnswers(1)[0]! : { status: 'cut', received };
      return outcome;
    },
    close: (): void => void socket.destroy(),
  };
}

/** Sends the bytes, and resolves with all answers when the service has closed the connection. */
export async function talk(port: number, bytes: string | Buffer, mayBeHead = false) {
  const wire = await connectWire(port);
  wire.socket.write(bytes);
  return wire.allAnswers(mayBeHead).finally(() => wire.close());
}

/** The line of a request, its header fields and its body. */
type RequestParts = Parameters<typeof lastRequestOf>;

/** Sends one request with the key, and resolves with its only answer. */
export async function ask({ port }: { readonly port: number }, ...parts: RequestParts) {
  const [line] = parts;
  const answers = await talk(port, lastRequestOf(...parts), line.startsWith('HEAD '));
  assert.equal(answers.length, 1, `${line} has ${answers.length} answers`);
  return answers[0]!;
}

/** Fails unless the answer is a whole Error with this code. Returns its message. */
export function assertErrorAnswer(answer: RawAnswer | undefined, code: ErrorCode, about = '') {
  assert.ok(answer !== undefined, `No answer, expected ${code} ${about}`);
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(body), ['code', 'message', 'status']);
  assert.equal(body['code'], code, `${about}: ${answer.body}`);
  assert.equal(answer.status, STATUS_OF_CODE[code]);
  assert.equal(body['status'], answer.status);
  assert.equal(answer.headers.get('content-type'), 'application/json');
  return String(body['message']);
}

export function statusesOf(answers: readonly RawAnswer[]): readonly number[] {
  return answers.map(({ status }) => status);
}
