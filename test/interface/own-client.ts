/**
 * A client for the tests of this project's decisions: the kit's client, and raw connections.
 *
 * The kit asks what any service may be asked. These tests ask for this service's own Error: its
 * closed list of codes, its three fields, its header fields and its messages.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AppOptions } from '../../src/app-options.ts';
import { STATUS_OF_CODE, type ErrorCode } from '../../src/http/api-error.ts';
import { fieldsOf, TestClient, type ServiceResponse } from '../../src/kit/test-client.ts';
import { KEY, openService, type Service } from '../support/http/service.ts';
import { talk } from '../support/http/wire.ts';

export const REX = '{"name":"Rex","categoryId":1}';

export interface OwnClient extends Pick<TestClient, 'send' | 'get' | 'post' | 'add'> {
  /** Sends a request to a path beside /v1: '/livez'. */
  readonly sendBeside: TestClient['send'];
  /** All responses to these bytes, until the service closes the connection. */
  exchange(bytes: string): Promise<readonly ServiceResponse[]>;
}

export function createOwnClient(port: number): OwnClient {
  const origin = `http://127.0.0.1:${port}`;
  const below = new TestClient({ baseUrl: `${origin}/v1`, key: KEY });
  const beside = new TestClient({ baseUrl: origin, key: KEY });
  return {
    send: (...request) => below.send(...request),
    get: (path) => below.get(path),
    post: (body, headers) => below.post(body, headers),
    add: (body) => below.add(body),
    sendBeside: (...request) => beside.send(...request),
    async exchange(bytes) {
      const answers = await talk(port, bytes, bytes.startsWith('HEAD '));
      return answers.map(({ status, headers, body }) => {
        const text = Buffer.from(body, 'latin1').toString();
        return { status, headers: new Headers([...headers]), text };
      });
    },
  };
}

/** A service with its own clock, store or limit, for one test or for a file of tests. */
export async function openOwnService(
  context: { after(fn: () => Promise<void>): void },
  options: Partial<AppOptions> = {},
): Promise<{ readonly service: Service; readonly client: OwnClient }> {
  const service = await openService(context, options);
  return { service, client: createOwnClient(service.port) };
}

/** Bytes of a request that asks for the connection to be closed, with Host and key. */
export function message(requestLine: string, fields: readonly string[] = [], body = ''): string {
  const own = ['Host: h', `Authorization: Bearer ${KEY}`, 'Connection: close'];
  return [`${requestLine} HTTP/1.1`, ...own, ...fields, '', body].join('\r\n');
}

/** Fails unless the response is this service's Error with this code. Returns its message. */
export function assertError(
  response: ServiceResponse | undefined,
  code: ErrorCode,
  about = '',
): string {
  assert.ok(response !== undefined, `expected an Error ${code}, not the end of the connection`);
  const what = about === '' ? '' : `${about}: `;
  const body = fieldsOf(response);
  const found = [response.status, body['code']];
  assert.deepEqual(found, [STATUS_OF_CODE[code], code], `${what}status and code`);
  assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status'], 'the fields');
  assert.equal(body['status'], BigInt(response.status), 'the status in the body');
  assert.equal(response.headers.get('Content-Type'), 'application/json', 'the Content-Type');
  const length = String(Buffer.byteLength(response.text));
  assert.equal(response.headers.get('Content-Length'), length, 'the Content-Length');
  const text = body['message'];
  assert.ok(typeof text === 'string' && text !== '', 'expected a message that is a sentence');
  return text;
}

/** Declares a test: each case gets the Error with this code, and a message that matches. */
export function testRefused<T>(
  sentence: string,
  code: ErrorCode,
  cases: readonly T[],
  send: (item: T) => Promise<ServiceResponse | undefined>,
  expected = /./,
): void {
  test(`${sentence}: ${code}`, () =>
    atOnce(cases, async (item) => {
      assert.match(assertError(await send(item), code, nameOf(item)), expected);
    }));
}

const AT_ONCE = 32;

/** Some cases at a time, since the service may wait for the rest of what is cut off. */
export async function atOnce<T>(
  cases: readonly T[],
  run: (item: T) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < cases.length; start += AT_ONCE) {
    await Promise.all(cases.slice(start, start + AT_ONCE).map(run));
  }
}

/** A case that has several parts is named by the first. */
export function nameOf(item: unknown): string {
  return String(Array.isArray(item) ? item[0] : item).slice(0, 50);
}
