/** createPet (spec section 4.2): POST /v1/pets. Responds when the pet is durable. */

import { ApiError } from '../http/api-error.ts';
import type { ApiRequest } from '../http/operation.ts';
import { jsonResponse, type ApiResponse } from '../http/api-response.ts';
import type { NewPet } from '../model/pet.ts';
import type { PetStore } from '../model/pet-store.ts';
import { parseNewPet } from '../model/pet-text.ts';
import { readKeyHash } from './idempotency-key.ts';
import { PETS_PATH } from './paths.ts';

export async function createPet(store: PetStore, request: ApiRequest): Promise<ApiResponse> {
  const key = readKeyHash(request);
  if (key !== undefined && store.createOnce === undefined) throw notSupported();
  const newPet = parseBody(await request.readBody());
  const created =
    key === undefined || store.createOnce === undefined
      ? { pet: await store.create(newPet), isReplayed: false }
      : await store.createOnce(newPet, key);
  const { id, text } = created.pet;
  const headers = ['Location', `${request.prefix}${PETS_PATH}/${id}`];
  if (created.isReplayed) headers.push('Idempotent-Replayed', 'true');
  return jsonResponse(201, text, headers);
}

/** If the key were ignored, a retry would store the pet twice. */
function notSupported(): ApiError {
  const message =
    'The store of this service does not support idempotency keys: remove Idempotency-Key';
  return new ApiError('invalid_idempotency_key', message);
}

/**
 * Returns the NewPet in the body (spec section 2). Throws an ApiError (400) that names each fault.
 */
function parseBody(body: Buffer): NewPet {
  try {
    const parsed = parseNewPet(body.toString());
    if ('newPet' in parsed) return parsed.newPet;
    throw new ApiError('invalid_body', parsed.invalid.join('; '));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiError('invalid_json', `The body is not valid JSON: ${error.message}`);
  }
}
