/** createPet (the interface's part 4.2): POST /v1/pets. Answers when the store has the pet safe. */

import { JsonSyntaxError } from '../base/json.ts';
import { ApiError } from '../http/api-error.ts';
import type { Call } from '../http/operation.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import { encodeNewPetText, InvalidPetError, type EncodedNewPet } from '../model/encoded-pet.ts';
import type { PetStore } from '../model/pet-store.ts';
import { PETS_PATH } from './paths.ts';

export async function createPet(store: PetStore, call: Call): Promise<Reply> {
  const newPet = readNewPet(await call.readBody());
  const pet = await store.create(newPet);
  // The id ends at the first comma: it is written first, and in plain digits.
  const id = pet.slice(ID_START, pet.indexOf(','));
  return jsonReply(201, pet, ['Location', `${call.prefix}${PETS_PATH}/${id}`]);
}

const ID_START: number = '{"id":'.length;

/** The NewPet of part 2 that the body holds. Throws an ApiError (400) that names what is wrong. */
function readNewPet(body: Buffer): EncodedNewPet {
  try {
    return encodeNewPetText(body);
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new ApiError(
        'invalid_json',
        `The body is not valid JSON: ${lowerFirst(error.message)}`,
      );
    }
    if (error instanceof InvalidPetError) throw new ApiError('invalid_body', error.message);
    throw error;
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
