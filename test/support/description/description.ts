/**
 * The OpenAPI description, and the comparison of responses with it.
 *
 * Every service of the tests (http/service.ts) compares its responses when it sends them, and fails
 * when it is closed if one is not as described: its status, its body, its header fields and no
 * others.
 */

import assert from 'node:assert/strict';
import type { RequestListener, ServerResponse } from 'node:http';
import { healthOperations } from '../../../src/core/api/health.ts';
import { petOperations } from '../../../src/core/api/operations.ts';
import type { Operation } from '../../../src/core/http/operation.ts';
import { createMemoryStore } from '../../../src/core/store/memory-store.ts';
import { createMetrics, type MetricsSources } from '../../../src/extras/ops/metrics.ts';
import { ERROR_CODES } from '../../../src/extras/web/docs/error-codes.ts';
import { stringifyExactJson } from '../../../src/core/base/exact-json.ts';
import { describeService, openapiOperation } from '../../../src/extras/web/openapi/openapi.ts';
import type {
  Named,
  OpenApi,
  OperationObject,
  ResponseObject,
  Schema,
} from '../../../src/extras/web/openapi/types.ts';
import { parseAnswers, type RawAnswer } from '../http/answers.ts';

const metrics = createMetrics({} as MetricsSources);
metrics.close();

/** The operations of an app, without those of the page. */
export const APP_OPERATIONS: readonly Operation[] = [
  ...petOperations(createMemoryStore, createMemoryStore, '', Date.now),
  ...healthOperations(() => undefined),
  metrics.operation,
  openapiOperation(() => DESCRIPTION),
];

export const DESCRIPTION_TEXT: string = stringifyExactJson(describeService('', APP_OPERATIONS));
export const DESCRIPTION = JSON.parse(DESCRIPTION_TEXT) as OpenApi;

/**
 * The operations, each with its method in capitals, its path, and its responses by status or
 * `default`, with references resolved.
 */
export function describedOperations({ paths, components }: OpenApi) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Named<OperationObject>).map(([method, operation]) => {
      const responses = new Map<string, ResponseObject>();
      for (const [status, response] of Object.entries(operation.responses)) {
        const isShared = '$ref' in response;
        const name = isShared ? response.$ref.split('/').at(-1)! : '';
        responses.set(status, isShared ? components.responses[name]! : response);
      }
      return { method: method.toUpperCase(), path, operation, responses };
    }),
  );
}

export const OPERATIONS = describedOperations(DESCRIPTION);

/**
 * Fails unless a response to this request is as described. Returns its operation and status, such
 * as `getPet 404`, if it has a description.
 */
export function assertDescribed(method: string, target: string, answer: RawAnswer): string {
  const [path = ''] = target.split('?');
  const here = OPERATIONS.filter((one) => matches(one.path, path));
  const asked = method === 'HEAD' ? 'GET' : method;
  const { operation, responses } = here.find((one) => one.method === asked) ?? here[0] ?? {};
  if (responses === undefined || answer.status < 200 || answer.status === 204) return '';
  const where = JSON.stringify([method, target.slice(0, 200), answer.status, ...answer.headers]);
  const status = responses.has(`${answer.status}`) ? `${answer.status}` : 'default';
  const response = responses.get(status)!;
  assertLike(answer, response, where);
  // Else a status that the operation does not name would be one of `default`, whatever it is.
  if (status === 'default') {
    const { code } = JSON.parse(answer.body) as { code: string };
    const isNamed = response.description.includes(ERROR_CODES[code]!.description);
    assert.ok(isNamed, `The description of ${operation!.operationId} has no ${where}`);
  }
  return `${operation!.operationId} ${status}`;
}

function matches(described: string, path: string): boolean {
  return new RegExp(`^${described.replace(/\{\w+\}/, '[^/]+').replaceAll('.', '\\.')}$`).test(path);
}

/** The fields of every response, which the overview names. The content type is compared alone. */
const TRANSPORT_FIELDS: readonly string[] = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive'],
  'x-content-type-options',
  // Of services with an access log, or that let web pages of other origins read responses.
  ...['x-request-id', 'vary', 'access-control-allow-origin', 'access-control-expose-headers'],
];

