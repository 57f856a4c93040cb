/** The OpenAPI description alone: it is well-formed, and names what the service has. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../src/api/read-parameters.ts';
import { petOperations } from '../src/api/operations.ts';
import { STATUS_OF_CODE } from '../src/http/api-error.ts';
import { PET_STATUSES } from '../src/model/pet.ts';
import { openapiOperation } from '../src/openapi/openapi.ts';
import type { Schema } from '../src/openapi/types.ts';
import { healthOperations } from '../src/ops/health.ts';
import { createMetrics } from '../src/ops/metrics.ts';
import { createMemoryStore } from '../src/stores/memory-store.ts';
import {
  asJson,
  describedOperations,
  describedResponses,
  examplesOf,
  fetchDescription,
} from './support/description/description.ts';
import {
  isObject,
  resolveRef,
  schemaProblems,
  type Json,
} from './support/description/json-schema.ts';
import { startService } from './support/http/service.ts';

const description = await fetchDescription();
const described = describedOperations(description);

test('The interface description version is 1.0.0', async (t) => {
  const service = await startService();
  t.after(service.close);
  const response = await fetch(`${service.origin}/openapi.json`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('Content-Type'), 'application/json');
  assert.equal(description.openapi, '3.1.0');
  assert.equal(description.info.version, '1.0.0');
  assert.deepEqual(
    description.servers.map(({ url }) => url),
    ['/'],
  );
});

test('An int64 has its exact bounds, not those of a double', async (t) => {
  const service = await startService();
  t.after(service.close);
  const text = await (await service.fetch('/openapi.json')).text();
  const bounds = '"minimum":-9223372036854775808,"maximum":9223372036854775807';
  for (const name of ['categoryId', 'petId', 'after']) {
    const from = text.slice(text.search(new RegExp(`"name":"${name}"|"${name}":\\{`)));
    assert.ok(from.slice(0, 400).includes(bounds), name);
  }
  assert.match(
    text,
    /"id":\{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807/,
  );
});

test('The description names exactly the operations that the service has', (t) => {
  const store = createMemoryStore();
  const metrics = createMetrics({
    version: '1.0.0',
    pets: () => store.count(),
    store: () => undefined,
    canStore: () => true,
    keyUses: () => [],
    now: Date.now,
    runtime: undefined,
  });
  t.after(() => metrics.close());
  const operations = [
    ...petOperations(
      () => store,
      () => store,
    ),
    ...healthOperations(() => undefined),
    metrics.operation,
    openapiOperation(''),
  ];
  const expected = operations.map(({ name, method, path, needsKey, deprecation }) => {
    return {
      ...{ name, method, path },
      ...{ needsKey: needsKey !== false, deprecated: deprecation !== undefined },
    };
  });
  const actual = described.map(({ method, path, operation }) => {
    const { operationId: name, deprecated = false, security = description.security } = operation;
    return { name, method, path, needsKey: security.length > 0, deprecated };
  });
  const byName = (one: { name: string }, other: { name: string }): number =>
    one.name < other.name ? -1 : 1;
  assert.deepEqual(actual.sort(byName), expected.sort(byName));
});

test('The description has exactly the error codes of the service', () => {
  const code = description.components.schemas['Error']?.properties?.['code'];
  assert.deepEqual(code?.enum, Object.keys(STATUS_OF_CODE));
  const explained = Object.entries(description['x-error-codes']);
  assert.deepEqual(
    explained.map(([name, { status }]) => [name, status]),
    Object.entries(STATUS_OF_CODE),
  );
  for (const [name, { description: words, remedy }] of explained) {
    for (const text of [words, remedy]) assert.match(text, /^[A-Z].*[^.]$/, name);
  }
});

test('Every reference in the description has a target', () => {
  const refs = [...referencesIn(asJson(description))];
  assert.ok(refs.length > 0);
  for (const ref of refs) resolveRef(asJson(description), ref);
});

test('Every shared part of the description is used', () => {
  const used = new Set(referencesIn(asJson(description)));
  for (const part of ['schemas', 'responses'] as const) {
    for (const name of Object.keys(description.components[part])) {
      assert.ok(used.has(`#/components/${part}/${name}`), name);
    }
  }
  const schemes = new Set(description.security.flatMap((requirement) => Object.keys(requirement)));
  assert.deepEqual([...schemes], Object.keys(description.components.securitySchemes));
});

test('Every operation has what linters require: a name, tags, texts, and a 2XX and 4XX response', () => {
  const { info, tags } = description;
  assert.ok(info.license.identifier === 'MIT' && info.contact.name !== '');
  const names = described.map(({ operation }) => operation.operationId);
  assert.equal(new Set(names).size, names.length);
  for (const { operation } of described) {
    assert.ok(operation.description !== '' && operation.summary !== '');
    assert.ok(operation.tags.every((name) => tags.some((tag) => tag.name === name)));
    const responses = describedResponses(description, operation);
    for (const first of ['2', '4']) {
      assert.ok(
        responses.some(([status]) => status.startsWith(first)),
        operation.operationId,
      );
    }
    for (const [status, response] of responses) {
      assert.match(status, /^(?:[1-5][0-9]{2}|default)$/);
      assert.notEqual(response.description, '');
      assert.ok(Object.keys(response.content).length > 0, `${operation.operationId} ${status}`);
    }
  }
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

test('The examples of a request body match its schema', () => {
  for (const { operation } of described) {
    const media = operation.requestBody?.content['application/json'];
    if (media === undefined) continue;
    const examples = examplesOf({ media });
    assert.ok(examples.length >= 2);
    for (const example of examples) assertMatches(media.schema, example, operation.operationId);
  }
});

test('The Error of the description has exactly the three fields of the specification', () => {
  const error = { code: 'not_found', message: 'There is no such pet', status: 404 };
  const schema: Schema = { $ref: '#/components/schemas/Error' };
  assertMatches(schema, error, 'Error');
  const wrong: readonly Json[] = [
    { ...error, detail: 'more' },
    { ...error, code: 'no_such_code' },
    { ...error, status: 200 },
    { code: error.code, message: error.message },
  ];
  for (const value of wrong) {
    assert.notDeepEqual(schemaProblems(asJson(schema), value, asJson(description)), []);
  }
});

function assertMatches(schema: Schema, value: Json, where: string): void {
  assert.deepEqual(schemaProblems(asJson(schema), value, asJson(description)), [], where);
}

function* referencesIn(part: Json): Generator<string> {
  if (Array.isArray(part)) {
    for (const item of part as readonly Json[]) yield* referencesIn(item);
  } else if (isObject(part)) {
    if (typeof part['$ref'] === 'string') yield part['$ref'];
    for (const value of Object.values(part)) yield* referencesIn(value);
  }
}
