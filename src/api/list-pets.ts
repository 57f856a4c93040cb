/**
 * listPets (the interface's part 4.1): GET /v1/pets.
 *
 * The body stays the plain array that the interface shows. That there is more is said beside it, by
 * a Link to the next page (RFC 8288), which starts after this page's last id: a page does not shift
 * when pets are added, and the last page costs no more than the first.
 */

import type { Call } from '../http/operation.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { PetPage, PetStore } from '../model/pet-store.ts';
import { PETS_PATH } from './paths.ts';
import { DEFAULT_LIMIT, readListParameters, type ListParameters } from './read-parameters.ts';

export function listPets(store: PetStore, call: Call): Reply | Promise<Reply> {
  const parameters = readListParameters(call.query);
  const { limit = DEFAULT_LIMIT, status, after } = parameters;
  const page = store.list({ limit, status, after });
  return 'then' in page
    ? page.then((found) => pageReply(found, parameters, call.prefix))
    : pageReply(page, parameters, call.prefix);
}

function pageReply(
  { json, next }: PetPage,
  { limit, status }: ListParameters,
  prefix: string,
): Reply {
  if (next === undefined) return jsonReply(200, json);
  const query =
    (limit === undefined ? '' : `limit=${limit}&`) +
    (status === undefined ? '' : `status=${status}&`) +
    `after=${next}`;
  return jsonReply(200, json, ['Link', `<${prefix}${PETS_PATH}?${query}>; rel="next"`]);
}
