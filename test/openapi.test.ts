/**
 * The OpenAPI description compared with a running service.
 *
 * For each status of the description there is a request that provokes it. The response must be as
 * described: its status, its body, its header fields and no others. Each example in the description
 * must be a real response.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { petOperations } from '../src/api/operations.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../src/api/read-parameters.ts';
import type { AppOptions } from '../src/app-options.ts';
import { PET_STATUSES, type NewPet } from '../src/model/pet.ts';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../src/model/pet-store.ts';
import { openapiOperation } from '../src/openapi/openapi.ts';
import type { Named, OpenApi, ResponseObject, Schema } from '../src/openapi/types.ts';
import { healthOperations } from '../src/ops/health.ts';
import { createMetrics, type MetricsSources } from '../src/ops/metrics.ts';
import { createMemoryStore } from '../src/stores/memory-store.ts';
import { describedOperations, describedResponses } from './support/description/description.ts';
import { schemaProblems, type Json } from './support/description/json-schema.ts';
import type { RawAnswer } from './support/http/answers.ts';
import { KEY, openService } from './support/http/service.ts';
import { ask, lastRequestOf, talk } from './support/http/wire.ts';

const text = (await ask(await openService({ after }), 'GET /openapi.json')).body;
const description = JSON.parse(text) as OpenApi;
const described = describedOperations(description);

test('The interface description version is 1.0.0', () => {
  const { openapi, info, servers } = description;
  assert.deepEqual([openapi, info.version, servers[0]?.url], ['3.1.0', '1.0.0', '/']);
});

test('Each shared part of the description is used', () => {
  for (const [kind, parts] of Object.entries(description.components)) {
    // A security scheme is named without an address.
    const prefix = kind === 'securitySchemes' ? '{"' : `"#/components/${kind}/`;
    for (const name of Object.keys(parts)) assert.ok(text.includes(`${prefix}${name}"`), name);
  }
});

test('An int64 has its exact bounds, not those of a double', () => {
  const minima = text.match(/"minimum":[^,]+,"maximum":9223372036854775807[,}]/g) ?? [];
  const found = minima.map((bounds) => /-?[0-9]+/.exec(bounds)![0]);
  // The parameters after and petId; categoryId of NewPet; id and categoryId of Pet.
  const least = '-9223372036854775808';
  assert.deepEqual(found, [least, least, least, '1', least]);
});

test('The description names exactly the operations that the service has', (t) => {
  const metrics = createMetrics({} as MetricsSources);
  t.after(() => metrics.close());
  const operations = [
    ...petOperations(createMemoryStore, createMemoryStore),
    ...healthOperations(() => undefined),
    metrics.operation,
    openapiOperation(''),
  ];
  const expected = operations.map(({ name, method, path, needsKey, deprecation }) => [
    ...[name, method, path, needsKey !== false, deprecation !== undefined],
  ]);
  const actual = described.map(({ method, path, operation }) => {
    const { operationId, deprecated = false, responses } = operation;
    const { security = description.security } = operation;
    // What needs an API key can be refused, and what is deprecated is removed one day.
    assert.deepEqual([security.length > 0, deprecated], ['401' in responses, '410' in responses]);
    return [operationId, method, path, security.length > 0, deprecated];
  });
  assert.deepEqual(actual.sort(), expected.sort());
});

test('Each operation has exactly the parameters that the service reads, with their bounds', () => {
  const all = described.flatMap(({ operation: { operationId, parameters = [] } }) =>
    parameters.map(({ in: where, name, required = false, schema }) => {
      const { $ref = '', minimum, maximum, default: byDefault } = schema;
      return [operationId, where, name, required, $ref || [minimum, maximum, byDefault]];
    }),
  );
  const int64 = [-(2 ** 63), 2 ** 63, undefined];
  const none = [undefined, undefined, undefined];
  assert.deepEqual(all, [
    ['listPets', 'query', 'limit', false, [1, MAX_LIMIT, DEFAULT_LIMIT]],
    ['listPets', 'query', 'status', false, '#/components/schemas/PetStatus'],
    ['listPets', 'query', 'after', false, int64],
    ['createPet', 'header', 'Idempotency-Key', false, none],
    ['getPet', 'path', 'petId', true, int64],
  ]);
  assert.deepEqual(description.components.schemas['PetStatus']?.enum, PET_STATUSES);
});

test('The Error of the description has exactly the three fields of the specification', () => {
  const { required, properties, additionalProperties } = description.components.schemas['Error']!;
  const fields = ['code', 'message', 'status'];
  assert.deepEqual([required, Object.keys(properties!)], [fields, fields]);
  assert.equal(additionalProperties, false);
});

/** A request, and the service that gets it. */
interface Provocation {
  readonly line: string;
  /** A part of the request, and what is sent instead. */
  readonly edit?: readonly [part: string, replacement: string];
  readonly fields?: readonly string[];
  readonly body?: string;
  /** The API key; '' for a request without Authorization. */
  readonly key?: string;
  readonly pets?: readonly NewPet[];
  /** A body to send before, with the same idempotency key. */
  readonly sentBefore?: string;
  /** Every method of the store fails with this error. */
  readonly storeError?: Error;
  readonly options?: Partial<AppOptions>;
  readonly isDraining?: true;
}

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
const MIA: NewPet = { name: 'Mia', categoryId: 3n };
const TOM: NewPet = { name: 'Tom', categoryId: 3n, status: 'pending' };

