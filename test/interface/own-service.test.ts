/**
 * The tests that need their own service: with a clock, a limit, keys or a state they choose.
 *
 * What can be asked of any service, by its base URL and an API key, is in the kit (src/kit).
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { createApp } from '../../src/app.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import type { PetStore } from '../../src/model/pet-store.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, listen } from '../support/http/service.ts';
import { assertError, createOwnClient, openOwnService, REX, type OwnClient } from './own-client.ts';

test('The ids of a service without pets are 1, 2, 3', async (t) => {
  const { client: own } = await openOwnService(t, {});
  assert.equal((await own.get('/pets')).text, '[]');
  for (const expected of [1n, 2n, 3n]) {
    const { id, response: answer } = await own.add({ name: 'Rex', categoryId: 1 });
    assert.equal(id, expected);
    assert.equal(answer.headers.get('Location'), `/v1/pets/${expected}`);
  }
});

describe('removal on 5 December 2030, by the clock', () => {
  const REMOVAL_MS = Date.parse('2030-12-05T00:00:00Z');

  test('One millisecond before it still answers 200', async (t) => {
    const { client: own } = await openOwnService(t, { now: () => REMOVAL_MS - 1 });
    const { id, response: answer } = await own.add({ name: 'Rex', categoryId: 1 });
    const found = await own.get(`/pets/${id}`);
    assert.equal(found.status, 200);
    assert.equal(found.text, answer.text);
  });

  test('From 2030-12-05T00:00:00Z on it answers 410 to every petId', async (t) => {
    const { client: own } = await openOwnService(t, { now: () => REMOVAL_MS });
    const { id } = await own.add({ name: 'Rex', categoryId: 1 });
    for (const petId of [id, 0n, 'x']) {
      const answer = await own.get(`/pets/${petId}`);
      assert.match(assertError(answer, 'operation_removed'), /2030-12-05.*\/v1\/pets/);
      assert.equal(answer.headers.get('Link'), '</v1/pets>; rel="successor-version"');
      assert.equal(answer.headers.get('Deprecation'), null);
      assert.equal(answer.headers.get('Sunset'), null);
    }
  });

  test('The clock is asked on each request, not once at start', async (t) => {
    let time = REMOVAL_MS - 1;
    const { client: own } = await openOwnService(t, { now: () => time });
    const { id } = await own.add({ name: 'Rex', categoryId: 1 });
    assert.equal((await own.get(`/pets/${id}`)).status, 200);
    time += 1;
    assert.equal((await own.get(`/pets/${id}`)).status, 410);
  });

  test('Without a key it stays 401, and the other operations stay', async (t) => {
    const { client: own } = await openOwnService(t, { now: () => REMOVAL_MS });
    assertError(await own.send('GET', '/pets/1', { Authorization: '' }), 'unauthorized');
    const { id, response: answer } = await own.add({ name: 'Rex', categoryId: 1 });
    assert.equal((await own.get(`/pets?after=${id - 1n}`)).text, `[${answer.text}]`);
    assertError(await own.send('DELETE', `/pets/${id}`), 'method_not_allowed');
  });
});

describe('issue and rotation of API keys', () => {
  const statusWith = async (own: OwnClient, key: string): Promise<number> =>
    (await own.send('GET', '/pets', { Authorization: `Bearer ${key}` })).status;

  test('Several keys can be in force, as text or as a digest', async (t) => {
    const digest = createHash('sha256').update('second').digest('hex');
    const apiKeys = ['first', `sha256:${digest}`];
    const { client: own } = await openOwnService(t, { apiKeys });
    // Twice: a key known by its digest must be good on every request, not only on the first.
    for (const key of ['first', 'second', 'second']) {
      assert.equal(await statusWith(own, key), 200);
    }
    for (const key of ['third', digest, `sha256:${digest}`]) {
      assert.equal(await statusWith(own, key), 401);
    }
  });

  test('Other keys are in force from the next request on', async (t) => {
    const { client: own, service } = await openOwnService(t, { apiKeys: ['old'] });
    assert.equal(await statusWith(own, 'old'), 200);
    service.app.setApiKeys(['new']);
    assert.equal(await statusWith(own, 'old'), 401);
    assert.equal(await statusWith(own, 'new'), 200);
  });
});

test('The limit is configurable, and exact', async (t) => {
  const body = '{"name":"Rex","categoryId":1}';
  const { client: own } = await openOwnService(t, { bodyLimitBytes: body.length });
  await own.add(body);
  assert.match(assertError(await own.post(`${body} `), 'body_too_large'), /29 bytes/);
});

describe('Health, while starting, draining or unable to store', () => {
  let closedStore: PetStore;
  before(async () => {
    closedStore = createMemoryStore();
    await closedStore.close();
  });

  const assertNotReady = async (own: OwnClient): Promise<void> => {
    const noKey = { Authorization: '' };
    assert.equal((await own.sendBeside('GET', '/livez', noKey)).status, 200);
    const answer = await own.sendBeside('GET', '/readyz', noKey);
    assertError(answer, 'unavailable');
    assert.equal(answer.headers.get('Retry-After'), '1');
    assertError(await own.post(REX), 'unavailable');
  };

  test('While starting /readyz is 503, and so is all that needs the pets', async (t) => {
    const app = createApp({ store: createMemoryStore(), apiKeys: [KEY] });
    const server = createHttpServer(app.listener);
    const port = await listen(server);
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    const own = createOwnClient(port);
    await assertNotReady(own);
    assertError(await own.get('/pets'), 'unavailable');
    assertError(await own.get('/pets/1'), 'unavailable');
    assertError(await own.send('GET', '/pets', { Authorization: '' }), 'unauthorized');
    await app.open();
    assert.equal((await own.sendBeside('GET', '/readyz')).status, 200);
    await own.add(REX);
  });

  test('While draining /readyz is 503, creates too, reads are answered', async (t) => {
    const { client: own, service } = await openOwnService(t, {});
    const { id, response: answer } = await own.add(REX);
    service.app.drain();
    await assertNotReady(own);
    const listed = await own.get(`/pets?after=${id - 1n}`);
    assert.equal(listed.text, `[${answer.text}]`);
    assert.equal(listed.headers.get('Connection'), 'close');
  });

  test('While unable to store /readyz is 503, creates too, reads are answered', async (t) => {
    const { client: own } = await openOwnService(t, { store: closedStore });
    await assertNotReady(own);
    assert.equal((await own.get('/pets')).text, '[]');
  });
});

test('500 has a fixed message, and its cause goes to the log', async (t) => {
  const fail = (): never => {
    throw new Error('secret detail');
  };
  const store = { ...createMemoryStore(), list: fail, create: async () => fail() };
  const causes: string[] = [];
  const log = (_level: string, _event: string, details: object = {}): void => {
    causes.push(JSON.stringify(details));
  };
  const { client: own } = await openOwnService(t, { store, log });
  for (const answer of [await own.get('/pets'), await own.post(REX)]) {
    assert.equal(assertError(answer, 'internal_error'), 'The service failed to respond');
  }
  assert.equal(causes.length, 2);
  for (const cause of causes) assert.match(cause, /secret detail/);
});
