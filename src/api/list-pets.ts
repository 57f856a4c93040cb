/**
 * listPets (spec section 4.1): GET /v1/pets.
 *
 * The body stays the plain array of the spec. If there are more pets, the Link header field leads
 * to the next page (RFC 8288). That page starts after the last id of this one, so it does not shift
 * if pets are added, and the last page costs at most as much as the first.
 */

import { whenKnown } from '../base/eventual.ts';
import type { ApiRequest } from '../http/operation.ts';
import { jsonResponse, NO_HEADERS, type ApiResponse } from '../http/api-response.ts';
import type { PetStore } from '../model/pet-store.ts';
import { PETS_PATH } from './paths.ts';
import { DEFAULT_LIMIT, readListParameters, type ListParameters } from './read-parameters.ts';

export function listPets(store: PetStore, request: ApiRequest): ApiResponse | Promise<ApiResponse> {
  const parameters = readListParameters(request.query);
  const { limit = DEFAULT_LIMIT, status, after } = parameters;
  return whenKnown(store.list({ limit, status, after }), ({ text, textBytes, next }) => {
    if (next === undefined) return jsonResponse(200, text, NO_HEADERS, textBytes);
    const nextPage = `${request.prefix}${PETS_PATH}?${nextQuery(parameters, next)}`;
    return jsonResponse(200, text, ['Link', `<${nextPage}>; rel="next"`], textBytes);
  });
}

/** Returns the same query for pets after the id `next`. No value needs percent-encoding. */
function nextQuery({ limit, status }: ListParameters, next: bigint): string {
  const limitPart = limit === undefined ? '' : `limit=${limit}&`;
  const statusPart = status === undefined ? '' : `status=${status}&`;
  return `${limitPart}${statusPart}after=${next}`;
}
