/** getPet (the interface's part 4.3, deprecated): GET /v1/pets/{petId}. */

import { parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import { ApiError } from '../http/api-error.ts';
import type { Call } from '../http/operation.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import type { EncodedPet } from '../model/encoded-pet.ts';
import type { PetStore } from '../model/pet-store.ts';

/**
 * A petId that is no int64 is a 404, as any pet that cannot be found: the interface lists no 400.
 */
export function getPet(store: PetStore, call: Call): Reply | Promise<Reply> {
  const text = call.parameters[0] ?? '';
  const id = parseInt64(text);
  const pet = id === undefined ? undefined : store.get(id);
  return typeof pet === 'object' ? pet.then((found) => petReply(found, text)) : petReply(pet, text);
}

function petReply(pet: EncodedPet | undefined, id: string): Reply {
  if (pet === undefined) {
    throw new ApiError('not_found', `There is no pet with the id ${quote(id)}`);
  }
  return jsonReply(200, pet);
}
