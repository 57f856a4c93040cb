/**
 * The OpenAPI description compared with the service.
 *
 * Each service of the tests compares its responses with the description. Here a list of requests
 * goes to services in all states. In the end every status of every operation was seen, and each
 * example in the description was a real response.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppOptions } from '../src/app.ts';
import { DEFAULT_LIMIT, MAX_LIMIT, PET_STATUSES } from '../src/core/pets/pet.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../src/core/pets/pet-store.ts';
import { describeService } from '../src/extras/web/openapi/openapi.ts';
import type { Named, ResponseObject } from '../src/extras/web/openapi/types.ts';
import { createMemoryStore } from '../src/core/store/memory-store.ts';
import {
  APP_OPERATIONS,
  assertDescribed,
  assertMatches,
  DESCRIPTION,
  DESCRIPTION_TEXT,
  OPERATIONS,
} from './support/description/description.ts';
import type { RawAnswer } from './support/http/answers.ts';
import { KEY, openService } from './support/http/service.ts';
import { lastRequestOf } from './support/http/requests.ts';
import { ask, talk } from './support/http/wire.ts';

test('GET /openapi.json is the description, of the version of the interface (S9.2)', async (t) => {
  assert.equal((await ask(await openService(t), 'GET /openapi.json')).body, DESCRIPTION_TEXT);
  const { openapi, info, servers } = DESCRIPTION;
  // With a server '/' generated clients would request //v1/pets.
  assert.deepEqual([openapi, info.version, servers], ['3.1.0', '1.0.0', undefined]);
});

test('The longest Idempotency-Key has a backslash before each of 255 characters', async (t) => {
  const longest = `"${'\\"'.repeat(255)}"`;
  const fields = { 'Idempotency-Key': longest, 'Content-Type': 'application/json' };
  const response = await (await openService(t)).post('{"name":"Rex","categoryId":7}', fields);
  assert.equal(response.status, 201);
  assert.ok(DESCRIPTION_TEXT.includes(`"maxLength":${longest.length}`));
});

test('The description leaves out what the service does not have', () => {
  const pets = APP_OPERATIONS.filter(({ name }) => name === 'listPets');
  const { paths } = describeService('', pets);
  assert.deepEqual(Object.keys(paths), ['/v1/pets']);
  assert.deepEqual(Object.keys(paths['/v1/pets']!), ['get']);
});

test('The description names exactly the operations that the service has (S1.1)', () => {
  const expected = APP_OPERATIONS.map(({ name, method, path, needsKey }) => [
    ...[name, method, path, needsKey !== false, name === 'getPet'],
  ]);
  const actual = OPERATIONS.map(({ method, path, operation }) => {
    const { operationId, deprecated = false, responses } = operation;
    const { security = DESCRIPTION.security } = operation;
    // What needs an API key can be refused, and what is deprecated is removed one day.
    assert.deepEqual([security.length > 0, deprecated], ['401' in responses, '410' in responses]);
    return [operationId, method, path, security.length > 0, deprecated];
  });
  assert.deepEqual(actual.sort(), expected.sort());
});

test('Each operation has exactly the parameters that the service reads, with their bounds', () => {
  const all = OPERATIONS.flatMap(({ operation: { operationId, parameters = [] } }) =>
    parameters.map(({ in: where, name, required = false, schema }) => {
      const { $ref = '', minimum, maximum, default: byDefault } = schema;
      return [operationId, where, name, required, $ref || [minimum, maximum, byDefault]];
    }),
  );
  const int64 = [-(2 ** 63), 2 ** 63, undefined];
  assert.deepEqual(all, [
    ['listPets', 'query', 'limit', false, [1, MAX_LIMIT, DEFAULT_LIMIT]],
    ['listPets', 'query', 'status', false, '#/components/schemas/PetStatus'],
    ['listPets', 'query', 'after', false, int64],
    ['createPet', 'header', 'Idempotency-Key', false, [undefined, undefined, undefined]],
    ['getPet', 'path', 'petId', true, int64],
  ]);
  // JSON.parse has rounded the bounds, those of after, petId, categoryId, and id and categoryId.
  const bounds = /"minimum":(-9223372036854775808|1),"maximum":9223372036854775807[,}]/g;
  assert.equal(DESCRIPTION_TEXT.match(bounds)?.length, 5);
});

test('The schemas have the statuses and the fields of an Error that the specification has', () => {
  const { PetStatus, Error: error } = DESCRIPTION.components.schemas;
  assert.deepEqual(PetStatus?.enum, PET_STATUSES);
  const fields = ['code', 'message', 'status'];
  assert.deepEqual([error?.required, Object.keys(error?.properties ?? {})], [fields, fields]);
  assert.equal(error?.additionalProperties, false);
});

/** Services by their state. */
const SERVICES: Named<Partial<AppOptions> & { readonly isDraining?: true }> = {
  open: {},
  draining: { isDraining: true },
  starting: failing(new StoreUnavailableError('The service is starting')),
  'whose store is broken': failing(new Error('The test broke the store')),
  'in doubt': failing(
    new OutcomeUnknownError(
      'It is not known whether the pet was stored: pets cannot be stored: EIO: i/o error',
    ),
    {},
  ),
  'after the removal of getPet': { timeOfDay: () => Date.parse('2030-12-05T00:00:00Z') },
};

