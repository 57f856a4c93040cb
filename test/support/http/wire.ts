/** A connection for tests, byte by byte: what is sent, when, and everything that comes back. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { STATUS_OF_CODE, type ErrorCode } from '../../../src/http/api-error.ts';
import { parseAnswers, type RawAnswer } from './raw-http.ts';
import { KEY } from './service.ts';

export interface Wire {
  readonly socket: Socket;
  /** All that came so far. */
  text(): string;
  /** Resolves with all that came as soon as that holds. */
  until(holds: (text: string) => boolean): Promise<string>;
  /** Resolves with the first answers, so many of them. */
  answers(count: number): Promise<readonly RawAnswer[]>;
  /** Resolves with all answers when the service has closed the connection. */
  allAnswers(): Promise<readonly RawAnswer[]>;
}

/** Connects; the connection ends with the test. */
export async function openWire(t: Pick<TestContext, 'after'>, port: number): Promise<Wire> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  let received = '';
  let isClosed = false;
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.on('end', () => (isClosed = true));
  socket.on('close', () => (isClosed = true));
  socket.on('error', () => undefined);
  await once(socket, 'connect');

  const until = (holds: (text: string) => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (holds(received)) settle(() => resolve(received));
        else if (isClosed) settle(() => reject(new Error(`Closed after ${excerpt(received)}`)));
      };
      const settle = (outcome: () => void): void => {
        clearTimeout(timer);
        for (const event of EVENTS) socket.off(event, look);
        outcome();
      };
      const give = (): void => reject(new Error(`Nothing more after ${excerpt(received)}`));
      const timer = setTimeout(() => settle(give), PATIENCE_MS);
      for (const event of EVENTS) socket.on(event, look);
      look();
    });
  return {
    socket,
    text: () => received,
    until,
    answers: async (count) => parseAnswers(await until((text) => wholeAnswers(text) >= count)),
    allAnswers: async () => parseAnswers(await until(() => isClosed)),
  };
}

/** Sends the bytes and resolves with all answers when the service has closed the connection. */
export async function talk(
  t: Pick<TestContext, 'after'>,
  port: number,
  bytes: string | Buffer,
): Promise<readonly RawAnswer[]> {
  const wire = await openWire(t, port);
  wire.socket.write(bytes);
  return wire.allAnswers();
}

/** A request with a host and the key; with a Content-Length where there is a body. */
export function requestOf(line: string, fields: readonly string[] = [], body = ''): string {
  const isSized = body !== '' && !fields.some((field) => /^transfer-encoding/i.test(field));
  const length = isSized ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  const all = [...HOST_AND_KEY, ...fields, ...length].map((field) => `${field}\r\n`).join('');
  return `${line} HTTP/1.1\r\n${all}\r\n${body}`;
}

/** The same, and the connection is to be closed after it. */
export function lastRequestOf(line: string, fields: readonly string[] = [], body = ''): string {
  return requestOf(line, ['Connection: close', ...fields], body);
}

/** Fails unless the answer is a whole Error with this code. */
export function assertErrorAnswer(answer: RawAnswer | undefined, code: ErrorCode): void {
  assert.ok(answer !== undefined, `No answer, expected ${code}`);
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(body), ['code', 'message', 'status']);
  assert.equal(body['code'], code, answer.body);
  assert.equal(answer.status, STATUS_OF_CODE[code]);
  assert.equal(body['status'], answer.status);
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(answer.headers.get('content-length'), String(answer.body.length));
  assert.ok(!Number.isNaN(Date.parse(answer.headers.get('date') ?? '')), 'A Date');
}

export function statusesOf(answers: readonly RawAnswer[]): readonly number[] {
  return answers.map(({ status }) => status);
}

const HOST_AND_KEY: readonly string[] = ['Host: a', `Authorization: Bearer ${KEY}`];
const EVENTS = ['data', 'end', 'close'] as const;
/** Only for a failure to be told; no test waits so long otherwise. */
const PATIENCE_MS = 30_000;

/** How many answers have come whole, by their Content-Length. */
function wholeAnswers(text: string): number {
  let count = 0;
  for (let start = 0; ; count += 1) {
    const end = text.indexOf('\r\n\r\n', start);
    if (end === -1) return count;
    const length = /\r\ncontent-length: ([0-9]+)\r\n/i.exec(text.slice(start, end + 2))?.[1] ?? '0';
    start = end + 4 + Number(length);
    if (start > text.length) return count;
  }
}

function excerpt(text: string): string {
  return JSON.stringify(text.slice(0, 300));
}
