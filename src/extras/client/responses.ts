/**
 * Reads Pet, Pets and Error (S2.3 to S2.5 of SPEC.md) from the text of a response.
 *
 * It checks every field. So a wrong response is an error here, and not an undefined value in the
 * caller's program. Unknown fields are dropped.
 */

import { isObject, parseExactJson } from '../../core/base/exact-json.ts';
import { EXPECTED_STATUS, isPetStatus, type Pet } from '../../core/pets/pet.ts';
import { PetStoreError } from './pet-store-error.ts';

export interface ServiceResponse {
  /** The HTTP status. A browser shows a redirect as 0. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Returns the Pet in the response. Throws a PetStoreError (invalid_answer) if it has none. */
export function petFrom(response: ServiceResponse): Pet {
  return petOf(readJson(response), 'The response', response.status);
}

/** Returns the Pets in the response. Throws a PetStoreError (invalid_answer) if it has none. */
export function petsFrom(response: ServiceResponse): readonly Pet[] {
  const value = readJson(response);
  if (!Array.isArray(value)) throw invalidAnswer('The response is not an array', response.status);
  return value.map((pet: unknown, index) => petOf(pet, `Pet ${index}`, response.status));
}

/** Returns the error in the response of a failed request, without the API key. */
export function errorFrom(response: ServiceResponse, apiKey: string): PetStoreError {
  const { status } = response;
  if (status === 0 || (status >= 300 && status < 400)) {
    const message =
      'The response is a redirect, which the client does not follow, to protect the API key';
    return new PetStoreError('unexpected_status', message, status === 0 ? undefined : status);
  }
  const body = jsonOrUndefined(response.text);
  if (isObject(body) && body['status'] === BigInt(status)) {
    const { code, message } = body;
    if (typeof code === 'string' && typeof message === 'string') {
      // A code of the service is lower-case words. Only another one may be a key that is sent back.
      const shownCode = /^[a-z_]+$/.test(code) ? code : withoutKey(code, apiKey);
      return new PetStoreError(shownCode, withoutKey(message, apiKey), status);
    }
  }
  const message = `The response has the status ${status} and no Error body`;
  return new PetStoreError('unexpected_status', message, status);
}

/**
 * Replaces the API key. A key that could be a part of a word is replaced as a whole word only: the
 * key `id` is a part of `invalid`.
 */
export function withoutKey(text: string, apiKey: string): string {
  const key = apiKey.replace(/[^A-Za-z0-9]/g, '\\$&');
  const isPart = apiKey.length < 8 || /^[A-Za-z_]+$/.test(apiKey);
  // Safari 16 has no lookbehind.
  const pattern = isPart ? `(^|[^A-Za-z0-9])${key}(?![A-Za-z0-9])` : `()${key}`;
  return text.replace(new RegExp(pattern, 'g'), '$1[API key]');
}

export function invalidAnswer(message: string, status: number): PetStoreError {
  return new PetStoreError('invalid_answer', message, status);
}

function petOf(value: unknown, what: string, httpStatus: number): Pet {
  const invalidPet = (reason: string): PetStoreError =>
    invalidAnswer(`${what} is not a Pet: ${reason}`, httpStatus);
  if (!isObject(value)) throw invalidPet('it is not an object');
  const { id, name, categoryId, status } = value;
  if (typeof id !== 'bigint') throw invalidPet('id must be a 64-bit integer');
  if (typeof name !== 'string') throw invalidPet('name must be a string');
  if (typeof categoryId !== 'bigint') throw invalidPet('categoryId must be a 64-bit integer');
  if (status === undefined) return { id, name, categoryId };
  if (typeof status === 'string' && isPetStatus(status)) return { id, name, categoryId, status };
  throw invalidPet(`status must be ${EXPECTED_STATUS}`);
}

function readJson({ text, status }: ServiceResponse): unknown {
  const value = jsonOrUndefined(text);
  if (value === undefined) throw invalidAnswer('The response is not JSON', status);
  return value;
}

/** Omits the reason, which would quote the text: a proxy may return the request with its key. */
function jsonOrUndefined(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}
