/** PetStoreError: every failure of a call except an abort by the caller or an invalid argument. */

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

export class PetStoreError extends Error {
  override readonly name: string = 'PetStoreError';
  /** One of the service's codes, such as `not_found`, or a ClientErrorCode. */
  readonly code: string;
  /** The HTTP status of the response, or undefined without a response. */
  readonly status: number | undefined;

  constructor(code: string, message: string, status?: number, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.status = status;
  }
}
