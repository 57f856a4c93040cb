/**
 * listPets (the interface's part 4.1): GET /v1/pets.
 *
 * The body stays the plain array that the interface shows. That there is more is said beside it, by
 * a Link to the next page (RFC 8288), which starts after this page's last id: a page does not shift
 * when pets are added, and the last page costs no more than the first.
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

/** The same query, but for pets after the id `next`. None of its values needs an encoding. */
function nextQuery({ limit, status }: ListParameters, next: bigint): string {
  const limitPart = limit === undefined ? '' : `limit=${limit}&`;
  const statusPart = status === undefined ? '' : `status=${status}&`;
  return `${limitPart}${statusPart}after=${next}`;
}
