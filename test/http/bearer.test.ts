/** Bearer credentials: what counts as one, and which keys are accepted. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { ApiError } from '../../src/http/api-error.ts';
import { authenticate, type Keyring } from '../../src/http/bearer.ts';
import { putInForce } from '../../src/app/api-keys.ts';
import { readHeaders } from '../../src/http/request-header.ts';

const digestKey = (key: string): string =>
  `sha256:${createHash('sha256').update(key).digest('hex')}`;

const keyringOf = (...keys: readonly string[]): Keyring =>
  putInForce(keys.map((key) => ({ key, name: key }))).forAll;

const keyring = keyringOf('first-key', 'second', digestKey('hashed-key'));

const ACCEPTED: readonly string[] = [
  ...['Bearer first-key', 'bearer first-key', 'BEARER second', 'bEaReR hashed-key'],
  ...['Bearer   first-key', 'Bearer \tsecond'],
];

for (const authorization of ACCEPTED) {
  test(`The credential ${JSON.stringify(authorization)} is accepted`, () => {
    const found = authenticate(readHeaders(['Authorization', authorization]), keyring);
    assert.ok(!(found instanceof ApiError));
  });
}

const FORM = 'The Authorization header field must be of the form Bearer <API_KEY>';
const INVALID = 'The API key is not valid';
const REFUSED: readonly (readonly [message: string, ...authorizations: string[]])[] = [
  ['An API key is required: Authorization: Bearer <API_KEY>'],
  [INVALID, 'Bearer first-key', 'Bearer first-key'],
  [FORM, ''],
  [FORM, 'Bearer'],
  [FORM, 'Bearer    '],
  [FORM, 'first-key'],
  [FORM, 'Bearerfirst-key'],
  [FORM, 'Bearer\tfirst-key'],
  [FORM, 'Basic Zmlyc3Q6a2V5'],
  [INVALID, 'Bearer other-key'],
  [INVALID, 'Bearer first-key second'],
  [INVALID, `Bearer ${digestKey('hashed-key').slice('sha256:'.length)}`],
  [INVALID, 'Bearer \u00e9\u00ff'],
  [INVALID, 'Bearer \u00a0first-key'],
];

for (const [message, ...authorizations] of REFUSED) {
  test(`The credentials ${JSON.stringify(authorizations)} are refused: ${message}`, () => {
    const headers = readHeaders(authorizations.flatMap((value) => ['Authorization', value]));
    // RFC 6750 section 3.1: only where a Bearer token was sent that is wrong.
    const isWrongToken = message === INVALID;
    const challenge = `Bearer realm="petstore"${isWrongToken ? ', error="invalid_token"' : ''}`;
    const error = authenticate(headers, keyring);
    assert.ok(error instanceof ApiError);
    assert.deepEqual(error.body, { code: 'unauthorized', message, status: 401 });
    assert.deepEqual(error.headers, ['WWW-Authenticate', challenge]);
  });
}

test('A keyring finds a key by its digest each time, and no other key', () => {
  const hex = digestKey('hashed-key').slice('sha256:'.length);
  const digest = `sha256:${hex.toUpperCase()}`;
  const find = keyringOf('plain', digest);
  for (let round = 0; round < 3; round += 1) {
    for (const other of ['hashed-kez', 'hashed-ke', '']) assert.equal(find(other), undefined);
    assert.equal(find('hashed-key')?.text, 'hashed-key');
    assert.equal(find('hashed-key')?.use.name, digest);
    assert.equal(find('plain')?.use.name, 'plain');
  }
});
