/**
 * What the specification leaves open, and what only this service does there: its parameter `after`,
 * its ids, its header fields and its messages. What another service may adopt is in the kit, which
 * is run against this service, too.
 *
 * The rule behind it all: refuse exactly what the specification declares invalid, and never change
 * what a client sent.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openService } from '../support/http/service.ts';
import { ask } from '../support/http/wire.ts';

const service = await openService({ after });

/** Every second pet is sold, the first one among them. */
before(async () => {
  for (let id = 1; id <= 23; id += 1) {
    const pet = { id, name: 'Rex', categoryId: 1, ...(id % 2 === 1 ? { status: 'sold' } : {}) };
    const response = await service.post(pet);
    assert.deepEqual(await response.json(), pet);
  }
});

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** The ids in a list, and the query of the Link to the next page. */
const PAGES: readonly (readonly [query: string, ids: readonly number[], next?: string])[] = [
  ['', range(1, 20), 'after=20'],
  ['?limit=007', range(1, 7), 'limit=7&after=7'],
  ['?after=17&limit=6', range(18, 23)],
  ['?status=sold&limit=%34&after=1', [3, 5, 7, 9], 'limit=4&status=sold&after=9'],
  ['?status=pending', []],
  ['?after=9223372036854775807', []],
  ['?after=-9223372036854775808&x=1&limit=1', [1], 'limit=1&after=1'],
  ['?after=-0&Limit=0&limit[]=0&__proto__=1&=&&?limit=0&limit=1', [1], 'limit=1&after=1'],
];

for (const [query, ids, next] of PAGES) {
  test(`The list of "${query}" has its pets, and ${next ?? 'no Link'}`, async () => {
    const { body, headers } = await ask(service, `GET /v1/pets${query}`);
    const found = (JSON.parse(body) as readonly { id: number }[]).map(({ id }) => id);
    assert.deepEqual(found, ids);
    const link = next === undefined ? undefined : `</v1/pets?${next}>; rel="next"`;
    assert.equal(headers.get('link'), link);
  });
}

test('A message names every wrong field or parameter, and quotes only the beginning of a long value', async () => {
  const { body: fields } = await ask(service, 'POST /v1/pets', [], '{}');
  assert.match(fields, /"name is required; categoryId is required"/);
  const wrong = 'status=lost&after=x&limit=1&limit=1';
  const { body } = await ask(service, `GET /v1/pets?${wrong}`);
  assert.match(
    (JSON.parse(body) as { message: string }).message,
    /^limit must be given once, not 2 times; status must be one of .*; after must be an integer from/,
  );
  for (const path of ['/', '?status=', '?after=', '?limit='].map((start) => `/v1/pets${start}`)) {
    const long = await ask(service, `GET ${path}${'x'.repeat(5000)}`);
    assert.ok(long.body.length < 500, long.body);
  }
});
