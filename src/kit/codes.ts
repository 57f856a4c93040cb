/**
 * The Error as this project has decided on it: its closed list of codes, and no more fields.
 *
 * Status and code are judged apart, so that another code word hides no wrong status.
 */

import assert from 'node:assert/strict';
import { decision, onHttp, type Check } from './check.ts';
import { Client, fieldsOf, type ServiceResponse } from './client.ts';
import { assertErrorObject, assertStatus } from './expect.ts';

/** The closed list of codes, each with its one HTTP status. */
export const STATUS_OF_CODE = {
  malformed_request: 400,
  invalid_parameter: 400,
  invalid_json: 400,
  invalid_body: 400,
  invalid_idempotency_key: 400,
  unauthorized: 401,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  operation_removed: 410,
  body_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  headers_too_large: 431,
  outcome_unknown: 500,
  internal_error: 500,
  unsupported_transfer_coding: 501,
  unavailable: 503,
  unsupported_http_version: 505,
} as const;

export type Code = keyof typeof STATUS_OF_CODE;

/** Fails unless the response is the Error with this code, and well-formed; gives its message. */
export function assertError(response: ServiceResponse | undefined, code: Code, about = ''): string {
  assert.ok(response !== undefined, `expected an Error ${code}, not the end of the connection`);
  const what = about === '' ? '' : `${about}: `;
  assert.equal(response.status, STATUS_OF_CODE[code], `${what}the status`);
  const body = fieldsOf(response);
  assert.equal(body['code'], code, `${what}the code`);
  assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status'], 'the fields');
  assert.equal(body['status'], BigInt(response.status), 'the status in the body');
  assert.equal(response.headers.get('Content-Type'), 'application/json', 'the Content-Type');
  const length = String(Buffer.byteLength(response.text));
  assert.equal(response.headers.get('Content-Length'), length, 'the Content-Length');
  const message = body['message'];
  assert.ok(typeof message === 'string' && message !== '', 'expected a message that is a sentence');
  return message;
}

/** What is sent in each case, and what the message of the Error must match. */
export interface Refusal<T> {
  readonly name: string;
  readonly sentence: string;
  readonly code: Code;
  readonly cases: readonly T[];
  readonly send: (client: Client, item: T) => Promise<ServiceResponse | undefined>;
  readonly message?: RegExp;
}

/** Two checks of one decision: that every case is refused with the status, and with the code. */
export function refusal<T>(given: Refusal<T>): readonly Check[] {
  return refusalBy(decision, given);
}

/** The same of HTTP itself. */
export function refusalOnHttp<T>(given: Refusal<T>): readonly Check[] {
  return refusalBy(onHttp, given);
}

function refusalBy<T>(
  make: typeof decision,
  { name, sentence, code, cases, send, message = /./ }: Refusal<T>,
): readonly Check[] {
  return [
    make(name, sentence, (client) =>
      atOnce(client, cases, async (own, item) => {
        const response = await send(own, item);
        assert.ok(response !== undefined, 'expected a response, not the end of the connection');
        assertStatus(response, STATUS_OF_CODE[code], nameOf(item));
        assertErrorObject(response);
      }),
    ),
    make(`${name}-code`, `${sentence}, ${code}`, (client) =>
      atOnce(client, cases, async (own, item) => {
        assert.match(
          assertError(await send(own, item), code, nameOf(item)),
          message,
          'the message',
        );
      }),
    ),
  ];
}

const AT_ONCE = 32;

/** Some cases at a time, since a service may wait for the rest of what is cut off. */
export async function atOnce<T>(
  client: Client,
  cases: readonly T[],
  run: (own: Client, item: T) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < cases.length; start += AT_ONCE) {
    const running = cases.slice(start, start + AT_ONCE).map(async (item) => {
      const own = new Client(client.target);
      try {
        await run(own, item);
      } catch (error) {
        client.lastExchange = own.lastExchange;
        throw error;
      }
    });
    const failed = (await Promise.allSettled(running)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }
}

/** A case that has several parts is named by the first that is a text. */
export function nameOf(item: unknown): string {
  const name: unknown = Array.isArray(item) ? item[0] : item;
  const text = typeof name === 'object' ? '' : String(name);
  return text.length > 50 ? `${text.slice(0, 50)}…` : text;
}
