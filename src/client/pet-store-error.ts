/** PetStoreError: every failure of a call that is not the caller's own abort or wrong argument. */

/** The codes that are the client's own; all others are the service's (its Error body). */
export type ClientErrorCode =
  /** No answer, or only a part of one, arrived; `cause` has what fetch said. */
  | 'network_failure'
  /** The call took longer than its `timeoutMs`. */
  | 'timeout'
  /** The answer is a failure without an Error body, as from a proxy, or a redirect. */
  | 'unexpected_status'
  /** The answer's body or its Link is not what the interface describes. */
  | 'invalid_answer';

export class PetStoreError extends Error {
  override readonly name: string = 'PetStoreError';
  /** One of the service's codes, such as `not_found`, or a ClientErrorCode. */
  readonly code: string;
  /** The HTTP status of the answer; undefined where there was none. */
  readonly status: number | undefined;

  constructor(code: string, message: string, status?: number, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.status = status;
  }
}

/** A PetStoreError with a code of the client's own. */
export function clientError(
  code: ClientErrorCode,
  message: string,
  status?: number,
  options?: { cause?: unknown },
): PetStoreError {
  return new PetStoreError(code, message, status, options);
}
