/**
 * The OpenAPI description compared with a running service.
 *
 * For each status of the description there is a request that provokes it. The response must be as
 * described: its status, its body, its header fields and no others. Each example in the description
 * must be a real response.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppOptions } from '../src/app-options.ts';
import type { NewPet } from '../src/model/pet.ts';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../src/model/pet-store.ts';
import type { ResponseObject, Schema } from '../src/openapi/types.ts';
import { createMemoryStore } from '../src/stores/memory-store.ts';
import {
  asJson,
  describedOperations,
  describedResponses,
  examplesOf,
  fetchDescription,
  headersOf,
} from './support/description/description.ts';
import { schemaProblems, type Json } from './support/description/json-schema.ts';
import { KEY, startService, type Service } from './support/http/service.ts';
import { talk } from './support/http/wire.ts';

const description = await fetchDescription();
const described = describedOperations(description);

/** A request, and the service that gets it. */
interface Provocation {
  readonly path: string;
  readonly method?: string;
  /** Without Authorization the request has the API key; with an empty one it has none. */
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The bytes to send over a socket instead of a fetch. */
  readonly raw?: string;
  readonly pets?: readonly NewPet[];
  /** A body to send before, with the same idempotency key. */
  readonly sentBefore?: string;
  /** Every method of the store fails with this error. */
  readonly storeError?: Error;
  readonly options?: Partial<AppOptions>;
  readonly isDraining?: true;
}

