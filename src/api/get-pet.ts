/** getPet (the interface's part 4.3, deprecated): GET /v1/pets/{petId}. */

import { parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import { ApiError } from '../http/api-error.ts';
import type { ApiRequest } from '../http/operation.ts';
import { jsonResponse, type ApiResponse } from '../http/api-response.ts';
import type { PetStore } from '../model/pet-store.ts';

/** A petId that is no int64 is a 404 like any other: the interface lists no 400. */
export async function getPet(store: PetStore, request: ApiRequest): Promise<ApiResponse> {
  const [petId = ''] = request.pathParameters;
  const id = parseInt64(petId);
  const pet = id === undefined ? undefined : await store.get(id);
  if (pet !== undefined) return jsonResponse(200, pet.text);
  throw new ApiError('not_found', `There is no pet with the id ${quote(petId)}`);
}
