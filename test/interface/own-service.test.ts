/**
 * What only this service does: its parameter `after`, ids and messages; and what needs a clock, a
 * limit or keys that the test chooses.
 *
 * What can be asked of any service, by its base URL and an API key, is in the kit (src/extras/kit).
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CHUNKED, inChunks, REX, REX_1 } from '../support/http/requests.ts';
import { openService } from '../support/http/service.ts';
import { ask, assertErrorAnswer } from '../support/http/wire.ts';

const listed = await openService({ after });

const ALL_IDS = Array.from({ length: 23 }, (_, index) => index + 1);

/** Every second pet is sold, the first one among them. */
before(async () => {
  for (const id of ALL_IDS) {
    const pet = { id, name: 'Rex', categoryId: 1, ...(id % 2 === 1 ? { status: 'sold' } : {}) };
    const response = await listed.post(pet);
    assert.deepEqual(await response.json(), pet);
  }
});

/** The ids in a list, and the query of the Link to the next page. */
const PAGES: readonly (readonly [query: string, ids: readonly number[], next?: string])[] = [
  ['', ALL_IDS.slice(0, 20), 'after=20'],
  ['?limit=007', ALL_IDS.slice(0, 7), 'limit=7&after=7'],
  ['?after=17&limit=6', ALL_IDS.slice(17)],
  ['?status=sold&limit=%34&after=1', [3, 5, 7, 9], 'limit=4&status=sold&after=9'],
  ['?status=pending', []],
  ['?after=9223372036854775807', []],
  ['?after=-9223372036854775808&x=1&limit=1', [1], 'limit=1&after=1'],
  ['?after=-0&Limit=0&limit[]=0&__proto__=1&=&&?limit=0&limit=1', [1], 'limit=1&after=1'],
];

for (const [query, ids, next] of PAGES) {
  test(`The list of "${query}" has its pets, and ${next ?? 'no Link'}`, async () => {
    const { body, headers } = await ask(listed, `GET /v1/pets${query}`);
    const found = (JSON.parse(body) as readonly { id: number }[]).map(({ id }) => id);
    assert.deepEqual(found, ids);
    const link = next === undefined ? undefined : `</v1/pets?${next}>; rel="next"`;
    assert.equal(headers.get('link'), link);
  });
}

test('A message names every wrong field or parameter, and quotes only the beginning of a long value', async () => {
  const { body: fields } = await ask(listed, 'POST /v1/pets', [], '{}');
  assert.match(fields, /"name is required; categoryId is required"/);
  const wrong = 'status=lost&after=x&limit=1&limit=1';
  const { body } = await ask(listed, `GET /v1/pets?${wrong}`);
  assert.match(
    (JSON.parse(body) as { message: string }).message,
    /^limit must be given once, not 2 times; status must be one of .*; after must be an integer from/,
  );
  for (const path of ['/', '?status=', '?after=', '?limit='].map((start) => `/v1/pets${start}`)) {
    const long = await ask(listed, `GET ${path}${'x'.repeat(5000)}`);
    assert.ok(long.body.length < 500, long.body);
  }
});

test('From 2030-12-05T00:00:00Z on it answers 410 to every petId', async (t) => {
  let time = Date.parse('2030-12-05T00:00:00Z') - 1;
  const service = await openService(t, { timeOfDay: () => time });
  await service.post(REX);
  assert.equal((await ask(service, 'GET /v1/pets/1')).body, REX_1);

  // The clock is asked on each request.
  time += 1;
  const message = 'getPet was removed on 2030-12-05T00:00:00Z, use /v1/pets';
  for (const petId of ['1', '0', 'x']) {
    const answer = await ask(service, `GET /v1/pets/${petId}`);
    assert.equal(assertErrorAnswer(answer, 'operation_removed'), message);
  }
  // A pet never changes.
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    assertErrorAnswer(await ask(service, `${method} /v1/pets/1`), 'method_not_allowed');
  }
  assert.equal((await ask(service, 'GET /v1/pets')).body, `[${REX_1}]`);
});

test('The limit is configurable, and exact', async (t) => {
  const service = await openService(t, { bodyLimitBytes: REX.length });
  for (const [fields, write] of [
    [[], String],
    [[CHUNKED], (body: string) => inChunks(body)],
  ] as const) {
    assert.equal((await ask(service, 'POST /v1/pets', fields, write(REX))).status, 201);
    const answer = await ask(service, 'POST /v1/pets', fields, write(`${REX} `));
    assert.match(assertErrorAnswer(answer, 'body_too_large'), /29 bytes/);
  }
});

test('No rate limit: a thousand requests with one API key all get their list', async () => {
  for (let count = 0; count < 1000; count += 1) {
    const response = await listed.fetch('/v1/pets?limit=1');
    assert.equal(response.status, 200);
    await response.arrayBuffer();
  }
});
