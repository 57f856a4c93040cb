/** getPet (spec section 4.3, deprecated): GET /v1/pets/{petId}. */

import { whenKnown } from '../base/eventual.ts';
import { parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import { ApiError } from '../http/api-error.ts';
import type { ApiRequest } from '../http/operation.ts';
import { jsonResponse, type ApiResponse } from '../http/api-response.ts';
import type { PetStore } from '../model/pet-store.ts';

/** A petId that is not an int64 gets 404, like any other unknown pet: the spec lists no 400. */
export function getPet(store: PetStore, request: ApiRequest): ApiResponse | Promise<ApiResponse> {
  const [petId = ''] = request.pathParameters;
  const id = parseInt64(petId);
  return whenKnown(id === undefined ? undefined : store.get(id), (pet) => {
    if (pet !== undefined) return jsonResponse(200, pet.text);
    throw new ApiError('not_found', `There is no pet with the id ${quote(petId)}`);
  });
}
