/** What the interface's part 4 says of all endpoints. */

import { checksIn, type Check, type Run } from './check.ts';
import type { Client } from './client.ts';
import { assertJsonType } from './expectations.ts';

const { demandEach } = checksIn('4');

const NO_KEY = { Authorization: '' };

const SUCCESSES: readonly [what: string, run: Run][] = [
  ['listPets', async (client) => assertJsonType(await client.get('/pets'))],
  ['createPet', async (client) => assertJsonType((await client.add(client.newPet())).answer)],
  ['getPet', async (client) => assertJsonType(await getAddedPet(client))],
];

const ERRORS: readonly [what: string, run: Run][] = [
  ['400', async (client) => assertJsonType(await client.post({}))],
  ['401', async (client) => assertJsonType(await client.send('GET', '/pets', NO_KEY))],
  ['404', async (client) => assertJsonType(await client.get(`/pets/${2n ** 63n - 1n}`))],
];

async function getAddedPet(client: Client): ReturnType<Client['get']> {
  return client.get(`/pets/${(await client.add(client.newPet())).id}`);
}

export const endpoints: readonly Check[] = [
  demandEach('All endpoints return application/json', SUCCESSES, (client, [, run]) => run(client)),
  demandEach('An Error is sent as application/json', ERRORS, (client, [, run]) => run(client)),
];
