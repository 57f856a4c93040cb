/**
 * What each code of an Error means, and what a client should do (S7.5 of SPEC.md leaves the codes
 * open). The description and the reference show this table.
 */

import { STATUS_OF_CODE, type ErrorCode } from '../../../core/api/api-error.ts';

export interface ErrorMeaning {
  /** The HTTP status. */
  readonly status: number;
  /** When the code occurs. It is CommonMark, and so is the remedy. */
  readonly description: string;
  /** What a client should do. */
  readonly remedy: string;
}

const MEANINGS: Readonly<Record<ErrorCode, readonly [description: string, remedy: string]>> = {
  malformed_request: [
    'The request is not well-formed HTTP, or its path or query has broken percent-encoding',
    'Correct what the message quotes',
  ],
  invalid_parameter: ['A query parameter is invalid', 'Correct what the message names'],
  invalid_json: ['The body is not JSON in UTF-8', 'Send JSON: the message says what is wrong'],
  invalid_body: ['Fields of the body are missing or invalid', 'Correct what the message names'],
  invalid_idempotency_key: [
    'The `Idempotency-Key` is not one valid key, or the service does not support such keys',
    'Send one key of 1 to 255 visible ASCII characters, or no key if the message says so',
  ],
  unauthorized: ['The API key is missing or invalid', 'Send `Authorization: Bearer <API_KEY>`'],
  not_found: [
    'No pet has this id, or the id is not an int64',
    'Take an id from a list, or from the response to a create',
  ],
  unknown_path: ['The path is unknown', 'Correct it: the message has a hint'],
  method_not_allowed: ['The path does not support this method', 'Use a method that `Allow` names'],
  request_timeout: ['The request came too late, without effect', 'Send it on a new connection'],
  operation_removed: [
    'The operation was removed on its announced date, for every valid API key',
    'Use the replacement that `Link` names',
  ],
  body_too_large: [
    'The body is longer than the limit',
    'Send a shorter one: the message has the limit',
  ],
  unsupported_media_type: [
    'The Content-Type is not JSON, or the body has a content coding',
    'Send `application/json` without a content coding',
  ],
  expectation_failed: ['`Expect` is not `100-continue`', 'Send that, or no `Expect`'],
  idempotency_key_reused: [
    'The idempotency key was used for another pet. Nothing was stored',
    'Use a new key for each pet',
  ],
  headers_too_large: ['The header is longer than the limit', 'Send fewer or shorter fields'],
  outcome_unknown: [
    'The pet may be stored, now or later: a disk sync or a call to etcd failed',
    'Retry the request if it had an `Idempotency-Key`. Otherwise look for the pet in the list ' +
      'before you add it again',
  ],
  internal_error: ['The service failed: its log has the cause', 'Report it to the operator'],
  unsupported_transfer_coding: [
    'The transfer coding is not supported',
    'Send a `Content-Length`, or `Transfer-Encoding: chunked`',
  ],
  unavailable: [
    'The service is starting, stopping, or cannot store. The request had no effect',
    'Retry it after the seconds in `Retry-After`',
  ],
  unsupported_http_version: ['The request is not HTTP/1.0 or HTTP/1.1', 'Use HTTP/1.1'],
};

export const ERROR_CODES: Readonly<Record<string, ErrorMeaning>> = Object.fromEntries(
  Object.entries(MEANINGS).map(([code, [description, remedy]]) => {
    return [code, { status: STATUS_OF_CODE[code as ErrorCode], description, remedy }];
  }),
);
