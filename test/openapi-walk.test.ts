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
import type { RawAnswer } from './support/http/answers.ts';
import { lastRequestOf, talk } from './support/http/wire.ts';

const description = await fetchDescription();
const described = describedOperations(description);

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
const WRONG_KEY = { key: 'wrong' };
const REMOVED = { options: { now: () => Date.parse('2030-12-05T00:00:00Z') } };

const LIST = { line: 'GET /v1/pets' };
const GET = { line: 'GET /v1/pets/1', pets: [REX] };
const POST = { line: 'POST /v1/pets', body: '{"name":"Rex","categoryId":7}' };
const METRICS = { line: 'GET /metrics' };
const READYZ = { line: 'GET /readyz' };

/** By operation and status, as the description lists them. */
const PROVOCATIONS: Readonly<Record<string, readonly Provocation[]>> = {
  'listPets 200': [{ line: 'GET /v1/pets?limit=2', pets: [REX, MIA, TOM] }, LIST],
  'listPets 400': [{ line: 'GET /v1/pets?limit=0&status=lost' }, ...malformed('GET /v1/pets')],
  'listPets 401': [
    { ...LIST, ...NO_KEY },
    { ...LIST, ...WRONG_KEY },
  ],
  'listPets 503': [{ ...LIST, ...STARTING }],
  'listPets default': [...failures('GET /v1/pets'), { ...LIST, ...BROKEN }],

  'createPet 201': [
    { ...POST, body: requestExample('withStatus') },
    { ...POST, body: requestExample('withoutStatus'), pets: [REX] },
    { ...POST, ...KEYED },
    { ...POST, ...KEYED, sentBefore: POST.body },
  ],
  'createPet 400': [
    { ...POST, body: '{"categoryId":1.5,"status":"lost"}' },
    { ...POST, body: '{"name":"Rex"' },
    { ...POST, fields: ['Idempotency-Key: two words'] },
    ...malformed('POST /v1/pets'),
  ],
  'createPet 401': [
    { ...POST, ...NO_KEY },
    { ...POST, ...WRONG_KEY },
  ],
  'createPet 413': [{ ...POST, body: `{"name":"${'x'.repeat(65_536)}","categoryId":7}` }],
  'createPet 415': [
    { ...POST, fields: ['Content-Type: text/plain'] },
    { ...POST, fields: ['Content-Encoding: gzip'] },
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
  'createPet default': failures('POST /v1/pets'),

  'getPet 200': [GET],
  'getPet 400': [...malformed('GET /v1/pets/1'), { line: 'GET /v1/pets/%zz' }],
  'getPet 401': [
    { ...GET, ...NO_KEY },
    { ...GET, ...NO_KEY, ...REMOVED },
  ],
  'getPet 404': [
    { line: 'GET /v1/pets/4711' },
    { line: 'GET /v1/pets/Rex' },
    { line: 'GET /v1/pets/9223372036854775808' },
  ],
  'getPet 410': [
    { ...GET, ...REMOVED },
    { line: 'GET /v1/pets/4711', ...REMOVED },
  ],
  'getPet 503': [{ ...GET, ...STARTING }],
  'getPet default': [...failures('GET /v1/pets/1'), { ...GET, ...BROKEN }],

  'livez 200': [
    { line: 'GET /livez', ...NO_KEY },
    { line: 'GET /livez', isDraining: true },
  ],
  'livez 400': malformed('GET /livez'),
  'livez default': failures('GET /livez'),
  'readyz 200': [{ ...READYZ, ...NO_KEY }],
  'readyz 503': [
    { ...READYZ, ...STARTING },
    { ...READYZ, isDraining: true },
  ],
  'readyz 400': malformed('GET /readyz'),
  'readyz default': failures('GET /readyz'),
  'metrics 200': [METRICS],
  'metrics 401': [{ ...METRICS, ...NO_KEY }],
  'metrics 503': [{ ...METRICS, ...STARTING }],
  'metrics 400': malformed('GET /metrics'),
  'metrics default': [...failures('GET /metrics'), { ...METRICS, ...BROKEN }],
  'openapi 200': [{ line: 'GET /openapi.json', ...NO_KEY }],
  'openapi 400': malformed('GET /openapi.json'),
  'openapi default': failures('GET /openapi.json'),
};

/** Malformed requests to a path. Every operation describes the response to them. */
function malformed(line: string): readonly Provocation[] {
  return [{ line, edit: ['Host: a', 'Host: a,b'] }, { line: `${line}?%zz` }];
}

/** Requests that fail in a way that each path has in common. */
function failures(line: string): readonly Provocation[] {
  return [
    { line: line.replace(/^[A-Z]+/, 'DELETE') },
    { line, fields: ['Expect: 200-ok'] },
    { line, edit: ['HTTP/1.1', 'HTTP/2.0'] },
    { line, fields: [`X: ${'y'.repeat(17_000)}`] },
    // The last chunk: the service waits for the end of a body with a refused transfer coding.
    { line, fields: ['Transfer-Encoding: gzip, chunked'], body: '0\r\n\r\n' },
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

function assertAsDescribed(received: RawAnswer, response: ResponseObject): void {
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
): Promise<readonly RawAnswer[]> {
  const sharing = described.filter(({ operation }) =>
    describedResponses(description, operation).some(
      ([, other]) => other.description === response.description,
    ),
  );
  const names = [operationId, ...sharing.map(({ operation }) => operation.operationId)];
  const provocations = names.flatMap((name) => PROVOCATIONS[`${name} ${status}`] ?? []);
  return Promise.all(provocations.map(provoke));
}

const responses = new Map<Provocation, Promise<RawAnswer>>();

/** Resolves with the response to a provocation, which is sent once, to a new service. */
function provoke(provocation: Provocation): Promise<RawAnswer> {
  let received = responses.get(provocation);
  if (received === undefined) {
    received = send(provocation);
    responses.set(provocation, received);
  }
  return received;
}

async function send(provocation: Provocation): Promise<RawAnswer> {
  const { line, edit = ['', ''], fields, body, sentBefore, key = KEY } = provocation;
  const credential = key === '' ? '' : `Authorization: Bearer ${key}\r\n`;
  const bytesWith = (content?: string): string =>
    lastRequestOf(line, fields, content)
      .replace(...edit)
      .replace(/Authorization: .*\r\n/, credential);
  const service = await startWith(provocation);
  try {
    if (sentBefore !== undefined) await talk(service.port, bytesWith(sentBefore));
    const [received] = await talk(service.port, bytesWith(body));
    return received!;
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
