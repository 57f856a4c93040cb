/**
 * listPets (the interface's part 4.1): GET /v1/pets.
 *
 * The body stays the plain array that the interface shows. That there is more is said beside it, by
 * a Link to the next page (RFC 8288), which starts after this page's last id: a page does not shift
 * when pets are added, and the last page costs no more than the first.
 */

import type { ApiRequest } from '../http/operation.ts';
import { jsonResponse, type ApiResponse } from '../http/api-response.ts';
import type { PetStore } from '../model/pet-store.ts';
import { PETS_PATH } from './paths.ts';
import { DEFAULT_LIMIT, readListParameters, type ListParameters } from './read-parameters.ts';

export async function listPets(store: PetStore, request: ApiRequest): Promise<ApiResponse> {
  const parameters = readListParameters(request.query);
  const { limit = DEFAULT_LIMIT, status, after } = parameters;
  const { text, next } = await store.list({ limit, status, after });
  if (next === undefined) return jsonResponse(200, text);
  const nextPage = `${request.prefix}${PETS_PATH}?${nextQuery(parameters, next)}`;
  return jsonResponse(200, text, ['Link', `<${nextPage}>; rel="next"`]);
}

/** The same query, but for pets after the id `next`. */
function nextQuery({ limit, status }: ListParameters, next: bigint): string {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set('limit', String(limit));
  if (status !== undefined) query.set('status', status);
  query.set('after', String(next));
  return query.toString();
}
