/** The documented errors of a store, as API errors. */

import { ApiError, unavailable } from '../http/api-error.ts';
import { KeyReusedError, OutcomeUnknownError, StoreUnavailableError } from '../model/pet-store.ts';

/** Converts a documented error of a store to an ApiError. Returns undefined for any other error. */
export function fromStoreError(error: unknown): ApiError | undefined {
  if (error instanceof StoreUnavailableError) {
    return unavailable(error.message, error.retryAfterSeconds);
  }
  if (error instanceof OutcomeUnknownError) return new ApiError('outcome_unknown', error.message);
  if (error instanceof KeyReusedError) return new ApiError('idempotency_key_reused', error.message);
  return undefined;
}
