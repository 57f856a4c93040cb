/**
 * HttpError: a request that is refused or fails, as its client sees it.
 *
 *     throw new HttpError(409, 'door_locked', 'Door 7 is locked', ['Retry-After', '60'])
 *     → HTTP/1.1 409 Conflict, Retry-After: 60
 *       {"code":"door_locked","message":"Door 7 is locked","status":409}
 *
 * Every refusal is thrown, wherever it is found; one function catches it and sends its body
 * (handle-request.ts). It is no Error: nobody needs the stack of a refusal, and taking it was half
 * of the time of a 401. A code is any string, since an API has codes of its own. The codes of this
 * server are the closed list below, one for each way in which a request can be refused, or fail,
 * whatever its operation is.
 */

/** The HTTP status of each code of this server. */
export const STATUS_OF_HTTP_CODE = {
  malformed_request: 400,
  unauthorized: 401,
  unknown_path: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  body_too_large: 413,
  expectation_failed: 417,
  headers_too_large: 431,
  internal_error: 500,
  unsupported_transfer_coding: 501,
  unsupported_http_version: 505,
} as const;

type HttpErrorCode = keyof typeof STATUS_OF_HTTP_CODE;

/** Header fields of a response: name, value, name, value … */
export type FieldList = readonly string[];

export class HttpError {
  readonly message: string;
  readonly status: number;
  readonly code: string;
  readonly headers: FieldList;

  /** `message` is for people: a sentence without a full stop that quotes the invalid value. */
  constructor(status: number, code: string, message: string, headers: FieldList = []) {
    this.message = message;
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Returns an error with a code of this server. */
export function httpError(code: HttpErrorCode, message: string, headers?: FieldList): HttpError {
  return new HttpError(STATUS_OF_HTTP_CODE[code], code, message, headers);
}

/** Returns the error (400) of a request that breaks a rule of HTTP. */
export function malformed(message: string): HttpError {
  return httpError('malformed_request', message);
}

/** Returns the error (505) of a request with another version of HTTP, which `which` names. */
export function unsupportedVersion(which: string): HttpError {
  const message = `${which} is not supported, only HTTP/1.0 and HTTP/1.1`;
  return httpError('unsupported_http_version', message);
}
