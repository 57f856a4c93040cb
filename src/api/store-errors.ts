/** What a store says when it fails, as the Error body that a client gets. */

import { ApiError, unavailable } from '../http/api-error.ts';
import { KeyReusedError, OutcomeUnknownError, StoreUnavailableError } from '../model/pet-store.ts';

/** Does some work with a store; rejects with an ApiError where the store tells why it failed. */
export async function withStoreErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw unavailable(error.message);
    if (error instanceof OutcomeUnknownError) throw new ApiError('outcome_unknown', error.message);
    if (error instanceof KeyReusedError) {
      throw new ApiError('idempotency_key_reused', error.message);
    }
    throw error;
  }
}
