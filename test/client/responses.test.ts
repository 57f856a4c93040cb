/**
 * Responses as the specification describes them, and wrong ones, whose errors say what is wrong.
 */

import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, test } from 'node:test';
import { PetStoreError } from '../../src/client/client.ts';
import {
  answers,
  answersError,
  API_KEY,
  BASE_URL,
  breaks,
  PET_TEXT,
  scriptedClient,
  type Step,
} from './scripted-fetch.ts';

const INT64_MAX = 2n ** 63n - 1n;

const PETS: readonly (readonly [text: string, pet: object])[] = [
  [PET_TEXT, { id: 1n, name: 'Rex', categoryId: 7n }],
  [
    '{"status":"sold","categoryId":-9223372036854775808,"name":"\\ud800","id":9223372036854775807}',
    { id: INT64_MAX, name: '\ud800', categoryId: -(2n ** 63n), status: 'sold' },
  ],
  [' {"id":1.0,"name":"","categoryId":1e2,"new":[1]} ', { id: 1n, name: '', categoryId: 100n }],
  [
    '{"id":1,"name":"x","categoryId":7,"__proto__":{"status":"sold"}}',
    { id: 1n, name: 'x', categoryId: 7n },
  ],
];

for (const [text, pet] of PETS) {
  test(`The client reads the response ${text} as ${inspect(pet)}`, async () => {
    const steps = [answers(200, text), answers(201, text), answers(200, `[${text},${text}]`)];
    const { client } = scriptedClient(steps);
    assert.deepEqual(await client.getPet(1), pet);
    assert.deepEqual(await client.createPet({ name: 'x', categoryId: 1 }), pet);
    assert.deepEqual(await client.listPets(), { pets: [pet, pet], next: undefined });
  });
}

const NO_PETS: readonly (readonly [text: string, complaint: RegExp])[] = [
  ['', /not JSON/],
  ['<!doctype html>', /not JSON/],
  ['{"id":1,"name":"Rex"', /not JSON/],
  ['['.repeat(1_000_000), /not JSON/],
  ['null', /it is not an object/],
  [`[${PET_TEXT}]`, /it is not an object/],
  ['{"id":"1","name":"Rex","categoryId":7}', /id must be a 64-bit integer/],
  ['{"id":9223372036854775808,"name":"Rex","categoryId":7}', /id must be a 64-bit integer/],
  ['{"__proto__":{"id":1},"name":"Rex","categoryId":7}', /id must be a 64-bit integer/],
  ['{"id":1,"name":5,"categoryId":7}', /name must be a string/],
  ['{"id":1,"name":"Rex","categoryId":null}', /categoryId must be a 64-bit integer/],
  ['{"id":1,"name":"Rex","categoryId":7,"status":"lost"}', /status must be one of available/],
  ['{"id":1,"name":"Rex","categoryId":7,"status":null}', /status must be one of available/],
];

for (const [text, complaint] of NO_PETS) {
  test(`The client refuses the response ${text.slice(0, 60)} as a Pet, also in a list`, async () => {
    const list = `[${PET_TEXT},${text}]`;
    const { client } = scriptedClient([answers(200, text), answers(201, text), answers(200, list)]);
    const expected = { name: 'PetStoreError', code: 'invalid_answer', message: complaint };
    await assert.rejects(client.getPet(1), { ...expected, status: 200 });
    const adding = client.createPet({ name: 'x', categoryId: 1 });
    await assert.rejects(adding, { ...expected, status: 201 });
    await assert.rejects(client.listPets(), { code: 'invalid_answer' });
  });
}

test('The client refuses a list that is not an array', async () => {
  const texts = ['{}', 'null', PET_TEXT];
  const { client } = scriptedClient(texts.map((text) => answers(200, text)));
  for (const _ of texts) await assert.rejects(client.listPets(), { code: 'invalid_answer' });
});

