/** The Error body as the tests know it: its form (the interface's part 7) and its codes. */

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
  assert.ok(answer !== undefined, `No answer, expected ${code}`);
  assert.equal(answer.status, STATUS_OF_CODE[code], `${code}: ${answer.text.slice(0, 300)}`);
  assert.equal(answer.headers.get('Content-Type'), 'application/json');
  assert.equal(answer.headers.get('Content-Length'), String(Buffer.byteLength(answer.text)));
  const body = fieldsOf(answer);
  assert.deepEqual(Object.keys(body).sort(), ['code', 'message', 'status']);
  assert.equal(body['code'], code);
  assert.equal(body['status'], answer.status);
  const message = body['message'];
  assert.ok(typeof message === 'string' && message !== '', 'The message is a sentence');
  return message;
}