const STARTING = { storeError: new StoreUnavailableError('The service is starting') };
const BROKEN = { storeError: new Error('The test broke the store') };
const KEYED = { fields: ['Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324'] };
const IN_DOUBT = {
  storeError: new OutcomeUnknownError(
    'It is not known whether the pet was stored: pets cannot be stored: EIO: i/o error',
  ),
};
const NO_KEY = { key: '' };
const REMOVED = { options: { now: () => Date.parse('2030-12-05T00:00:00Z') } };

const LIST = { line: 'GET /v1/pets' };
const POST = { line: 'POST /v1/pets', body: '{"name":"Rex","categoryId":7}' };
const GET = { line: 'GET /v1/pets/1', pets: [REX] };
const READYZ = { line: 'GET /readyz', ...NO_KEY };
const METRICS = { line: 'GET /metrics' };

/** A valid request of each operation. */
const VALID: Named<Provocation> = {
  listPets: LIST,
  createPet: POST,
  getPet: GET,
  livez: { line: 'GET /livez', ...NO_KEY },
  readyz: READYZ,
  metrics: METRICS,
  openapi: { line: 'GET /openapi.json', ...NO_KEY },
};

/** What an operation has in common with others, by status: variants of its valid request. */
function commonOf(valid: Provocation): Named<readonly Provocation[]> {
  const { line } = valid;
  return {
    200: [valid],
    400: [{ line, edit: ['Host: a', 'Host: a,b'] }, { line: `${line}?%zz` }],
    401: [
      { ...valid, ...NO_KEY },
      { ...valid, key: 'wrong' },
    ],
    503: [{ ...valid, ...STARTING }],
    default: [
      { line: line.replace(/^[A-Z]+/, 'DELETE') },
      { line, fields: ['Expect: 200-ok'] },
      { line, edit: ['HTTP/1.1', 'HTTP/2.0'] },
      { line, fields: [`X: ${'y'.repeat(17_000)}`] },
      // The last chunk: the service waits for the end of a body with a refused transfer coding.
      { line, fields: ['Transfer-Encoding: gzip, chunked'], body: '0\r\n\r\n' },
    ],
  };
}

