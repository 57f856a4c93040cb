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
import { resolveRef, schemaProblems, type Json } from './json-schema.ts';

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
    const target = resolveRef(description as unknown as Json, response.$ref);
    return [status, target as unknown as ResponseObject];
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
  const problems = schemaProblems(schema as Json, value, DESCRIPTION as unknown as Json);
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
