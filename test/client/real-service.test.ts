/** The client with the real fetch: failures of the network, and wrong base URLs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, type PetStoreClient } from '../../src/client/client.ts';
import { KEY, openService } from '../support/http/service.ts';

function clientOf(baseUrl: string): PetStoreClient {
  return createClient({ baseUrl, apiKey: KEY, retries: 0 });
}

test('If no connection can be opened, the error says why, and that no pet was added', async (t) => {
  const closed = await openService(t);
  await closed.close();
  const { host } = new URL(closed.origin);
  const message = `at ${closed.origin} cannot reach the service: connect ECONNREFUSED ${host}`;
  const alone = clientOf(`${closed.origin}/v1`);
  await assert.rejects(alone.createPet({ name: 'Rex', categoryId: 7 }), {
    code: 'network_failure',
    message: `createPet ${message}; no pet was added`,
    status: undefined,
  });
  await assert.rejects(alone.listPets(), (error: Error) => {
    assert.equal(error.message, `listPets ${message}`);
    return error.cause instanceof Error;
  });
});

test('An error that a wrong base URL causes has a hint', async (t) => {
  const { origin } = await openService(t);
  const message = /; check the base URL: it ends in \/v1, such as https:\/\/host\/v1$/;
  for (const [path, status] of [
    ['', 404],
    ['/v1/pets', 405],
  ] as const) {
    const lost = clientOf(origin + path);
    await assert.rejects(lost.listPets(), { status: 404, message });
    await assert.rejects(lost.createPet({ name: 'Rex', categoryId: 1 }), { status, message });
  }
  const expected = { code: 'unknown_path', status: 404, message };
  await assert.rejects(clientOf(origin).getPet(1), expected);
  const notFound = { code: 'not_found', message: 'There is no pet with the id "1"' };
  await assert.rejects(clientOf(`${origin}/v1`).getPet(1), notFound);
});
