/** The node:http server: its limits, and faults that no client can bring about in a short test. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { test } from 'node:test';
import { Duplex } from 'node:stream';
import type { ErrorCode } from '../../src/http/api-error.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { LIMITS } from '../../src/http/limits.ts';
import { parseAnswers } from '../support/http/answers.ts';
import { assertErrorAnswer } from '../support/http/wire.ts';

test('The server has the limits of time and connections, and checks them every second', () => {
  // node:http has the interval as a property, which its types leave out.
  const server: Server & { connectionsCheckingInterval?: number } = createHttpServer(
    () => undefined,
  );
  const { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections } = server;
  const { connectionsCheckingInterval: interval } = server;
  const limits = [headersTimeout, requestTimeout, keepAliveTimeout, maxConnections, interval];
  assert.deepEqual([...limits, LIMITS.timeout], [10_000, 20_000, 65_000, 1024, 1000, 60_000]);
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
    const { texts, closed } = emitClientErrors(fault);
    await closed;
    const [answer] = parseAnswers(texts.join(''));
    assert.equal(assertErrorAnswer(answer, code), message);
    assert.equal(answer!.headers.get('connection'), 'close');
  });
}

test('A second client error of a connection does not cut off the response to the first', async () => {
  const codes = ['HPE_INVALID_METHOD', 'HPE_INVALID_EOF_STATE'].map((code) => ({ code }));
  const { socket, texts, closed, flush } = emitClientErrors(...codes);
  assert.equal(socket.destroyed, false);
  flush();
  await closed;
  assert.equal(parseAnswers(texts.join('')).length, 1);
});

test('A client that has disconnected gets no response', async () => {
  const { texts, closed } = emitClientErrors({ code: 'ECONNRESET' });
  await closed;
  assert.deepEqual(texts, []);
});

/** A connection with these errors. Of several, the first response goes out by `flush`. */
function emitClientErrors(...faults: readonly object[]) {
  const server = createHttpServer(() => undefined);
  const texts: string[] = [];
  let flush = (): void => undefined;
  const socket = new Duplex({
    read: () => undefined,
    // The client closes its side when we have.
    final(done) {
      this.push(null);
      done();
    },
    write(chunk: Buffer, _encoding, done) {
      texts.push(chunk.toString());
      flush = done;
      if (faults.length === 1) done();
    },
  });
  const closed = once(socket, 'close');
  for (const fault of faults) {
    server.emit('clientError', Object.assign(new Error('Parse Error'), fault), socket);
  }
  return { socket, texts, closed, flush: () => flush() };
}