interface Received {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
const MIA: NewPet = { name: 'Mia', categoryId: 3n };
const TOM: NewPet = { name: 'Tom', categoryId: 3n, status: 'pending' };

const STARTING = { storeError: new StoreUnavailableError('The service is starting') };
const BROKEN = { storeError: new Error('The test broke the store') };
const KEYED = { headers: { 'Idempotency-Key': '8e03978e-40d5-43dd-bc93-6894a57f9324' } };
const IN_DOUBT = {
  storeError: new OutcomeUnknownError(
    'It is not known whether the pet was stored: pets cannot be stored: EIO: i/o error',
  ),
};
const NO_KEY = { headers: { Authorization: '' } };
const WRONG_KEY = { headers: { Authorization: 'Bearer wrong' } };
const REMOVED = { options: { now: () => Date.parse('2030-12-05T00:00:00Z') } };

const LIST = { path: '/v1/pets' };
const GET = { path: '/v1/pets/1', pets: [REX] };
const POST = { path: '/v1/pets', method: 'POST', body: '{"name":"Rex","categoryId":7}' };
const METRICS = { path: '/metrics' };
const READYZ = { path: '/readyz' };

/** By operation and status, as the description lists them. */
const PROVOCATIONS: Readonly<Record<string, readonly Provocation[]>> = {
  'listPets 200': [{ path: '/v1/pets?limit=2', pets: [REX, MIA, TOM] }, LIST],
  'listPets 400': [{ path: '/v1/pets?limit=0&status=lost' }, { path: '/v1/pets?%zz' }],
  'listPets 401': [
    { ...LIST, ...NO_KEY },
    { ...LIST, ...WRONG_KEY },
  ],
  'listPets 503': [{ ...LIST, ...STARTING }],
  'listPets default': [...failures('/v1/pets'), { ...LIST, ...BROKEN }],

  'createPet 201': [
    { ...POST, body: requestExample('withStatus') },
    { ...POST, body: requestExample('withoutStatus'), pets: [REX] },
    { ...POST, ...KEYED },
    { ...POST, ...KEYED, sentBefore: POST.body },
  ],
  'createPet 400': [
    { ...POST, body: '{"categoryId":1.5,"status":"lost"}' },
    { ...POST, body: '{"name":"Rex"' },
    { ...POST, headers: { 'Idempotency-Key': 'two words' } },
  ],
  'createPet 401': [
    { ...POST, ...NO_KEY },
    { ...POST, ...WRONG_KEY },
  ],
  'createPet 413': [{ ...POST, body: `{"name":"${'x'.repeat(65_536)}","categoryId":7}` }],
  'createPet 415': [
    { ...POST, headers: { 'Content-Type': 'text/plain' } },
    { ...POST, headers: { 'Content-Encoding': 'gzip' } },
  ],
  'createPet 422': [{ ...POST, ...KEYED, sentBefore: '{"name":"Mia","categoryId":7}' }],
  'createPet 500': [
    { ...POST, ...BROKEN },
    { ...POST, ...IN_DOUBT },
  ],
  'createPet 503': [
    { ...POST, ...STARTING },
    { ...POST, isDraining: true },
  ],
  'createPet default': failures('/v1/pets', 'POST'),

  'getPet 200': [GET],
  'getPet 400': [...malformed('/v1/pets/1'), { path: '/v1/pets/%zz' }],
  'getPet 401': [
    { ...GET, ...NO_KEY },
    { ...GET, ...NO_KEY, ...REMOVED },
  ],
  'getPet 404': [
    { path: '/v1/pets/4711' },
    { path: '/v1/pets/Rex' },
    { path: '/v1/pets/9223372036854775808' },
  ],
  'getPet 410': [
    { ...GET, ...REMOVED },
    { path: '/v1/pets/4711', ...REMOVED },
  ],
  'getPet 503': [{ ...GET, ...STARTING }],
  'getPet default': [...failures('/v1/pets/1'), { ...GET, ...BROKEN }],

  'livez 200': [
    { path: '/livez', ...NO_KEY },
    { path: '/livez', isDraining: true },
  ],
  'livez 400': malformed('/livez'),
  'livez default': failures('/livez'),
  'readyz 200': [{ ...READYZ, ...NO_KEY }],
  'readyz 503': [
    { ...READYZ, ...STARTING },
    { ...READYZ, isDraining: true },
  ],
  'readyz 400': malformed('/readyz'),
  'readyz default': failures('/readyz'),
  'metrics 200': [METRICS],
  'metrics 401': [{ ...METRICS, ...NO_KEY }],
  'metrics 503': [{ ...METRICS, ...STARTING }],
  'metrics 400': malformed('/metrics'),
  'metrics default': [...failures('/metrics'), { ...METRICS, ...BROKEN }],
  'openapi 200': [{ path: '/openapi.json', ...NO_KEY }],
  'openapi 400': malformed('/openapi.json'),
  'openapi default': failures('/openapi.json'),
};

/** Malformed requests to a path. Every operation describes the response to them. */
function malformed(path: string, method = 'GET'): readonly Provocation[] {
  const head = `${method} ${path} HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer ${KEY}\r\n`;
  return [
    { path, raw: `${head}Host: a,b\r\n\r\n` },
    { path, raw: `${head.replace(path, `${path}?%zz`)}Host: a\r\n\r\n` },
  ];
}

/** Requests that fail in a way that each path has in common. */
function failures(path: string, method = 'GET'): readonly Provocation[] {
  const raw = (field: string, host = 'a', version = '1.1'): Provocation => {
    const lines = [
      `${method} ${path} HTTP/${version}`,
      `Host: ${host}`,
      `Authorization: Bearer ${KEY}`,
      'Connection: close',
      field,
    ];
    // The last chunk: the service waits for the end of a body with a refused transfer coding.
    const body = field.startsWith('Transfer-Encoding') ? '0\r\n\r\n' : '';
    return { path, raw: `${lines.join('\r\n')}\r\n\r\n${body}` };
  };
  return [
    { path, method: 'DELETE' },
    raw('Expect: 200-ok'),
    raw(`X: ${'y'.repeat(17_000)}`),
    raw('Transfer-Encoding: gzip, chunked'),
    raw('Accept: */*', 'a', '2.0'),
  ];
}

test('Exactly the statuses of the description have provocations', () => {
  const keys = described.flatMap(({ operation }) =>
    Object.keys(operation.responses).map((status) => `${operation.operationId} ${status}`),
  );
  assert.deepEqual(keys.sort(), Object.keys(PROVOCATIONS).sort());
});

for (const { operation } of described) {
  const responses = describedResponses(description, operation);
  for (const [status, response] of responses) {
    const key = `${operation.operationId} ${status}`;
    test(`The response ${key} is as described`, async () => {
      for (const provocation of PROVOCATIONS[key] ?? []) {
        const received = await provoke(provocation);
        const isListed = responses.some(([listed]) => listed === String(received.status));
        assert.equal(isListed ? String(received.status) : 'default', status, received.body);
        assertAsDescribed(received, response);
      }
    });
  }
}

for (const { method, path, operation } of described) {
  test(`The description of ${operation.operationId} has a malformed request's status`, async () => {
    const statuses = describedResponses(description, operation).map(([status]) => status);
    for (const provocation of malformed(path.replace(/\{.*?\}/g, '1'), method)) {
      const { status, body } = await provoke(provocation);
      assert.ok(statuses.includes(String(status)), `${statuses}: ${body}`);
    }
  });
}

test('Every example in the description is a real response', async () => {
  for (const { operation } of described) {
    for (const [status, response] of describedResponses(description, operation)) {
      const key = `${operation.operationId} ${status}`;
      const given = await responsesFor(operation.operationId, status, response);
      const bodies = new Set(given.map(({ body }) => canonical(body)));
      for (const example of examplesOf(response.content)) {
        assert.ok(bodies.has(JSON.stringify(example)), `${key}: ${JSON.stringify(example)}`);
      }
      for (const [name, { example }] of headersOf(response)) {
        const values = given.map(({ headers }) => headers.get(name.toLowerCase()));
        assert.ok(values.includes(String(example)), `${key}: ${name}: ${example}, not ${values}`);
      }
    }
  }
});

test('Every described field of NewPet comes back unchanged', async (t) => {
  const { properties = {} } = description.components.schemas['NewPet'] ?? {};
  const members = Object.entries(properties).map(([name, { $ref, type }]) => {
    const value = type === 'integer' ? 7 : $ref === undefined ? 'text' : 'sold';
    return [name, value] as const;
  });
  assert.ok(members.length >= 3);
  const service = await startService();
  t.after(() => service.close());
  const newPet = Object.fromEntries(members);
  assert.deepEqual(await (await service.post(newPet)).json(), { id: 1, ...newPet });
  assert.deepEqual(await (await service.fetch('/v1/pets')).json(), [{ id: 1, ...newPet }]);
});

test('The query parameters have the described bounds', async (t) => {
  const { operation } = described.find(({ operation }) => operation.operationId === 'listPets')!;
  const service = await startWith({ path: '/v1/pets', pets: Array(101).fill(REX) });
  t.after(service.close);
  for (const { name, schema } of operation.parameters ?? []) {
    const { good, bad } = valuesAround(schema);
    for (const value of good) {
      const response = await service.fetch(`/v1/pets?${name}=${value}`);
      assert.equal(response.status, 200, `${name}=${value}`);
    }
    for (const value of bad) {
      const response = await service.fetch(`/v1/pets?${name}=${value}`);
      assert.equal(response.status, 400, `${name}=${value}`);
    }
    if (schema.default === undefined) continue;
    const pets = (await (await service.fetch('/v1/pets')).json()) as Json[];
    assert.equal(pets.length, schema.default);
  }
});

/** The fields of every response, which the overview names. The content type is compared alone. */
const TRANSPORT_FIELDS: ReadonlySet<string> = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'x-content-type-options',
]);