/** What only this operation has, by operation and status. */
const OWN: readonly (readonly [key: string, provocation: Provocation])[] = [
  ['listPets 200', { line: 'GET /v1/pets?limit=2', pets: [REX, MIA, TOM] }],
  ['listPets 400', { line: 'GET /v1/pets?limit=0&status=lost' }],
  ['listPets default', { ...LIST, ...BROKEN }],
  ['createPet 201', { ...POST, body: requestExample('withStatus') }],
  ['createPet 201', { ...POST, body: requestExample('withoutStatus'), pets: [REX] }],
  ['createPet 201', { ...POST, ...KEYED }],
  ['createPet 201', { ...POST, ...KEYED, sentBefore: POST.body }],
  ['createPet 400', { ...POST, body: '{"categoryId":1.5,"status":"lost"}' }],
  ['createPet 400', { ...POST, body: '{"name":"Rex"' }],
  ['createPet 400', { ...POST, body: '' }],
  ['createPet 400', { ...POST, fields: ['Idempotency-Key: two words'] }],
  ['createPet 413', { ...POST, body: `{"name":"${'x'.repeat(65_536)}","categoryId":7}` }],
  ['createPet 415', { ...POST, fields: ['Content-Type: text/plain'] }],
  ['createPet 415', { ...POST, fields: ['Content-Encoding: gzip'] }],
  ['createPet 422', { ...POST, ...KEYED, sentBefore: '{"name":"Mia","categoryId":7}' }],
  ['createPet 500', { ...POST, ...BROKEN }],
  ['createPet 500', { ...POST, ...IN_DOUBT }],
  ['createPet 503', { ...POST, isDraining: true }],
  ['getPet 400', { line: 'GET /v1/pets/%zz' }],
  ['getPet 401', { ...GET, ...NO_KEY, ...REMOVED }],
  ['getPet 404', { line: 'GET /v1/pets/4711' }],
  ['getPet 404', { line: 'GET /v1/pets/Rex' }],
  ['getPet 410', { ...GET, ...REMOVED }],
  ['getPet 410', { line: 'GET /v1/pets/4711', ...REMOVED }],
  ['getPet default', { ...GET, ...BROKEN }],
  ['livez 200', { line: 'GET /livez', isDraining: true }],
  ['readyz 503', { ...READYZ, isDraining: true }],
  ['metrics default', { ...METRICS, ...BROKEN }],
];

/** All requests, by operation and status, as the description lists them. */
const PROVOCATIONS = new Map(
  described.flatMap(({ operation: { operationId, responses } }) => {
    const common = commonOf(VALID[operationId] ?? LIST);
    return Object.keys(responses).map((status) => {
      const key = `${operationId} ${status}`;
      const own = OWN.filter(([whose]) => whose === key).map(([, provocation]) => provocation);
      return [key, [...(common[status] ?? []), ...own]] as const;
    });
  }),
);

test('Each status of the description has provocations, and no other status', () => {
  for (const [key, provocations] of PROVOCATIONS) assert.ok(provocations.length > 0, key);
  for (const [key] of OWN) assert.ok(PROVOCATIONS.has(key), key);
});

/** The responses by operation and status. Each request is sent to its own service. */
const RECEIVED = new Map<string, readonly RawAnswer[]>();
before(async () => {
  for (const [key, all] of PROVOCATIONS) RECEIVED.set(key, await Promise.all(all.map(send)));
});

/** The fields of every response, which the overview names. The content type is compared alone. */
const TRANSPORT_FIELDS: readonly string[] = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive'],
  'x-content-type-options',
];

