/** The OpenAPI description by itself: whether it is well-formed, and names what the service has. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { petOperations } from '../src/api/operations.ts';
import { STATUS_OF_CODE } from '../src/http/api-error.ts';
import type { ErrorBody } from '../src/http/api-error.ts';
import { openapiOperation } from '../src/openapi/openapi.ts';
import type { MediaType, Schema } from '../src/openapi/types.ts';
import { healthOperations } from '../src/ops/health.ts';
import { createMetrics } from '../src/ops/metrics.ts';
import { createMemoryStore } from '../src/stores/memory-store.ts';
import {
  asJson,
  describedOperations,
  describedResponses,
  examplesOf,
  fetchDescription,
  headersOf,
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

test('The description is served as JSON to anybody', async (t) => {
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

test('Tools that know no servers but those at the top reach every operation', () => {
  for (const item of Object.values(description.paths)) {
    assert.deepEqual(
      Object.keys(item).filter((name) => name !== 'get' && name !== 'post'),
      [],
    );
  }
});

test('An int64 has its exact bounds in the text, and not those of a double', async (t) => {
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

test('Linters find a licence, a contact, tags, descriptions and a 4XX everywhere', () => {
  const { info, tags } = description;
  assert.ok(info.license.identifier === 'MIT' && info.contact.name !== '');
  for (const { operation } of described) {
    assert.notEqual(operation.description, '');
    assert.ok(operation.tags.every((name) => tags.some((tag) => tag.name === name)));
    assert.ok(Object.keys(operation.responses).some((status) => status.startsWith('4')));
  }
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
    ...petOperations({ store: () => store, storeForCreate: () => store }),
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

test('The description knows exactly the codes that the service knows', () => {
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

test('Every reference in the description leads somewhere', () => {
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

test('Every operation has a name of its own, a summary and answers that are described', () => {
  const names = described.map(({ operation }) => operation.operationId);
  assert.equal(new Set(names).size, names.length);
  for (const { operation } of described) {
    assert.notEqual(operation.summary, '');
    const responses = describedResponses(description, operation);
    assert.ok(
      responses.some(([status]) => status.startsWith('2')),
      operation.operationId,
    );
    for (const [status, response] of responses) {
      assert.match(status, /^(?:[1-5][0-9]{2}|default)$/);
      assert.notEqual(response.description, '');
      assert.ok(Object.keys(response.content).length > 0, `${operation.operationId} ${status}`);
    }
  }
});

test('The path parameters are those of the path, and every parameter has a schema', () => {
  for (const { path, operation } of described) {
    const parameters = operation.parameters ?? [];
    const inPath = parameters.filter((parameter) => parameter.in === 'path');
    const braced = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
    assert.deepEqual(
      inPath.map(({ name }) => name),
      braced,
    );
    for (const parameter of inPath) assert.equal(parameter.required, true);
    const names = parameters.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const { name, schema } of parameters) {
      assert.ok(isObject(asJson(schema)) && Object.keys(schema).length > 0, name);
      if (schema.default !== undefined) assertMatches(schema, schema.default, name);
    }
  }
});

test('Every example matches its schema', () => {
  let count = 0;
  const checkContent = (content: Readonly<Record<string, MediaType>>, where: string): void => {
    for (const media of Object.values(content)) {
      for (const example of examplesOf({ media })) {
        assertMatches(media.schema, example, where);
        count += 1;
      }
    }
  };
  for (const { operation } of described) {
    checkContent(operation.requestBody?.content ?? {}, operation.operationId);
    for (const [status, response] of describedResponses(description, operation)) {
      const where = `${operation.operationId} ${status}`;
      checkContent(response.content, where);
      for (const [name, header] of headersOf(response)) {
        assertMatches(header.schema, header.example, `${where} ${name}`);
      }
    }
  }
  assert.ok(count > 0);
});

test('Every example of an Error repeats the status that it is described for', () => {
  for (const { operation } of described) {
    const responses = describedResponses(description, operation);
    const listed = responses.map(([status]) => status);
    for (const [status, response] of responses) {
      if (Number(status) < 400) continue;
      for (const example of examplesOf(response.content)) {
        const error = example as unknown as ErrorBody;
        assert.equal(error.status, STATUS_OF_CODE[error.code]);
        if (status !== 'default') assert.equal(String(error.status), status);
        // What may come from anywhere is described once, for all operations.
        else if (!['malformed_request', 'internal_error'].includes(error.code)) {
          assert.ok(!listed.includes(`${error.status}`));
        }
      }
    }
  }
});

test('The Error of the description has exactly the three fields of the interface', () => {
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
