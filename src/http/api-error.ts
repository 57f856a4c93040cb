/**
 * ApiError: every failure that a client sees, and its Error body (spec section 7).
 *
 * The codes are a closed list, one for each kind of failure. api/error-codes.ts says what each of
 * them means, and what a client should do.
 */

/** The HTTP status of each code. */
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

export type ErrorCode = keyof typeof STATUS_OF_CODE;

export class ApiError extends Error {
  readonly code: ErrorCode;
  /** Header fields of the response: name, value, name, value … */
  readonly headers: readonly string[];

  /** `message` is for people: a sentence without a full stop that quotes the invalid value. */
  constructor(code: ErrorCode, message: string, headers: readonly string[] = []) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.headers = headers;
  }

  get status(): number {
    return STATUS_OF_CODE[this.code];
  }

  /** The Error of spec section 2. */
  get body(): object {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** Returns the error (400) of a request that breaks a rule of HTTP. */
export function malformed(message: string): ApiError {
  return new ApiError('malformed_request', message);
}

/** Returns the error (505) of a request with another version of HTTP, which `which` names. */
export function unsupportedVersion(which: string): ApiError {
  const message = `${which} is not supported, only HTTP/1.0 and HTTP/1.1`;
  return new ApiError('unsupported_http_version', message);
}

/** Returns the error (503) of a request that may succeed after `retryAfterSeconds`. */
export function unavailable(message: string, retryAfterSeconds = 1): ApiError {
  return new ApiError('unavailable', message, ['Retry-After', `${retryAfterSeconds}`]);
}
