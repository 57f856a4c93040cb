/** The query string, read as URLSearchParams reads it wherever its encoding is right. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readQuery } from '../../src/http/query.ts';
import { forAll, type Random } from '../support/random.ts';

const QUERIES: readonly (readonly [query: string, ...pairs: [name: string, value: string][]])[] = [
  [''],
  ['&'],
  ['&&&'],
  ['limit=5', ['limit', '5']],
  ['limit=5&status=sold', ['limit', '5'], ['status', 'sold']],
  ['&limit=5&&status=sold&', ['limit', '5'], ['status', 'sold']],
  ['limit=5&limit=6', ['limit', '5'], ['limit', '6']],
  ['limit', ['limit', '']],
  ['limit=', ['limit', '']],
  ['=', ['', '']],
  ['=5', ['', '5']],
  ['a=b=c', ['a', 'b=c']],
  ['a+b=+5+', ['a b', ' 5 ']],
  ['a=%2B', ['a', '+']],
  ['l%69mit=%35', ['limit', '5']],
  ['a=%26%3D%25', ['a', '&=%']],
  ['a=%2541', ['a', '%41']],
  ['a=%00', ['a', '\0']],
  ['a=%C3%A9%F0%9F%90%B6', ['a', 'é🐶']],
  ['a=%ef%bb%bf', ['a', '\ufeff']],
  ['?a=1', ['?a', '1']],
  ['a;b=1', ['a;b', '1']],
  ['Limit=5', ['Limit', '5']],
];

for (const [query, ...pairs] of QUERIES) {
  test(`The query '${query}' has the parameters ${JSON.stringify(pairs)}`, () => {
    assert.deepEqual(
      readQuery(query),
      pairs.map(([name, value]) => ({ name, value })),
    );
  });
}

const BROKEN: readonly (readonly [query: string, quoted: string])[] = [
  ['a=%', '%'],
  ['a=%4', '%4'],
  ['a=%zz', '%zz'],
  ['%=1', '%'],
  ['limit=5&x=%ff', '%ff'],
  ['a=%C3', '%C3'],
  ['a=%C3%28', '%C3%28'],
  ['a=%C0%80', '%C0%80'],
  ['a=%ED%A0%80', '%ED%A0%80'],
  ['a=b+%g1', 'b+%g1'],
];

for (const [query, quoted] of BROKEN) {
  test(`The query '${query}' is refused with a message that quotes the broken part`, () => {
    assert.throws(() => readQuery(query), {
      code: 'malformed_request',
      status: 400,
      message: `The query "${quoted}" has broken percent-encoding`,
    });
  });
}

test('Every validly encoded query has the parameters that URLSearchParams finds', () => {
  forAll(5000, (random) => {
    const query = randomQuery(random);
    const expected = [...new URLSearchParams(query)].map(([name, value]) => ({ name, value }));
    assert.deepEqual(readQuery(query), expected, query);
  });
});

const PIECES = [
  ...['a', 'limit', '5', '-', '+', '=', '&', '&', '%26', '%3d', '%3D', '%25', '%2B', '%20', '%00'],
  ...['%C3%A9', '%f0%9f%90%b6', 'é', '/', ':', '[', ']', '#', "'", ';', '?', '%EF%BF%BD'],
];

/** Starts with a letter: URLSearchParams drops a question mark in front. */
function randomQuery(random: Random): string {
  return `x${Array.from({ length: random.below(15) }, () => random.pick(PIECES)).join('')}`;
}
