/** The interface's part 4.1: GET /pets, listPets. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { idsOf } from './client.ts';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();
const ids: bigint[] = [];

before(async () => {
  for (let i = 0; i < 105; i += 1) {
    const status = ['available', 'pending', 'sold'][i % 3];
    ids.push((await client.add({ name: `Pet ${i}`, categoryId: i, status })).id);
  }
});

/** The ids of the listed pets, of those added above. */
async function listedIds(query: string): Promise<readonly bigint[]> {
  const { status, text } = await client.get(`/pets?after=${ids[0]! - 1n}${query}`);
  assert.equal(status, 200);
  return idsOf(text);
}

test('GET /pets returns 200 and a list of animals, as application/json', async () => {
  const answer = await client.get('/pets');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('Content-Type'), 'application/json');
  assert.ok(Array.isArray(JSON.parse(answer.text)));
});

test('The list is paginated: limit is the maximum number of animals to return', async () => {
  assert.deepEqual(await listedIds('&limit=7'), ids.slice(0, 7));
});

test('limit has the minimum 1', async () => {
  assert.deepEqual(await listedIds('&limit=1'), ids.slice(0, 1));
  const refused = await client.get('/pets?limit=0');
  assert.match(assertError(refused, 'invalid_parameter'), /^limit .*1 to 100/);
});

test('limit has the maximum 100', async () => {
  assert.deepEqual(await listedIds('&limit=100'), ids.slice(0, 100));
  const refused = await client.get('/pets?limit=101');
  assert.match(assertError(refused, 'invalid_parameter'), /^limit .*1 to 100/);
});

test('limit has the default 20', async () => {
  assert.deepEqual(await listedIds(''), ids.slice(0, 20));
});

test('Fewer animals than the limit are all returned', async () => {
  const { text } = await client.get(`/pets?limit=100&after=${ids[99]}`);
  assert.deepEqual(idsOf(text), ids.slice(100));
});

for (const [index, status] of ['available', 'pending', 'sold'].entries()) {
  test(`status=${status} filters by availability status`, async () => {
    const expected = ids.filter((_id, i) => i % 3 === index);
    assert.deepEqual(await listedIds(`&limit=100&status=${status}`), expected);
  });
}

test('limit counts the animals that pass the filter', async () => {
  const sold = ids.filter((_id, i) => i % 3 === 2);
  assert.deepEqual(await listedIds('&status=sold&limit=2'), sold.slice(0, 2));
  assert.deepEqual(await listedIds('&status=sold'), sold.slice(0, 20));
});

test('Request body: none, and one that is sent all the same is ignored', async () => {
  const message = client.message('GET /v1/pets?limit=1', ['Content-Length: 7'], '{"a":1}');
  const [answer, ...rest] = await client.exchange(message);
  assert.equal(answer?.text, (await client.get('/pets?limit=1')).text);
  assert.deepEqual(rest, []);
});

test('GET /pets is 401 when the credential is missing or invalid', async () => {
  assertError(await client.send('GET', '/pets', { Authorization: '' }), 'unauthorized');
  assertError(await client.send('GET', '/pets', { Authorization: 'Bearer no' }), 'unauthorized');
});
