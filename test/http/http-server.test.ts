/** The node:http server: its limits, and faults that no client can bring about in a short test. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Duplex } from 'node:stream';
import { createHttpServer } from '../../src/http/http-server.ts';
import { LIMITS } from '../../src/http/limits.ts';
import { parseAnswers } from '../support/http/answers.ts';

test('The server looks at its time limits every second', () => {
  // node:http has it as a property, which its types leave out.
  const server = createHttpServer(() => undefined) as { connectionsCheckingInterval?: number };
  assert.equal(server.connectionsCheckingInterval, 1000);
});

test('The server bounds how long a client may take, and how many there may be', () => {
  const server = createHttpServer(() => undefined);
  const { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections } = server;
  assert.equal(LIMITS.timeout, 60_000);
  assert.deepEqual(
    { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections },
    {
      headersTimeout: 10_000,
      requestTimeout: 20_000,
      keepAliveTimeout: 65_000,
      maxConnections: 1024,
    },
  );
});

type Case = readonly [fault: object, code: string, status: number, message: string];

const FAULTS: readonly Case[] = [
  [
    { code: 'ERR_HTTP_REQUEST_TIMEOUT' },
    'request_timeout',
    408,
    'The request did not arrive in time',
  ],
  [
    { code: 'HPE_HEADER_OVERFLOW' },
    'headers_too_large',
    431,
    'The header is longer than 16384 bytes',
  ],
  [
    { code: 'HPE_INVALID_METHOD', reason: 'Invalid method encountered' },
    'malformed_request',
    400,
    'The request is not well-formed HTTP: Invalid method encountered',
  ],
  [
    { code: 'HPE_INVALID_VERSION', reason: 'Invalid HTTP version' },
    'unsupported_http_version',
    505,
    'This version of HTTP is not supported, only HTTP/1.0 and HTTP/1.1',
  ],
  [
    { code: 'HPE_INVALID_VERSION', reason: 'Expected dot' },
    'malformed_request',
    400,
    'The request is not well-formed HTTP: Expected dot',
  ],
  [{}, 'malformed_request', 400, 'The request is not well-formed HTTP: Parse Error'],
];

for (const [fault, code, status, message] of FAULTS) {
  test(`The fault ${JSON.stringify(fault)} is answered with an Error of ${status}`, async () => {
    const [answer] = parseAnswers(await answerTo(Object.assign(new Error('Parse Error'), fault)));
    assert.ok(answer !== undefined);
    assert.equal(answer.status, status);
    assert.deepEqual(JSON.parse(answer.body), { code, message, status });
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('connection'), 'close');
  });
}

test('A second fault of a connection does not cut off the answer to the first', async () => {
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

test('A client that is gone is not answered', async () => {
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
