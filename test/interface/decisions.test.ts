/**
 * What the specification leaves open, and what only this service does there: its parameter `after`,
 * its ids, its limit on a body, its header fields and its messages. What another service may adopt
 * is in the kit, which is run against this service, too.
 *
 * The rule behind it all: refuse exactly what the specification declares invalid, and never change
 * what a client sent.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { STATUSES } from '../../src/kit/expect.ts';
import { fieldsOf, idsOf, type ServiceResponse } from '../../src/kit/test-client.ts';
import { openOwnService, REX, testRefused, type OwnClient } from './own-client.ts';

const { client } = await openOwnService({ after });

const NO_AFTER = [
  ...['', 'x', '1.0', '1e2', '+1', '%2B1', '%201', '0x1', '9223372036854775808'],
  ...['-9223372036854775809', '9'.repeat(30), '1&after=2', '-'],
];

testRefused(
  'An after that is not an int64',
  'invalid_parameter',
  NO_AFTER,
  (value) => client.get(`/pets?after=${value}`),
  /^after /,
);

const IGNORED = [
  ...['x=1', 'Limit=0', 'limit[]=0', 'status[]=x', 'page=2', 'offset=1', '=', '=0', '&&', 'x'],
  ...['x=1&x=2', '?limit=0', 'a=b=c', '%20limit=0', '__proto__=1', 'limit=003', 'limit=%33'],
];

test('Other query parameters are ignored', async () => {
  for (let i = 0; i < 4; i += 1) await client.add(REX);
  const expected = (await client.get('/pets')).text;
  for (const query of IGNORED) {
    const response = await client.get(`/pets?${query}`);
    assert.equal(response.status, 200, query);
    if (!query.startsWith('limit=')) assert.equal(response.text, expected, query);
    else assert.equal(idsOf(response).length, 3, query);
  }
  const query = '?limit=0&status=lost&after=x';
  const added = await client.send('POST', `/pets${query}`, {}, REX);
  assert.equal(added.status, 201);
  const found = await client.get(`/pets/${String(fieldsOf(added)['id'])}${query}`);
  assert.equal(found.text, added.text);
});

test('Link rel="next" keeps limit and status', async () => {
  const ids = await addMany(46);
  const start = `/pets?after=${ids[0]! - 1n}`;
  assert.deepEqual(await pages(start), chunks(ids, 20));
  assert.deepEqual(await pages(`${start}&limit=7`), chunks(ids, 7));
  const sold = ids.filter((_id, i) => i % 2 === 0);
  const path = `/pets?status=sold&limit=4&after=${ids[0]! - 1n}`;
  assert.deepEqual(await pages(path), chunks(sold, 4));
  const next = new URL(linkOf(await client.get(path)) ?? '', 'http://host').searchParams;
  const kept = ['limit', 'status', 'after'].map((name) => next.get(name));
  assert.deepEqual(kept, ['4', 'sold', String(sold[3])]);
  const head = await client.send('HEAD', path);
  assert.equal(linkOf(head), linkOf(await client.get(path)));
});

test('The last page has no Link', async () => {
  const ids = await addMany(6);
  const exact = await client.get(`/pets?after=${ids[0]! - 1n}&limit=6`);
  assert.deepEqual([idsOf(exact).length, linkOf(exact)], [6, undefined]);
  // One more pet follows, which the filter leaves out.
  const sold = await client.get(`/pets?after=${ids[0]}&limit=2&status=sold`);
  assert.deepEqual([idsOf(sold), linkOf(sold)], [[ids[2], ids[4]], undefined]);
});

test('after gives only pets with a greater id', async () => {
  const ids = await addMany(2);
  assert.deepEqual(idsOf(await client.get(`/pets?after=${ids[0]}`)), [ids[1]]);
  for (const value of [ids[1], 2n ** 63n - 1n]) {
    assert.equal((await client.get(`/pets?after=${value}`)).text, '[]');
  }
  const all = await client.get('/pets');
  for (const value of ['0', '-0', '-1', '-9223372036854775808']) {
    assert.equal((await client.get(`/pets?after=${value}`)).text, all.text);
  }
});

/** The address in the response's Link to the next page, below the base URL. */
function linkOf(response: ServiceResponse): string | undefined {
  const link = response.headers.get('Link');
  if (link === null) return undefined;
  const match = /^<\/v1(\/pets\?[^<>\s]*)>; rel="next"$/.exec(link);
  assert.ok(match !== null, `expected a link to the next page, not ${link}`);
  return match[1]!;
}