const FAILURES: readonly (readonly [status: number, body: string, code: string])[] = [
  [404, '{"code":"not_found","message":"None","status":404}', 'not_found'],
  [418, '{"message":"M","status":418.0,"code":"a_new_code","more":1}', 'a_new_code'],
  [404, '{"code":"not_found","message":"None","status":400}', 'unexpected_status'],
  [404, '{"code":"not_found","message":"None","status":"404"}', 'unexpected_status'],
  [404, '{"code":"not_found","message":"None"}', 'unexpected_status'],
  [404, '{"code":"not_found","status":404}', 'unexpected_status'],
  [404, '{"code":404,"message":"None","status":404}', 'unexpected_status'],
  [404, '[]', 'unexpected_status'],
  [403, '<h1>Forbidden</h1>', 'unexpected_status'],
  [500, '', 'unexpected_status'],
  [201, PET_TEXT, 'unexpected_status'],
];

for (const [status, body, code] of FAILURES) {
  test(`A response ${status} with the body '${body}' is the error ${code}`, async () => {
    const { client } = scriptedClient([answers(status, body)]);
    const message = code === 'unexpected_status' ? /has the status .* no Error body/ : /^(None|M)$/;
    await assert.rejects(client.getPet(1), { name: 'PetStoreError', code, status, message });
  });
}

test('No error contains the API key, even if the service sends it back', async () => {
  const echo = `Authorization: Bearer ${API_KEY}`;
  const error = { code: `bad_${API_KEY}`, message: `${echo} ${echo}`, status: 400 };
  const link = { Link: `<https://evil.example/${API_KEY}?${API_KEY}>; rel="next"` };
  const steps = [
    answers(400, JSON.stringify(error)),
    answers(400, `<pre>${echo}</pre>`),
    answers(200, `<pre>${echo}</pre>`),
    answers(200, `[{"id":"${API_KEY}"}]`),
    answers(200, `[{"${API_KEY}":1}]`),
    answers(200, '[]', link),
    answers(200, '[]', { Link: API_KEY }),
    breaks,
  ];
  const { client } = scriptedClient(steps, { retries: 0, timeoutMs: Infinity });
  for (const step of steps) {
    await assert.rejects(client.listPets(), (thrown) => {
      assert.ok(thrown instanceof PetStoreError);
      assert.ok(!inspect(thrown, { depth: 9, showHidden: true }).includes(API_KEY));
      if (step === breaks) assert.match(String(thrown.cause), /fetch failed/);
      return true;
    });
  }
});

/** API keys, the Error that a service sends, and what the client shows of it. */
const KEPT: readonly (readonly [key: string, code: string, message: string, shown: string])[] = [
  ['id', 'invalid_body', 'id is invalid', 'invalid_body: [API key] is invalid'],
  ['invalid_body', 'invalid_body', 'No invalid_body', 'invalid_body: No [API key]'],
  ['parameter', 'invalid_parameter', 'Two parameters', 'invalid_parameter: Two parameters'],
  ['x', 'x-x', 'xx, x x_x', '[API key]-[API key]: xx, [API key] [API key]_[API key]'],
  ['a.b$1', 'a.b$1', 'axb a.b$1', '[API key]: axb [API key]'],
  [API_KEY, `E${API_KEY}`, `Bearer%20${API_KEY}`, 'E[API key]: Bearer%20[API key]'],
];

for (const [apiKey, code, message, shown] of KEPT) {
  test(`With the API key ${apiKey} the error ${code}, "${message}" is ${shown}`, async () => {
    const step = answers(400, JSON.stringify({ code, message, status: 400 }));
    const { client } = scriptedClient([step], { apiKey });
    const error = await client.listPets().catch((thrown: PetStoreError) => thrown);
    assert.ok(error instanceof PetStoreError);
    assert.equal(`${error.code}: ${error.message}`, shown);
  });
}

test('The client follows no redirect, whose status a browser hides', async () => {
  const redirect = answers(307, '', { Location: `${BASE_URL}/elsewhere` });
  const { client, sent } = scriptedClient([redirect, () => Response.error()]);
  for (const status of [307, undefined]) {
    const expected = { code: 'unexpected_status', status, message: /redirect/ };
    await assert.rejects(client.listPets(), expected);
  }
  assert.deepEqual(
    sent.map(({ init }) => init.redirect),
    ['manual', 'manual'],
  );
});