function assertAsDescribed(received: Received, response: ResponseObject): void {
  const where = JSON.stringify([received.status, ...received.headers, received.body.slice(0, 200)]);
  const type = received.headers.get('content-type') ?? '';
  const schema = response.content[type]?.schema;
  assert.ok(schema !== undefined, where);
  const body: Json = type === 'application/json' ? JSON.parse(received.body) : received.body;
  assertMatches(schema, body, where);
  if (received.status >= 400) assert.equal((body as { status?: unknown }).status, received.status);

  for (const [name, header] of headersOf(response)) {
    const value = received.headers.get(name.toLowerCase());
    if (value === undefined) assert.ok(header.required !== true, `${name} is missing in ${where}`);
    else assertMatches(header.schema, typedValue(value, header.schema), where);
  }
  const documented = headersOf(response).map(([name]) => name.toLowerCase());
  const undocumented = [...received.headers.keys()].filter(
    (name) => !TRANSPORT_FIELDS.has(name) && !documented.includes(name),
  );
  assert.deepEqual(undocumented, [], where);
}

function typedValue(text: string, schema: Schema): Json {
  return schema.type === 'integer' ? Number(text) : text;
}

function assertMatches(schema: Schema, value: Json, where: string): void {
  assert.deepEqual(schemaProblems(asJson(schema), value, asJson(description)), [], where);
}