for (const { operation } of described) {
  const responses = describedResponses(description, operation);
  for (const [status, response] of responses) {
    const key = `${operation.operationId} ${status}`;
    test(`The response ${key} is as described`, () => {
      for (const received of RECEIVED.get(key)!) {
        const isListed = responses.some(([listed]) => listed === String(received.status));
        assert.equal(isListed ? String(received.status) : 'default', status, received.body);
        assertAsDescribed(received, response);
      }
    });

    test(`Each example of the response ${key} is a real response`, () => {
      const given = responsesFor(status, response);
      const bodies = given.map(({ body }) =>
        body.startsWith('{') || body.startsWith('[') ? JSON.stringify(JSON.parse(body)) : body,
      );
      const examples = Object.values(response.content).flatMap(({ examples = {} }) =>
        Object.values(examples),
      );
      for (const { value } of examples)
        assert.ok(bodies.includes(JSON.stringify(value)), JSON.stringify(value));
      for (const [name, { example }] of Object.entries(response.headers ?? {})) {
        const values = given.map(({ headers }) => headers.get(name.toLowerCase()));
        assert.ok(values.includes(String(example)), `${name}: ${example}, not ${values}`);
      }
    });
  }
}

/** Returns the responses of all operations that describe the response in the same way. */
function responsesFor(
  status: string,
  { description: words }: ResponseObject,
): readonly RawAnswer[] {
  return described.flatMap(({ operation }) => {
    const responses = describedResponses(description, operation);
    const isSame = responses.some(([, response]) => response.description === words);
    return isSame ? (RECEIVED.get(`${operation.operationId} ${status}`) ?? []) : [];
  });
}

function assertAsDescribed(received: RawAnswer, response: ResponseObject): void {
  const where = JSON.stringify([received.status, ...received.headers, received.body.slice(0, 200)]);
  const type = received.headers.get('content-type') ?? '';
  const schema = response.content[type]?.schema;
  assert.ok(schema !== undefined, where);
  const body: Json = type === 'application/json' ? JSON.parse(received.body) : received.body;
  assertMatches(schema, body, where);
  if (received.status >= 400) assert.equal((body as { status?: unknown }).status, received.status);

  const { headers = {} } = response;
  for (const [name, { required, schema: fieldSchema }] of Object.entries(headers)) {
    const value = received.headers.get(name.toLowerCase());
    if (value === undefined) assert.ok(required !== true, `${name} is missing in ${where}`);
    else assertMatches(fieldSchema, fieldSchema.type === 'integer' ? Number(value) : value, where);
  }
  const documented = Object.keys(headers).map((name) => name.toLowerCase());
  const undocumented = [...received.headers.keys()].filter(
    (name) => !TRANSPORT_FIELDS.includes(name) && !documented.includes(name),
  );
  assert.deepEqual(undocumented, [], where);
}

function assertMatches(schema: Schema, value: Json, where: string): void {
  const problems = schemaProblems(schema as Json, value, description as unknown as Json);
  assert.deepEqual(problems, [], where);
}

async function send(provocation: Provocation): Promise<RawAnswer> {
  const { line, edit = ['', ''], fields, body, sentBefore, key = KEY } = provocation;
  const { pets = [], storeError, options, isDraining } = provocation;
  const credential = key === '' ? '' : `Authorization: Bearer ${key}\r\n`;
  const bytesWith = (content?: string): string =>
    lastRequestOf(line, fields, content)
      .replace(...edit)
      .replace(/Authorization: .*\r\n/, credential);
  const store = storeError === undefined ? createMemoryStore() : failingStore(storeError);
  if (storeError === undefined) for (const pet of pets) await store.create(pet);
  const service = await openService({ after }, { store, ...options });
  if (isDraining) service.app.drain();
  if (sentBefore !== undefined) await talk(service.port, bytesWith(sentBefore));
  return (await talk(service.port, bytesWith(body)))[0]!;
}

function failingStore(error: Error): PetStore {
  const fail = (): never => {
    throw error;
  };
  const create = async (): Promise<never> => fail();
  const problem = (): string => error.message;
  return { ...createMemoryStore(), list: fail, get: fail, create, count: fail, problem };
}

function requestExample(name: string): string {
  const { post } = description.paths['/v1/pets']!;
  const { schema, examples } = post!.requestBody!.content['application/json']!;
  const value = examples![name]!.value as Json;
  assertMatches(schema, value, name);
  return JSON.stringify(value);
}