/** Follows the links from one page to the last. */
async function pages(path: string): Promise<readonly (readonly unknown[])[]> {
  const found: (readonly unknown[])[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const response = await client.get(next);
    assert.equal(response.status, 200, next);
    found.push(idsOf(response));
    next = linkOf(response);
  }
  return found;
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => i * size);
  return starts.map((start) => all.slice(start, start + size));
}

/** Adds so many pets; every second one is sold. */
async function addMany(count: number): Promise<readonly bigint[]> {
  const ids: bigint[] = [];
  for (let i = 0; i < count; i += 1) {
    const status = i % 2 === 0 ? 'sold' : undefined;
    ids.push((await client.add({ name: `Rex ${i}`, categoryId: 1, status })).id);
  }
  return ids;
}

test('A status that is omitted stays absent, and matches no filter', async () => {
  const { id, pet, response } = await client.add(REX);
  assert.deepEqual(Object.keys(pet).sort(), ['categoryId', 'id', 'name']);
  for (const status of STATUSES) {
    assert.equal((await client.get(`/pets?after=${id - 1n}&status=${status}`)).text, '[]');
  }
  assert.equal((await client.get(`/pets?after=${id - 1n}`)).text, `[${response.text}]`);
});

test('A new id is one more than the greatest so far', async () => {
  const { id } = await client.add(REX);
  assert.equal((await client.add(REX)).id, id + 1n);
  const added = await Promise.all(Array.from({ length: 40 }, () => client.add(REX)));
  const expected = Array.from({ length: 40 }, (_, i) => id + BigInt(i) + 2n);
  assert.deepEqual(new Set(added.map((one) => one.id)), new Set(expected));
});

test('100 concurrent requests all get 200: there is no rate limit', async () => {
  const getting = Array.from({ length: 100 }, () => client.get('/pets?limit=1'));
  const statuses = new Set((await Promise.all(getting)).map(({ status }) => status));
  assert.deepEqual([...statuses], [200]);
});

test('Before its removal getPet carries Deprecation, Sunset and the successor', async () => {
  const { id, response } = await client.add(REX);
  const fields = ({ headers }: ServiceResponse): readonly unknown[] =>
    ['Deprecation', 'Sunset', 'Link'].map((name) => headers.get(name));
  const day = 'Thu, 05 Dec 2030 00:00:00 GMT';
  const expected = ['@1795219200', day, '</v1/pets>; rel="successor-version"'];
  for (const path of [`/pets/${id}`, '/pets/0']) {
    for (const method of ['GET', 'HEAD']) {
      assert.deepEqual(fields(await client.send(method, path)), expected, `${method} ${path}`);
    }
  }
  assert.deepEqual(fields(response).slice(0, 2), [null, null]);
});

/** The messages, from which a client's developer learns all that is wrong at once. */
const MESSAGES: readonly [send: (to: OwnClient) => Promise<ServiceResponse>, message: RegExp][] = [
  [(to) => to.post('{}'), /^name is required; categoryId is required$/],
  [
    (to) => to.post('{"name":5,"categoryId":"seven","status":"lost"}'),
    /^name must be a string, not 5; categoryId must be an integer of 64 bits, not "seven"; status must be one of available, pending, sold, not "lost"$/,
  ],
  [(to) => to.post('{"name":"Rex",}'), /byte 14$/],
  [(to) => to.get('/pets?limit=0'), /^limit must be an integer from 1 to 100, not "0"$/],
  [(to) => to.get('/pets?status=lost&after=x&limit=0'), /^(?=.*limit)(?=.*after).*status must/],
  [(to) => to.get(`/pets/${2n ** 63n - 1n}`), /"9223372036854775807"/],
  [(to) => to.get(`/pets/${'x'.repeat(5000)}`), /^.{0,400}$/],
  [(to) => to.get(`/pets?status=${'x'.repeat(5000)}`), /^.{0,400}$/],
];

test('Each message names every fault, and quotes at most the beginning of a long value', async () => {
  for (const [send, expected] of MESSAGES) {
    assert.match(String(fieldsOf(await send(client))['message']), expected);
  }
});

test('The interface description version is 1.0.0', async () => {
  const { text } = await client.sendBeside('GET', '/openapi.json', { Authorization: '' });
  const description = JSON.parse(text) as { openapi: string; info: { version: string } };
  assert.match(description.openapi, /^3\.1\./);
  assert.equal(description.info.version, '1.0.0');
});