/** Resolves with the responses of all operations that describe the response in the same way. */
async function responsesFor(
  operationId: string,
  status: string,
  response: ResponseObject,
): Promise<readonly Received[]> {
  const sharing = described.filter(({ operation }) =>
    describedResponses(description, operation).some(
      ([, other]) => other.description === response.description,
    ),
  );
  const names = [operationId, ...sharing.map(({ operation }) => operation.operationId)];
  const provocations = names.flatMap((name) => PROVOCATIONS[`${name} ${status}`] ?? []);
  return Promise.all(provocations.map(provoke));
}

const responses = new Map<Provocation, Promise<Received>>();

/** Resolves with the response to a provocation, which is sent once, to a new service. */
function provoke(provocation: Provocation): Promise<Received> {
  let received = responses.get(provocation);
  if (received === undefined) {
    received = send(provocation);
    responses.set(provocation, received);
  }
  return received;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

async function send(provocation: Provocation): Promise<Received> {
  const service = await startWith(provocation);
  try {
    const { path, method = 'GET', headers = {}, body, raw, sentBefore } = provocation;
    if (raw !== undefined) return (await talk(service.port, raw))[0]!;
    const withBody = body === undefined ? {} : { body };
    const init = { method, headers: { ...JSON_TYPE, ...headers }, ...withBody };
    if (sentBefore !== undefined) await service.fetch(path, { ...init, body: sentBefore });
    const response = await service.fetch(path, init);
    return {
      status: response.status,
      headers: new Map(response.headers),
      body: await response.text(),
    };
  } finally {
    await service.close();
  }
}

async function startWith(provocation: Provocation): Promise<Service> {
  const { pets = [], storeError, options, isDraining } = provocation;
  const store = storeError === undefined ? createMemoryStore() : failingStore(storeError);
  if (storeError === undefined) for (const pet of pets) await store.create(pet);
  const service = await startService({ store, ...options });
  if (isDraining) service.app.drain();
  return service;
}

function failingStore(error: Error): PetStore {
  const fail = (): never => {
    throw error;
  };
  return {
    list: fail,
    get: fail,
    create: async () => fail(),
    count: fail,
    problem: () => error.message,
    close: async () => undefined,
  };
}

function requestExample(name: string): string {
  const { operation } = described.find(({ operation }) => operation.operationId === 'createPet')!;
  const examples = operation.requestBody?.content['application/json']?.examples;
  return JSON.stringify(examples?.[name]?.value);
}

/** Returns JSON without whitespace between values. */
function canonical(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Returns values at the bounds of a parameter's schema, and values just outside. */
function valuesAround(schema: Schema): { good: readonly string[]; bad: readonly string[] } {
  const { $ref = '', enum: names, minimum, maximum, format } = schema;
  if ($ref !== '') return valuesAround(description.components.schemas[$ref.split('/').at(-1)!]!);
  if (names !== undefined) return { good: names, bad: ['', ...names.map((name) => `${name}x`)] };
  if (format === 'int64') {
    return {
      good: ['-9223372036854775808', '0', '9223372036854775807'],
      bad: ['-9223372036854775809', '9223372036854775808', '1.5', ''],
    };
  }
  assert.ok(typeof minimum === 'number' && typeof maximum === 'number');
  return {
    good: [`${minimum}`, `${maximum}`],
    bad: [`${minimum - 1}`, `${maximum + 1}`, `${minimum}.5`, ''],
  };
}
