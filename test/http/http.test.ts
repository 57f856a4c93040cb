/** The core's HTTP: the server, its gate, and the way of a request through the listener. */

import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { ClientGoneError, readBody } from '../../src/core/http/request-body.ts';
import { createRouter } from '../../src/core/http/router.ts';
import { HTTP_CASES } from './cases.ts';

for (const [name, run] of Object.entries(HTTP_CASES)) test(name, (t) => run(t));

test('Operations of one path that need different API keys are refused', () => {
  const operations = ([true, 'figures'] as const).map((needsKey) => {
    return {
      name: 'x',
      method: 'GET',
      path: '/x',
      needsKey,
      handle: async () => assert.fail(),
    } as const;
  });
  assert.throws(() => createRouter(operations, ''), /^Error: All operations of \/x need the same/);
});

test('If its client has gone before a body is read, nobody waits for the body', async () => {
  const request = new IncomingMessage(new Socket());
  request.rawHeaders = ['Content-Length', '1'];
  request.destroy();
  await assert.rejects(readBody(request, 1), ClientGoneError);
});
