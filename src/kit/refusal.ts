/**
 * Decisions about requests that are refused: two checks of each, one of the status, one of the
 * code.
 *
 * They are judged apart, so that other code words do not hide a wrong status.
 */

import assert from 'node:assert/strict';
import { NotObserved, type Check, type decision } from './check.ts';
import { eachCase } from './each-case.ts';
import { assertErrorObject, assertStatus, isRefused } from './expect.ts';
import { fieldsOf, type ServiceResponse, type TestClient } from './test-client.ts';

const STATUS_OF_CODE = {
  invalid_parameter: 400,
  invalid_json: 400,
  invalid_body: 400,
  malformed_request: 400,
  unauthorized: 401,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  unsupported_media_type: 415,
} as const;

export type Send = (client: TestClient, item: string) => Promise<ServiceResponse>;

export type Refusal = readonly [
  name: string,
  sentence: string,
  code: keyof typeof STATUS_OF_CODE,
  cases: readonly string[],
  send: Send,
];

const AT_ONCE = 16;

export function refusal(
  make: typeof decision,
  [name, sentence, code, cases, send]: Refusal,
): readonly Check[] {
  const judge = (assertCase: (response: ServiceResponse) => void): Check['run'] => {
    return (client) =>
      eachCase(client, cases, async (own, item) => assertCase(await send(own, item)), AT_ONCE);
  };
  const hasStatus = judge((response) => {
    assertStatus(response, STATUS_OF_CODE[code]);
    assertErrorObject(response);
  });
  const hasCode = judge((response) => {
    if (!isRefused(response.status)) throw new NotObserved('the service refuses no such request');
    assert.equal(fieldsOf(response)['code'], code, 'the code');
  });
  return [make(name, sentence, hasStatus), make(`${name}-code`, `${sentence}, ${code}`, hasCode)];
}
