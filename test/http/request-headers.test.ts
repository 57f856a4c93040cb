/** The header fields that count, taken from node:http's raw list. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcesBody, readHeaders, type RequestHeaders } from '../../src/http/request-headers.ts';

const NONE: RequestHeaders = {
  hostCount: 0,
  host: '',
  authorizationCount: 0,
  authorization: '',
  contentType: undefined,
  contentEncoding: undefined,
  contentLength: undefined,
  transferEncoding: undefined,
  expect: undefined,
  idempotencyKeys: [],
  asksToUpgrade: false,
};

const LISTS: readonly (readonly [rawHeaders: string[], found: Partial<RequestHeaders>])[] = [
  [[], {}],
  [['Host', 'a:80'], { hostCount: 1, host: 'a:80' }],
  [['hOsT', 'a', 'HOST', 'b'], { hostCount: 2, host: 'b' }],
  [['Authorization', 'x', 'AUTHORIZATION', 'y'], { authorizationCount: 2, authorization: 'y' }],
  [['content-type', 'a/b', 'Content-type', 'c/d'], { contentType: 'a/b, c/d' }],
  [
    ['Content-Encoding', 'gzip', 'content-LENGTH', '17'],
    { contentEncoding: 'gzip', contentLength: '17' },
  ],
  [['Transfer-Encoding', 'x', 'EXPECT', ''], { transferEncoding: 'x', expect: '' }],
  [['idempotency-key', '"a"', 'IDEMPOTENCY-KEY', ''], { idempotencyKeys: ['"a"', ''] }],
  [['UPGRADE', 'h2c'], { asksToUpgrade: true }],
  [['Date', 'x', 'Proxy-Connection', 'x', 'Content_Length', '5', 'ho\u017ft', 'x'], {}],
];

for (const [rawHeaders, found] of LISTS) {
  test(`The list ${JSON.stringify(rawHeaders)} has ${JSON.stringify(found)}`, () => {
    assert.deepEqual(readHeaders(rawHeaders), { ...NONE, ...found });
  });
}

const BODIES: readonly (readonly [rawHeaders: string[], isAnnounced: boolean])[] = [
  [[], false],
  [['Content-Type', 'application/json'], false],
  [['Content-Length', '0'], false],
  [['Content-Length', '000'], false],
  [['Content-Length', '1'], true],
  [['Content-Length', '99999999999999999999'], true],
  [['Transfer-Encoding', 'chunked'], true],
  [['Transfer-Encoding', 'chunked', 'Content-Length', '0'], true],
];

for (const [rawHeaders, isAnnounced] of BODIES) {
  test(`${JSON.stringify(rawHeaders)} ${isAnnounced ? 'announces a' : 'announces no'} body`, () => {
    assert.equal(announcesBody(readHeaders(rawHeaders)), isAnnounced);
  });
}