describe('The Link to the next page:', () => {
  const page = (link: string): ReturnType<typeof answers> =>
    answers(200, `[${PET_TEXT}]`, { Link: link });

  const TARGETS: readonly (readonly [target: string, next: string])[] = [
    ['/v1/pets?after=1', `${BASE_URL}/pets?after=1`],
    ['?after=1', `${BASE_URL}/pets?after=1`],
    ['//pets.example/v1/pets?after=1', `${BASE_URL}/pets?after=1`],
    ['http://PETS.example:80/v1/pets?after=1', `${BASE_URL}/pets?after=1`],
    ['/v1/more/pets', `${BASE_URL}/more/pets`],
  ];
  for (const [target, next] of TARGETS) {
    test(`'${target}' leads to ${next}`, async () => {
      const steps = [page(`<${target}>; rel="next"`), answers(200, '[]')];
      const { client, sent } = scriptedClient(steps);
      const first = await client.listPets({ limit: 1 });
      assert.equal(first.next, next);
      assert.deepEqual(await client.listPets(next), { pets: [], next: undefined });
      assert.equal(sent[1]!.url, next);
    });
  }

  const ELSEWHERE: readonly string[] = [
    ...['https://evil.example/v1/pets', '//evil.example/v1/pets', 'https://pets.example/v1/pets'],
    ...['http://pets.example:81/v1/pets', 'http://pets.example.evil.example/v1/pets'],
    ...['http://pets.example@evil.example/v1/pets', 'http://me:pw@pets.example/v1/pets'],
    ...['http://sub.pets.example/v1/pets', '\\\\evil.example/v1/pets', '/v2/pets', '/v10/pets'],
    ...['/v1/../v2/pets', '/v1/%2e%2e/v2/pets', '/v1', '/', 'data:application/json,[]'],
    ...['javascript:alert(1)', 'blob:http://pets.example/v1/pets', 'file:///v1/pets'],
  ];
  for (const target of ELSEWHERE) {
    test(`'${target}' is refused, and the API key is not sent there`, async () => {
      const { client, sent } = scriptedClient([page(`<${target}>; rel="next"`)]);
      const pets = client.allPets();
      const expected = { code: 'invalid_answer', message: /not below http:/ };
      await assert.rejects(pets.next(), expected);
      assert.equal(sent.length, 1);
      for (const page of [target, new URL(target, BASE_URL).href]) {
        await assert.rejects(client.listPets(page), TypeError);
        await assert.rejects(client.allPets(page).next(), TypeError);
      }
      assert.equal(sent.length, 1);
    });
  }

  test('an invalid Link is an error, and one with other relations only the end of the list', async () => {
    const expected = { code: 'invalid_answer', message: /Link of the response is invalid/ };
    for (const field of ['</v1/pets?after=1; rel="next"', 'next', '<http://[>; rel="next"']) {
      await assert.rejects(scriptedClient([page(field)]).client.listPets(), expected, field);
    }
    const { client } = scriptedClient([page('</v1/pets>; rel="first", </docs>; rel="help"')]);
    assert.equal((await client.listPets()).next, undefined);
  });

  const CIRCLE = page('</v1/pets?after=0>; rel="next"');
  const EMPTY = answers(200, '[]', { Link: '</v1/pets?after=0>; rel="next"' });
  const AFTER_1 = page('<?after=1>; rel="next"');
  const LATE_ERRORS: readonly (readonly [what: string, steps: Step[], expected: object])[] = [
    ['a Link in a circle', [CIRCLE, CIRCLE], { message: /do not ascend/ }],
    ['an empty next page', [CIRCLE, EMPTY], { message: /An empty page has a next page$/ }],
    ['a failure', [AFTER_1, answersError(401, 'unauthorized')], { code: 'unauthorized' }],
  ];
  for (const [what, steps, expected] of LATE_ERRORS) {
    test(`allPets yields the pets before ${what}, and then rejects`, async () => {
      const pets = scriptedClient(steps).client.allPets();
      assert.equal((await pets.next()).value?.id, 1n);
      await assert.rejects(pets.next(), { name: 'PetStoreError', ...expected });
    });
  }
});
