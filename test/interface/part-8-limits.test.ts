/** The interface's part 8: limits. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { idsOf } from './client.ts';
import { assertError } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();
let first = 0n;

before(async () => {
  first = (await client.add({ name: 'First', categoryId: 1 })).id;
  for (let i = 1; i < 101; i += 1) await client.add({ name: 'More', categoryId: i });
});

for (const [query, count] of [
  ['', 20],
  ['&limit=1', 1],
  ['&limit=2', 2],
  ['&limit=20', 20],
  ['&limit=99', 99],
  ['&limit=100', 100],
] as const) {
  test(`Of 101 animals GET /pets shows ${count} with '${query}'`, async () => {
    const { text } = await client.get(`/pets?after=${first - 1n}${query}`);
    assert.equal(idsOf(text).length, count);
  });
}

for (const limit of ['0', '101', '-1', '1000', '4294967297', '18446744073709551617']) {
  test(`limit is from 1 to 100 and so not ${limit}`, async () => {
    const message = assertError(await client.get(`/pets?limit=${limit}`), 'invalid_parameter');
    assert.equal(message, `limit must be an integer from 1 to 100, not "${limit}"`);
  });
}
