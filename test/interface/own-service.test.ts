/**
 * The tests that need their own service: with a clock, a limit, keys or a state they choose.
 *
 * What can be asked of any service, by its base URL and an API key, is in the kit (src/kit).
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { createApp } from '../../src/app/app.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, listenFor, openService } from '../support/http/service.ts';
import { CHUNKED, REX, REX_1 } from '../support/http/requests.ts';
import { ask, assertErrorAnswer } from '../support/http/wire.ts';

test('From 2030-12-05T00:00:00Z on it answers 410 to every petId', async (t) => {
  let time = Date.parse('2030-12-05T00:00:00Z') - 1;
  const service = await openService(t, { now: () => time });
  await service.post(REX);
  assert.equal((await ask(service, 'GET /v1/pets/1')).body, REX_1);

  // The clock is asked on each request.
  time += 1;
  const message = 'getPet was removed on 2030-12-05T00:00:00Z, use /v1/pets';
  for (const petId of ['1', '0', 'x']) {
    const answer = await ask(service, `GET /v1/pets/${petId}`);
    assert.equal(assertErrorAnswer(answer, 'operation_removed'), message);
  }
  assertErrorAnswer(await ask(service, 'DELETE /v1/pets/1'), 'method_not_allowed');
  assert.equal((await ask(service, 'GET /v1/pets')).body, `[${REX_1}]`);
});

test('Several keys can be in force, as text or as a digest, and others from the next request on', async (t) => {
  const digest = createHash('sha256').update('second').digest('hex');
  const service = await openService(t, { apiKeys: ['first', `sha256:${digest}`] });
  const statuses = async (): Promise<readonly number[]> => {
    const keys = ['first', 'second', digest, `sha256:${digest}`, 'new'];
    const init = keys.map((key) => ({ headers: { Authorization: `Bearer ${key}` } }));
    const responses = await Promise.all(init.map((each) => service.fetch('/v1/pets', each)));
    return responses.map(({ status }) => status);
  };
  assert.deepEqual(await statuses(), [200, 200, 401, 401, 401]);
  service.app.setApiKeys(['new']);
  assert.deepEqual(await statuses(), [401, 401, 401, 401, 200]);
});

test('The limit is configurable, and exact', async (t) => {
  const service = await openService(t, { bodyLimitBytes: REX.length });
  const inChunks = (body: string): string =>
    [body.slice(0, 8), body.slice(8), '']
      .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
      .join('');
  for (const [fields, write] of [
    [[], String],
    [[CHUNKED], inChunks],
  ] as const) {
    assert.equal((await ask(service, 'POST /v1/pets', fields, write(REX))).status, 201);
    const answer = await ask(service, 'POST /v1/pets', fields, write(`${REX} `));
    assert.match(assertErrorAnswer(answer, 'body_too_large'), /29 bytes/);
  }
});

test('While starting /livez is 200, and all that needs the pets is 503, after the API key', async (t) => {
  const app = createApp({ store: createMemoryStore(), apiKeys: [KEY] });
  const service = { port: await listenFor(t, createHttpServer(app.listener)) };
  assert.equal((await ask(service, 'GET /livez')).status, 200);
  for (const line of ['GET /readyz', 'GET /v1/pets', 'GET /v1/pets/1', 'POST /v1/pets']) {
    const answer = await ask(service, line, [], REX);
    assert.equal(assertErrorAnswer(answer, 'unavailable'), 'The service is starting');
  }
  assert.equal((await fetch(`http://127.0.0.1:${service.port}/v1/pets`)).status, 401);
  await app.open();
  assert.equal((await ask(service, 'GET /readyz')).status, 200);
  assert.equal((await ask(service, 'POST /v1/pets', [], REX)).body, REX_1);
});
