/** PetStoreError: every failure of a call except an abort by the caller or an invalid argument. */

import type { ErrorCode } from '../../core/api/api-error.ts';

/** The client's own codes. All others are from the service's Error body. */
export type ClientErrorCode =
  /** No response, or only a part of one, arrived. `cause` is fetch's error. */
  | 'network_failure'
  /** The call took longer than its `timeoutMs`. */
  | 'timeout'
  /** The response is a failure without an Error body, for example from a proxy, or a redirect. */
  | 'unexpected_status'
  /** The response's body or Link is not as the specification describes. */
  | 'invalid_answer';

/** Editors complete the known codes. A later version of the service may have others. */
export type PetStoreErrorCode = ErrorCode | ClientErrorCode | (string & {});

export class PetStoreError extends Error {
  override readonly name: string = 'PetStoreError';
  /** One of the service's codes, such as `not_found`, or a ClientErrorCode. */
  readonly code: PetStoreErrorCode;
  /** The HTTP status of the response, or undefined without a response. */
  readonly status: number | undefined;

  constructor(code: PetStoreErrorCode, message: string, status?: number, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.status = status;
  }
}
