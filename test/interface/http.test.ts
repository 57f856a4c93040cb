/**
 * What this service does with every request, byte by byte: credentials, methods, media types, bad
 * bodies, and the header fields of an answer. The kit asks the same of other services, as far as
 * fetch can say it, and is run against this one, too.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ErrorCode } from '../../src/http/api-error.ts';
import { KEY, openService } from '../support/http/service.ts';
import { REX, REX_1, ask, assertErrorAnswer, lastRequestOf, talk } from '../support/http/wire.ts';

const service = await openService({ after });

const create = (fields: readonly string[], body = REX): string =>
  lastRequestOf('POST /v1/pets', fields, body);
const withoutKey = (bytes: string): string => bytes.replace(/Authorization: .*\r\n/, '');

const JSON_LINE = 'Content-Type: application/json';

/** Requests by the code of their Error. Characters are bytes. */
const REFUSED: readonly (readonly [what: string, code: ErrorCode, requests: readonly string[]])[] =
  [
    [
      'Under /v1 authentication comes first',
      'unauthorized',
      [
        ...[
          ...['GET /v1', 'GET /v1/pets/%zz', 'GET /v1/pets?a=%zz', 'GET http://host/v1/x'],
          ...[`GET /v1/pets?access_token=${KEY}`, 'GET /v%31/nothing', 'OPTIONS /v1/pets'],
        ].map((line) => lastRequestOf(line, [`X-Api-Key: ${KEY}`, `Cookie: key=${KEY}`])),
        create(['Content-Length: 3000000'], '').concat('{'),
        create(['Content-Type: text/plain']),
        create(['Expect: 100-continue', `Content-Length: ${REX.length}`], ''),
        create(['Expect: a-miracle']),
      ].map(withoutKey),
    ],
    [
      'Only application/json is taken, without a coding',
      'unsupported_media_type',
      [
        ...['', 'application/json x', 'xapplication/json', 'application/ld+json'],
        ...['application/json, a/b', 'application/json; a, b', `a/b\r\n${JSON_LINE}`],
        ...[`application/json\r\n${JSON_LINE}`, 'application/json\r\nContent-Encoding: '],
      ].map((type) => create([`Content-Type: ${type}`])),
    ],
    [
      'A body that is not JSON in UTF-8',
      'invalid_json',
      ['', `${REX}\0`, '\xef\xbb\xbf', `\xef\xbb\xbf${REX}`, `${REX}\xc0\x80`].map(
        (body) => create([`Content-Length: ${body.length}`], '') + body,
      ),
    ],
  ];

for (const [what, code, requests] of REFUSED) {
  test(`${what}: ${code}, and no pet is added`, async () => {
    for (const bytes of requests) {
      const answers = await talk(service.port, Buffer.from(bytes, 'latin1'));
      assert.equal(answers.length, 1, bytes.slice(0, 200));
      const message = assertErrorAnswer(answers[0], code, bytes.slice(0, 200));
      assert.equal(/byte order mark/.test(message), bytes.includes('\xef\xbb\xbf'), message);
    }
    assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
  });
}

test('Outside /v1, an unknown path is 404 without an API key', async () => {
  for (const path of ['/pets', '/v1x/pets', '/V1/pets', '//v1/pets']) {
    const [answer] = await talk(service.port, withoutKey(lastRequestOf(`GET ${path}`)));
    assertErrorAnswer(answer, 'unknown_path', path);
  }
});

/** Header fields of creates. */
const ACCEPTED: readonly string[] = [
  ...['Application/JSON', 'application/json;charset="a\\"b"', 'application/json ; a="b, or c"'].map(
    (type) => `Content-Type: ${type}`,
  ),
  'X-No-Type: x',
];

test('A create takes application/json, with parameters, or no type', async (t) => {
  const own = await openService(t);
  for (const field of ACCEPTED) {
    assert.equal((await ask(own, 'POST /v1/pets', [field], REX)).status, 201, field);
  }
});

test('OPTIONS is 204 with Allow, and the message for another method names it', async () => {
  for (const [target, allow] of [
    ['/v1/pets', 'GET, POST, HEAD, OPTIONS'],
    ['/livez', 'GET, HEAD, OPTIONS'],
    ['*', 'GET, HEAD, POST, OPTIONS'],
  ] as const) {
    const { status, headers } = await ask(service, `OPTIONS ${target}`);
    assert.deepEqual([status, headers.get('allow')], [204, allow], target);
  }
  const refused = await ask(service, 'M-SEARCH /livez');
  assert.match(assertErrorAnswer(refused, 'method_not_allowed'), /M-SEARCH/);
});

test('Request body: none, and one that is sent all the same is ignored', async () => {
  const answer = await ask(service, 'GET /v1/pets', ['Accept: text/html'], '{"a":1}');
  assert.equal(answer.body, '[]');
});

test('A path is percent-decoded, and a query that getPet does not read is ignored', async (t) => {
  const own = await openService(t);
  await own.post(REX);
  const answer = await ask(own, 'GET http://h/v1/p%65ts/%31?limit=0&status=lost');
  assert.equal(answer.body, REX_1);
});
