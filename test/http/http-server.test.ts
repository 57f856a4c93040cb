/** The node:http server: its limits, and faults that no client can bring about in a short test. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Duplex } from 'node:stream';
import type { ErrorCode } from '../../src/http/api-error.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { LIMITS } from '../../src/http/limits.ts';
import { parseAnswers } from '../support/http/answers.ts';
import { assertErrorAnswer } from '../support/http/wire.ts';

test('The server checks its timeouts every second', () => {
  // node:http has it as a property, which its types leave out.
  const server = createHttpServer(() => undefined) as { connectionsCheckingInterval?: number };
  assert.equal(server.connectionsCheckingInterval, 1000);
});

test('The server has the limits of time and connections', () => {
  const server = createHttpServer(() => undefined);
  const { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections } = server;
  const limits = [headersTimeout, requestTimeout, keepAliveTimeout, maxConnections, LIMITS.timeout];
  assert.deepEqual(limits, [10_000, 20_000, 65_000, 1024, 60_000]);
});

const FORM = 'The request is not well-formed HTTP:';
const VERSION = 'This version of HTTP is not supported, only HTTP/1.0 and HTTP/1.1';
const FAULTS: readonly (readonly [fault: object, code: ErrorCode, message: string])[] = [
  [{ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, 'request_timeout', 'The request did not arrive in time'],
  [{ code: 'HPE_HEADER_OVERFLOW' }, 'headers_too_large', 'The header is longer than 16384 bytes'],
  [{ code: 'HPE_INVALID_METHOD', reason: 'Bad method' }, 'malformed_request', `${FORM} Bad method`],
  [
    { code: 'HPE_INVALID_VERSION', reason: 'Invalid HTTP version' },
    'unsupported_http_version',
    VERSION,
  ],
  [
    { code: 'HPE_INVALID_VERSION', reason: 'Expected dot' },
    'malformed_request',
    `${FORM} Expected dot`,
  ],
  [{}, 'malformed_request', `${FORM} Parse Error`],
];

for (const [fault, code, message] of FAULTS) {
  test(`The client error ${JSON.stringify(fault)} gets ${code}`, async () => {
    const [answer] = parseAnswers(await answerTo(Object.assign(new Error('Parse Error'), fault)));
    assertErrorAnswer(answer, code);
    assert.equal((JSON.parse(answer!.body) as { message: string }).message, message);
    assert.equal(answer!.headers.get('connection'), 'close');
  });
}

test('A second client error of a connection does not cut off the response to the first', async () => {
  const server = createHttpServer(() => undefined);
  const texts: string[] = [];
  let flush: (() => void) | undefined;
  const socket = new Duplex({
    read: () => undefined,
    final(done) {
      this.push(null);
      done();
    },
    write(chunk: Buffer, _encoding, done) {
      texts.push(chunk.toString());
      flush = done;
    },
  });
  for (const code of ['HPE_INVALID_METHOD', 'HPE_INVALID_EOF_STATE']) {
    server.emit('clientError', Object.assign(new Error('Parse Error'), { code }), socket);
  }
  assert.equal(socket.destroyed, false);
  const closed = once(socket, 'close');
  flush?.();
  await closed;
  assert.deepEqual(
    parseAnswers(texts.join('')).map(({ status }) => status),
    [400],
  );
});

test('A client that has disconnected gets no response', async () => {
  const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  assert.equal(await answerTo(error), '');
});

/** What the server writes to a socket with this error, until it destroys that. */
function answerTo(error: Error): Promise<string> {
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const socket = new Duplex({
      read: () => undefined,
      // The client closes its side when we have.
      final(done) {
        this.push(null);
        done();
      },
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk);
        done();
      },
    });
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
    createHttpServer(() => undefined).emit('clientError', error, socket);
  });
}
