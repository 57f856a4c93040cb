/** The query string, read as URLSearchParams reads it if its encoding is right. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readQuery } from '../../src/http/query.ts';
import { forAll, type Random } from '../support/random.ts';

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
  ...['%ef%bb%bf', '%2541', 'Limit', 'l%69mit'],
];

/** Starts with a letter: URLSearchParams drops a question mark in front. */
function randomQuery(random: Random): string {
  return `x${Array.from({ length: random.below(15) }, () => random.pick(PIECES)).join('')}`;
}
