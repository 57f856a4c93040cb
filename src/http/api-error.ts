/**
 * ApiError: every failure that a client sees, and its Error body (spec section 7).
 *
 * The codes are a closed list, one for each kind of failure. Each belongs to one HTTP status.
 */

export const STATUS_OF_CODE = {
  /** The request is not well-formed HTTP, or its path or query has broken percent-encoding. */
  malformed_request: 400,
  /** A query parameter has an invalid value. */
  invalid_parameter: 400,
  /** The body is not JSON in UTF-8. */
  invalid_json: 400,
  /** The body is JSON, but misses required fields or contains invalid values. */
  invalid_body: 400,
  /** The Idempotency-Key is not one valid key, or the service does not support such keys. */
  invalid_idempotency_key: 400,
  /** The API key is missing or invalid. */
  unauthorized: 401,
  /** The pet that the path names cannot be found. */
  not_found: 404,
  /** The path is unknown. */
  unknown_path: 404,
  /** The path is known, but not with this method. */
  method_not_allowed: 405,
  /** The request did not arrive in time. */
  request_timeout: 408,
  /** The operation was removed on its announced date. */
  operation_removed: 410,
  /** The body is longer than the limit. */
  body_too_large: 413,
  /** The body is declared as something other than JSON, or has a content coding. */
  unsupported_media_type: 415,
  /** An Expect header asks for something other than 100-continue. */
  expectation_failed: 417,
  /** The idempotency key was used for another request. */
  idempotency_key_reused: 422,
  /** The request's header fields are longer than the limit. */
  headers_too_large: 431,
  /** It is unknown whether the request took effect. */
  outcome_unknown: 500,
  /** The service failed; its log has the cause. */
  internal_error: 500,
  /** The transfer coding is not supported. */
  unsupported_transfer_coding: 501,
  /** The service is starting, stopping, or unable to store; try again later. */
  unavailable: 503,
  /** The request is not HTTP/1.0 or HTTP/1.1. */
  unsupported_http_version: 505,
} as const;

export type ErrorCode = keyof typeof STATUS_OF_CODE;

/** The Error of spec section 2. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  /** The HTTP status code of the response. */
  readonly status: number;
}

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

  get body(): ErrorBody {
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
