/**
 * The OpenAPI description, and the comparison of responses with it.
 *
 * Every service of the tests (http/service.ts) compares its responses when it sends them, and fails
 * when it is closed if one is not as described: its status, its body, its header fields and no
 * others. What was seen is kept, so that a test can demand every status of every operation.
 */

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { stringifyExactJson } from '../../../src/base/exact-json.ts';
import { describeService } from '../../../src/web/openapi/openapi.ts';
import type {
  Named,
  OpenApi,
  OperationObject,
  ResponseObject,
  Schema,
} from '../../../src/web/openapi/types.ts';
import type { RawAnswer } from '../http/answers.ts';

export const DESCRIPTION_TEXT: string = stringifyExactJson(describeService(''));
export const DESCRIPTION = JSON.parse(DESCRIPTION_TEXT) as OpenApi;

export interface Described {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

export function describedOperations({ paths }: OpenApi): readonly Described[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Named<OperationObject>).map(([method, operation]) => {
      return { method: method.toUpperCase(), path, operation };
    }),
  );
}

/** Returns the operation's responses by status or `default`, with references resolved. */
export function describedResponses(
  description: OpenApi,
  { responses }: OperationObject,
): readonly (readonly [string, ResponseObject])[] {
  return Object.entries(responses).map(([status, response]) => {
    if (!('$ref' in response)) return [status, response];
    return [status, description.components.responses[response.$ref.split('/').at(-1)!]!];
  });
}

const OPERATIONS = describedOperations(DESCRIPTION);

/** The responses of this process by operation and status, such as `getPet 404`. */
export const SEEN = new Map<string, RawAnswer[]>();
/** What a long test keeps of each kind, so that it does not fill the memory. */
const MOST_KEPT = 1000;
const LONGEST_KEPT = 1000;

/** Fails unless a response to this request is as described. */
export function assertDescribed(method: string, target: string, answer: RawAnswer): void {
  const path = pathOf(target);
  const here = OPERATIONS.filter((one) => matches(one.path, path));
  const asked = method === 'HEAD' ? 'GET' : method;
  const operation = (here.find((one) => one.method === asked) ?? here[0])?.operation;
  const where = JSON.stringify([method, target.slice(0, 200), answer.status, ...answer.headers]);
  if (operation === undefined || answer.status < 200 || answer.status === 204) return;
  const responses = new Map(describedResponses(DESCRIPTION, operation));
  const status = responses.has(`${answer.status}`) ? `${answer.status}` : 'default';
  const seen = SEEN.get(`${operation.operationId} ${status}`) ?? [];
  const isShort = answer.body.length <= LONGEST_KEPT;
  if (seen.length === 0 || (isShort && seen.length < MOST_KEPT)) seen.push(answer);
  SEEN.set(`${operation.operationId} ${status}`, seen);
  assertLike(answer, responses.get(status)!, where);
}

function pathOf(target: string): string {
  const [path = ''] = target.replace(/^[a-z]+:\/\/[^/?]*/i, '').split('?');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
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
  const body: Json = type === 'application/json' ? JSON.parse(answer.body) : answer.body;
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

export function assertMatches(schema: Schema, value: Json, where: string): void {
  const problems = schemaProblems(schema as Json, value);
  assert.deepEqual(problems, [], where);
}

/** Wraps the listener of a service. `fail` gets the error of a response that is different. */
export function compared(
  listener: RequestListener,
  prefix: string,
  fail: (error: unknown) => void,
): RequestListener {
  const comparing: RequestListener = (request, response) => {
    const { writeHead, write, end } = response;
    const { method = '', url = '' } = request;
    const headers = new Map<string, string>();
    const pieces: Buffer[] = [];
    const keep = (piece: unknown, encoding: unknown): void => {
      if (typeof piece === 'string') pieces.push(Buffer.from(piece, encoding as BufferEncoding));
      else if (piece instanceof Uint8Array) pieces.push(Buffer.from(piece));
    };
    Object.assign(response, {
      // The service passes a flat list of names and values.
      writeHead(status: number, fields: string[]) {
        headers.clear();
        for (let i = 0; i < fields.length; i += 2) {
          headers.set(fields[i]!.toLowerCase(), fields[i + 1]!);
        }
        return writeHead.call(response, status, fields as never);
      },
      write(...args: unknown[]) {
        keep(args[0], args[1]);
        return write.apply(response, args as Parameters<typeof write>);
      },
      end(...args: unknown[]) {
        keep(args[0], args[1]);
        const body = Buffer.concat(pieces).toString('latin1');
        try {
          const answer = { status: response.statusCode, headers, body };
          assertDescribed(method, url.replace(prefix, ''), answer);
        } catch (error) {
          fail(error);
        }
        return end.apply(response, args as Parameters<typeof end>);
      },
    });
    listener(request, response);
  };
  return Object.assign(comparing, listener);
}

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * Returns the problems of a value, each with its path, or an empty list if it is valid. An unknown
 * keyword throws, so that nothing is accepted unchecked.
 */
export function schemaProblems(schema: Json, value: Json, at = '$'): readonly string[] {
  const { properties = {} } = schema as { properties?: JsonObject };
  const members = isObject(value) ? value : {};
  const items: readonly Json[] = Array.isArray(value) ? value : [];
  return Object.entries(schema as JsonObject).flatMap(([keyword, operand]) => {
    const rule = (holds: boolean): readonly string[] =>
      holds ? [] : [`${at}: ${JSON.stringify(value)} breaks ${keyword} ${JSON.stringify(operand)}`];
    switch (keyword) {
      case 'description':
      case 'default':
      // An int64 has bounds, too.
      case 'format':
        return [];
      case '$ref':
        return schemaProblems(targetOf(operand), value, at);
      case 'items':
        return items.flatMap((item, index) => schemaProblems(operand, item, `${at}[${index}]`));
      case 'properties':
        return Object.entries(properties)
          .filter(([name]) => Object.hasOwn(members, name))
          .flatMap(([name, inner]) => schemaProblems(inner, members[name]!, `${at}.${name}`));
      case 'type':
        return rule(TYPES[operand as string]!(value));
      case 'enum':
        return rule((operand as readonly Json[]).includes(value));
      case 'minimum':
        return rule(!(Number(value) < Number(operand)));
      case 'maximum':
        return rule(!(Number(value) > Number(operand)));
      case 'required':
        return rule((operand as readonly string[]).every((name) => Object.hasOwn(members, name)));
      case 'additionalProperties':
        return rule(Object.keys(members).every((name) => Object.hasOwn(properties, name)));
    }
    throw new Error(`The schema keyword ${keyword} is not known`);
  });
}

const TYPES: Named<(value: Json) => boolean> = {
  object: isObject,
  array: (value) => Array.isArray(value),
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isInteger(value),
};

/** Returns the target of a reference within the description (RFC 6901). Throws if it has none. */
function targetOf(ref: Json): Json {
  let target = DESCRIPTION as unknown as Json | undefined;
  for (const token of `${ref}`.replace('#/', '').split('/')) {
    target = isObject(target) && Object.hasOwn(target, token) ? target[token] : undefined;
  }
  assert.ok(target !== undefined, `${ref} leads nowhere`);
  return target;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
