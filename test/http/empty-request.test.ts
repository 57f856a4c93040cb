/** Empty requests: their streams are over before they begin, and nothing else about them changes. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { skipEmptyBody } from '../../src/http/empty-request.ts';
import { exchange, parseAnswers } from '../support/raw-http.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n';

test('A connection goes on after requests that were marked as read', async (t) => {
  const events: string[] = [];
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    for (const name of ['end', 'close']) request.on(name, () => events.push(name));
    skipEmptyBody(request);
    setImmediate(() => response.end('ok'));
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const last = `${GET}Connection: close\r\n\r\n`;
  const answers = await exchange(port, `${GET}\r\n${GET}\r\n${last}`);
  assert.deepEqual(
    parseAnswers(answers).map(({ status }) => status),
    [200, 200, 200],
  );
  assert.ok(requests.every((request) => request.complete && request.readableEnded));
  assert.deepEqual(events, []);
});

test('A Node that has no such parts in its requests, or has marked them itself, is let be', () => {
  for (const parts of [{}, { _dumped: true }]) {
    const request = { ...parts };
    skipEmptyBody(request as unknown as IncomingMessage);
    assert.deepEqual(request, parts);
  }
});