function assertLike(answer: RawAnswer, response: ResponseObject, where: string): void {
  const type = answer.headers.get('content-type') ?? '';
  const schema = response.content[type]?.schema;
  assert.ok(schema !== undefined, where);
  const body: unknown = type === 'application/json' ? JSON.parse(answer.body) : answer.body;
  assertMatches(schema, body, where);
  if (answer.status >= 400) {
    assert.equal((body as { status?: unknown }).status, answer.status, where);
  }
  const { headers = {} } = response;
  for (const [name, { required, schema: fieldSchema }] of Object.entries(headers)) {
    const value = answer.headers.get(name.toLowerCase());
    if (value === undefined) assert.ok(required !== true, `${name} is missing in ${where}`);
    else assertMatches(fieldSchema, fieldSchema.type === 'integer' ? Number(value) : value, where);
  }
  const documented = [...TRANSPORT_FIELDS, ...Object.keys(headers).map((n) => n.toLowerCase())];
  const undocumented = [...answer.headers.keys()].filter((name) => !documented.includes(name));
  assert.deepEqual(undocumented, [], where);
}

/** Wraps the listener of a service. `fail` gets the error of a response that is different. */
export function compared(
  listener: RequestListener,
  prefix: string,
  fail: (error: unknown) => void,
): RequestListener {
  const comparing: RequestListener = (request, response) => {
    const { write, end } = response;
    const { method = '', url = '' } = request;
    let body = '';
    const keep = (piece: string | Uint8Array = '', encoding?: BufferEncoding): void => {
      body += Buffer.from(piece as string, encoding).toString('latin1');
    };
    Object.assign(response, {
      write(piece: Uint8Array) {
        keep(piece);
        return write.call(response, piece, 'latin1');
      },
      end(piece: string | Uint8Array, encoding: BufferEncoding) {
        keep(piece, encoding);
        try {
          // The text of the header, which node:http has sent or is about to send.
          const { _header: header } = response as ServerResponse & { readonly _header: string };
          const [answer] = parseAnswers(header + body);
          if (url.startsWith(prefix)) assertDescribed(method, url.slice(prefix.length), answer!);
        } catch (error) {
          fail(error);
        }
        return end.call(response, piece, encoding);
      },
    });
    listener(request, response);
  };
  return Object.assign(comparing, listener);
}

/**
 * Fails unless a value is as its schema says. An unknown keyword fails, too, so that nothing is
 * accepted unchecked.
 */
export function assertMatches(schema: Schema, value: unknown, where: string): void {
  for (const [keyword, operand] of Object.entries(schema)) {
    const rule = RULES[keyword] ?? assert.fail(`The schema keyword ${keyword} is not known`);
    const message = `${where}: ${JSON.stringify(value)} breaks ${keyword} ${JSON.stringify(operand)}`;
    assert.notEqual(rule(operand as never, value as never, where, schema), false, message);
  }
}

type Rule = (operand: never, value: never, where: string, schema: Schema) => boolean | void;

/** By keyword: false, or an error, if a value breaks it. */
const RULES: Named<Rule> = {
  description: () => true,
  default: () => true,
  // An int64 has bounds, too.
  format: () => true,
  $ref: (ref: string, value, where) =>
    assertMatches(
      DESCRIPTION.components.schemas[ref.split('/').at(-1)!]!,
      value,
      `${where} ${ref}`,
    ),
  type: (type: string, value) => TYPES[type]!(value),
  enum: (values: readonly unknown[], value) => values.includes(value),
  minimum: (least: number, value: number) => value >= least,
  maximum: (most: number, value: number) => value <= most,
  items: (items: Schema, values: readonly unknown[], where) =>
    values.forEach((value, index) => assertMatches(items, value, `${where}[${index}]`)),
  required: (names: readonly string[], value) => names.every((name) => Object.hasOwn(value, name)),
  properties(properties: Named<Schema>, value: object, where) {
    for (const [name, member] of Object.entries(value)) {
      if (properties[name] !== undefined)
        assertMatches(properties[name], member, `${where}.${name}`);
    }
  },
  additionalProperties: (_, value, _where, { properties = {} }) =>
    Object.keys(value).every((name) => Object.hasOwn(properties, name)),
};

const TYPES: Named<(value: unknown) => boolean> = {
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
};
