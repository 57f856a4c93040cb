/** getPet (the interface's part 4.3, deprecated): GET /v1/pets/{petId}. */

import { parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import { ApiError } from '../http/api-error.ts';
import type { Call } from '../http/operation.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { PetStore } from '../model/pet-store.ts';

/** A petId that is no int64 is a 404 like any other: the interface lists no 400. */
export async function getPet(store: PetStore, call: Call): Promise<Reply> {
  const [petId = ''] = call.parameters;
  const id = parseInt64(petId);
  const pet = id === undefined ? undefined : await store.get(id);
  if (pet !== undefined) return jsonReply(200, pet.text);
  throw new ApiError('not_found', `There is no pet with the id ${quote(petId)}`);
}