/** Options with a store whose creates fail with this error, and its reads, if none are given. */
function failing(error: Error, reads?: object): Partial<AppOptions> {
  const fail = (): never => {
    throw error;
  };
  const create = async (): Promise<never> => fail();
  const unreadiness = (): string => error.message;
  const others = reads ?? { list: fail, get: fail, count: fail };
  return { store: { ...createMemoryStore(), create, unreadiness, ...others } };
}

const KEYED = ['Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324'];
const post = (body: string, fields: readonly string[] = []): string =>
  lastRequestOf('POST /v1/pets', fields, body);
const [REX_BODY, MIA_BODY] = [requestExample('withStatus'), requestExample('withoutStatus')];

/** Requests in the order in which each service gets them: the first pet is Rex, with a key. */
const REQUESTS: readonly string[] = [
  lastRequestOf('GET /v1/pets'),
  ...[REX_BODY, REX_BODY, MIA_BODY].map((body) => post(body, KEYED)),
  ...[MIA_BODY, REX_BODY].map((body) => post(body)),
  ...['?limit=2', '?limit=0&status=lost', '/1', '/4711', '/Rex', '/%zz'].map((rest) =>
    lastRequestOf(`GET /v1/pets${rest}`),
  ),
  post('{"categoryId":1.5,"status":"lost"}'),
  post('{"name":"Rex"'),
  post(REX_BODY, ['Idempotency-Key: two words']),
  post(`{"name":"${'x'.repeat(65_536)}","categoryId":7}`),
  post(REX_BODY, ['Content-Type: text/plain']),
  post(REX_BODY, ['Content-Encoding: gzip']),
  ...OPERATIONS.flatMap(({ method, path }) => {
    const line = `${method} ${path.replace(/\{\w+\}/, '1')}`;
    const right = lastRequestOf(line);
    return [
      ...[right, right.replace(method, 'DELETE'), lastRequestOf(`${line}?%zz`)],
      lastRequestOf(line, ['Expect: 200-ok']),
      lastRequestOf(line, [`X: ${'y'.repeat(17_000)}`]),
      // The last chunk: the service waits for the end of a body with a refused transfer coding.
      lastRequestOf(line, ['Transfer-Encoding: gzip, chunked'], '0\r\n\r\n'),
      right.replace('Host: a', 'Host: a,b'),
      right.replace('HTTP/1.1', 'HTTP/2.0'),
      right.replace(/Authorization: .*\r\n/, ''),
      right.replace(KEY, 'wrong'),
    ];
  }),
];

/** The responses by operation and status, such as `getPet 404`. */
const SEEN = new Map<string, readonly RawAnswer[]>();

for (const [state, { isDraining, ...options }] of Object.entries(SERVICES)) {
  test(`Each response of a service ${state} is as described`, async (t) => {
    const service = await openService(t, options);
    if (isDraining) service.app.drain();
    for (const bytes of REQUESTS) {
      const [answer] = await talk(service.port, bytes);
      const [method = '', target = ''] = bytes.split(' ');
      // Also the responses of node:http, which the service does not see.
      const key = assertDescribed(method, target, answer!);
      SEEN.set(key, [...(SEEN.get(key) ?? []), answer!]);
    }
  });
}

for (const { operation, responses } of OPERATIONS) {
  for (const [status, response] of responses) {
    const key = `${operation.operationId} ${status}`;
    test(`The response ${key} was seen, with each of its examples`, () => {
      assert.ok(SEEN.has(key));
      const seen = seenLike(response);
      const bodies = seen.map(({ body }) =>
        /^[[{]/.test(body) ? JSON.stringify(JSON.parse(body)) : body,
      );
      for (const { examples = {} } of Object.values(response.content)) {
        for (const { value } of Object.values(examples)) {
          assert.ok(bodies.includes(JSON.stringify(value)), JSON.stringify(value));
        }
      }
      for (const [name, { example }] of Object.entries(response.headers ?? {})) {
        const values = seen.map(({ headers }) => headers.get(name.toLowerCase()));
        assert.ok(values.includes(String(example)), `${name}: ${example}, not ${values}`);
      }
    });
  }
}

/** Returns the responses of all operations that describe the response in the same way. */
function seenLike({ description: words }: ResponseObject): readonly RawAnswer[] {
  return OPERATIONS.flatMap(({ operation, responses }) =>
    [...responses].flatMap(([status, response]) =>
      response.description === words ? (SEEN.get(`${operation.operationId} ${status}`) ?? []) : [],
    ),
  );
}

function requestExample(name: string): string {
  const { post } = DESCRIPTION.paths['/v1/pets']!;
  const { schema, examples } = post!.requestBody!.content['application/json']!;
  const { value } = examples![name]!;
  assertMatches(schema, value, name);
  return JSON.stringify(value);
}
