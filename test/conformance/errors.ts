/** The Error body as this project has decided on it: its codes, and that it has no more fields. */

import assert from 'node:assert/strict';
import { fieldsOf, type Answer } from './client.ts';

/** The closed list of codes, each with its one HTTP status. */
export const STATUS_OF_CODE = {
  malformed_request: 400,
  invalid_parameter: 400,
  invalid_json: 400,
  invalid_body: 400,
  unauthorized: 401,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  operation_removed: 410,
  body_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  headers_too_large: 431,
  internal_error: 500,
  unsupported_transfer_coding: 501,
  unavailable: 503,
  unsupported_http_version: 505,
} as const;

export type Code = keyof typeof STATUS_OF_CODE;

/** Fails unless the answer is the Error with this code, and well-formed; gives its message. */
export function assertError(answer: Answer | undefined, code: Code): string {
  const status = STATUS_OF_CODE[code];
  assert.ok(answer !== undefined, `an Error ${code}, not the end of the connection`);
  assert.equal(answer.status, status, `${code}, the status`);
  assert.equal(answer.headers.get('Content-Type'), 'application/json', 'the Content-Type');
  const length = String(Buffer.byteLength(answer.text));
  assert.equal(answer.headers.get('Content-Length'), length, 'the Content-Length');
  const body = fieldsOf(answer);
  assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status'], 'the fields');
  assert.equal(body['code'], code, 'the code');
  assert.equal(body['status'], BigInt(status), 'the status in the body');
  const message = body['message'];
  assert.ok(typeof message === 'string' && message !== '', 'a message that is a sentence');
  return message;
}

/** Fails unless there is one answer, and it is the Error with this code; gives its message. */
export function assertOnlyError(answers: readonly Answer[], code: Code): string {
  const message = assertError(answers[0], code);
  assert.equal(answers.length, 1, 'the number of answers');
  return message;
}
