/** Deprecation: the header fields until the removal, and the end of the operation after it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deprecationHeaders, removedError } from '../../src/http/deprecation.ts';
import type { Deprecation } from '../../src/http/operation.ts';

const GET_PET: Deprecation = {
  deprecatedSince: '2026-11-21T00:00:00Z',
  removedOn: '2030-12-05T00:00:00Z',
  successor: '/v1/pets',
};

test('The header fields are those of RFC 9745 and RFC 8594, with a link to the successor', () => {
  assert.deepEqual(deprecationHeaders(GET_PET), [
    ...['Deprecation', '@1795219200'],
    ...['Sunset', 'Thu, 05 Dec 2030 00:00:00 GMT'],
    ...['Link', '</v1/pets>; rel="successor-version"'],
  ]);
});

test('The error after the removal names the operation, the date and the successor', () => {
  const error = removedError('getPet', GET_PET);
  assert.deepEqual(error.body, {
    code: 'operation_removed',
    message: 'getPet was removed on 2030-12-05T00:00:00Z, use /v1/pets',
    status: 410,
  });
  assert.deepEqual(error.headers, ['Link', '</v1/pets>; rel="successor-version"']);
});
