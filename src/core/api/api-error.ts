/**
 * The codes of this API's errors: the second closed list beside that of the server
 * (http/http-error.ts). error-codes.ts says what each of them means, and what a client should do.
 */

import { HttpError, STATUS_OF_HTTP_CODE, type FieldList } from '../http/http-error.ts';

const STATUS_OF_API_CODE = {
  invalid_parameter: 400,
  invalid_json: 400,
  invalid_body: 400,
  invalid_idempotency_key: 400,
  not_found: 404,
  operation_removed: 410,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  outcome_unknown: 500,
  unavailable: 503,
} as const;

/** The HTTP status of each code that a client can get. */
export const STATUS_OF_CODE: typeof STATUS_OF_HTTP_CODE & typeof STATUS_OF_API_CODE = {
  ...STATUS_OF_HTTP_CODE,
  ...STATUS_OF_API_CODE,
};

export type ErrorCode = keyof typeof STATUS_OF_CODE;

/** Returns an error with a code of this API. */
export function apiError(
  code: keyof typeof STATUS_OF_API_CODE,
  message: string,
  headers?: FieldList,
): HttpError {
  return new HttpError(STATUS_OF_API_CODE[code], code, message, headers);
}

/** Returns the error (503) of a request that may succeed after `retryAfterSeconds`. */
export function unavailable(message: string, retryAfterSeconds = 1): HttpError {
  return apiError('unavailable', message, ['Retry-After', `${retryAfterSeconds}`]);
}
