/**
 * Decisions about refused requests. Each becomes two checks, one of the status and one of the code,
 * so that a different code does not hide a wrong status.
 */

import assert from 'node:assert/strict';
import { NotObserved, type Check, type Declare } from './check.ts';
import { eachCase } from './each-case.ts';
import { assertErrorObject, assertStatus, isRefused } from './expect.ts';
import { fieldsOf, type ServiceResponse, type TestClient } from './test-client.ts';

export type Send = (client: TestClient, item: string) => Promise<ServiceResponse>;

export type Refusal = readonly [
  name: string,
  sentence: string,
  status: number,
  code: string,
  cases: readonly string[],
  send: Send,
];

const AT_ONCE = 16;

export function refusal(
  declare: Declare,
  [name, sentence, status, code, cases, send]: Refusal,
): readonly Check[] {
  const judge = (assertCase: (response: ServiceResponse) => void): Check['run'] => {
    return (client) =>
      eachCase(client, cases, async (own, item) => assertCase(await send(own, item)), AT_ONCE);
  };
  const hasStatus = judge((response) => {
    assertStatus(response, status);
    assertErrorObject(response);
  });
  const hasCode = judge((response) => {
    if (!isRefused(response.status))
      throw new NotObserved('the service does not refuse such a request');
    assert.equal(fieldsOf(response)['code'], code, 'the code');
  });
  return [
    declare(name, `${sentence}: ${status}`, hasStatus),
    declare(`${name}-code`, `${sentence}: ${code}`, hasCode),
  ];
}
