/**
 * What this service does with every request, byte by byte: credentials, methods, media types, bad
 * bodies, and the header fields of an answer. The kit asks the same of other services, as far as
 * fetch can say it, and is run against this one, too.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ErrorCode } from '../../src/http/api-error.ts';
import { KEY, openService } from '../support/http/service.ts';
import { REX, ask, assertErrorAnswer, lastRequestOf, talk } from '../support/http/wire.ts';

const service = await openService({ after }, { bodyLimitBytes: 1 << 20 });

const create = (fields: readonly string[], body = REX): string =>
  lastRequestOf('POST /v1/pets', fields, body);
const withoutKey = (bytes: string): string => bytes.replace(/Authorization: .*\r\n/, '');
const nested = (open: string, inner: string, close: string): string =>
  open.repeat(30_000) + inner + close.repeat(30_000);

const JSON_LINE = 'Content-Type: application/json';

/** Requests by the code of their Error. Characters are bytes. */
const REFUSED: readonly (readonly [what: string, code: ErrorCode, requests: readonly string[]])[] =
  [
    [
      'Under /v1 authentication comes first',
      'unauthorized',
      [
        ...['', '/nothing', '/pets/%zz', '/pets?a=%zz', `/pets?access_token=${KEY}`].map((path) =>
          lastRequestOf(`GET /v1${path}`, [`X-Api-Key: ${KEY}`, `Cookie: key=${KEY}`]),
        ),
        ...['GET /v%31/nothing', 'GET http://host/v1/x', 'OPTIONS /v1/pets', 'PUT /v1/pets'].map(
          (line) => lastRequestOf(line),
        ),
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
        ...['', 'json', '*/*', 'application/jsonx', 'application/json x', 'xapplication/json'],
        ...[
          'application',
          'application/ld+json',
          'application/json, a/b',
          'application/json; a, b',
        ],
        ...[`application/json\r\n${JSON_LINE}`, `a/b\r\n${JSON_LINE}`],
        ...['gzip', 'identity', ''].map(
          (coding) => `application/json\r\nContent-Encoding: ${coding}`,
        ),
      ].map((type) => create([`Content-Type: ${type}`])),
    ],
    [
      'A body that is not JSON in UTF-8',
      'invalid_json',
      [
        ...['', ' ', `${REX}\0`, '{,}', '\xef\xbb\xbf', `\xef\xbb\xbf${REX}`],
        ...['{"name":"a\xff","categoryId":1}', '{"name":"Rex","categoryId":1,"\xc3":1}'],
        ...[`${REX}\xc0\x80`, Buffer.from(REX, 'utf16le').toString('latin1')],
        ...[nested('[', '', ''), `${nested('{"a":', '1', '}')}}`],
      ].map((body) => create([`Content-Length: ${body.length}`], '') + body),
    ],
    [
      'JSON that is not a NewPet',
      'invalid_body',
      [
        ...['[]', '{}', nested('[', '', ']'), nested('{"a":', '1', '}')],
        `{"name":${nested('[{"a":', '{}', '}]')},"categoryId":1}`,
      ].map((body) => create([], body)),
    ],
  ];

for (const [what, code, requests] of REFUSED) {
  test(`${what}: ${code}, and no pet is added`, async () => {
    for (const bytes of requests) {
      const answers = await talk(service.port, Buffer.from(bytes, 'latin1'));
      assert.equal(answers.length, 1, bytes.slice(0, 200));
      assertErrorAnswer(answers[0], code, bytes.slice(0, 200));
    }
    assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
  });
}

/** Header fields and bodies of creates of the first pet. */
const ACCEPTED: readonly (readonly [field: string, body: string])[] = [
  ...[
    ...['Application/JSON', 'application/json; charset=utf-8', 'application/json;charset="a\\"b"'],
    'Application/JSON ; charset="utf-8, or so"',
  ].map((type) => [`Content-Type: ${type}`, REX] as const),
  ['X-No-Type: x', REX],
  ['X-Deep: x', `{"name":"Rex","x":${nested('[', '', ']')},"categoryId":1}`],
];

test('A create takes application/json, with parameters, or no type, and fields 30,000 deep', async (t) => {
  for (const [field, body] of ACCEPTED) {
    const own = await openService(t, { bodyLimitBytes: 1 << 20 });
    const answer = await ask(own, 'POST /v1/pets', [field], body);
    assert.equal(answer.body, '{"id":1,"name":"Rex","categoryId":1}', field);
    assert.equal(answer.headers.get('location'), '/v1/pets/1');
  }
});

const ALLOW: readonly (readonly [path: string, allow: string])[] = [
  ['/v1/pets', 'GET, POST, HEAD, OPTIONS'],
  ...['/v1/pets/no-id', '/livez', '/readyz', '/openapi.json', '/metrics'].map(
    (path) => [path, 'GET, HEAD, OPTIONS'] as const,
  ),
];

test('OPTIONS is 204 with Allow, and another method is 405 with the same', async () => {
  for (const [path, allow] of ALLOW) {
    const options = await ask(service, `OPTIONS ${path}`);
    assert.deepEqual([options.status, options.headers.get('allow')], [204, allow], path);
    for (const method of ['PUT', 'TRACE', 'M-SEARCH']) {
      const refused = await ask(service, `${method} ${path}`);
      assert.match(assertErrorAnswer(refused, 'method_not_allowed'), new RegExp(method));
      assert.equal(refused.headers.get('allow'), allow, path);
    }
  }
  const any = await ask(service, 'OPTIONS *');
  assert.deepEqual([any.status, any.headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS']);
});

const HEADS = ['/v1/pets?limit=1', '/livez', '/readyz', '/openapi.json', '/v1/pets/0', '/x'];

test('HEAD is supported wherever GET is, with the same header fields and no body', async (t) => {
  const own = await openService(t);
  for (const name of ['Rex', 'é😀']) await own.post({ name, categoryId: 1 });
  for (const path of HEADS) {
    const get = await ask(own, `GET ${path}`);
    const head = await ask(own, `HEAD ${path}`);
    const fields = ({ status, headers }: typeof get): unknown => [
      status,
      new Map([...headers, ['date', '']]),
    ];
    assert.deepEqual(fields(head), fields(get), path);
    assert.equal(head.body, '');
    assert.equal(get.headers.get('content-type'), 'application/json');
    assert.equal(get.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(get.headers.get('cache-control'), 'no-store');
  }
});

test('Request body: none, and one that is sent all the same is ignored', async () => {
  const answer = await ask(service, 'GET /v1/pets', ['Accept: text/html'], '{"a":1}');
  assert.equal(answer.body, '[]');
});

test('A path is percent-decoded, and a query that getPet does not read is ignored', async (t) => {
  const own = await openService(t);
  await own.post(REX);
  const answer = await ask(own, 'GET http://h/v1/p%65ts/%31?limit=0&status=lost');
  assert.equal(answer.body, '{"id":1,"name":"Rex","categoryId":1}');
});
