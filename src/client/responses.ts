/**
 * What comes back: Pet, Pets and Error (the interface's part 2), read from an answer's text.
 *
 * Nothing is taken on trust. What is not of the described shape is an error here, and not an
 * undefined somewhere in the caller's program; fields that the interface does not know are dropped.
 */

import { parseExactJson } from '../base/exact-json.ts';
import { isPetStatus, PET_STATUSES, type Pet } from '../model/pet.ts';
import { clientError, PetStoreError } from './pet-store-error.ts';

export interface ServiceResponse {
  /** The HTTP status; 0 for a redirect, where a browser does not tell which. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The Pet that the answer holds. Throws a PetStoreError (invalid_answer). */
export function petFrom(answer: ServiceResponse): Pet {
  return petOf(readJson(answer), 'The answer', answer.status);
}

/** The Pets that the answer holds. Throws a PetStoreError (invalid_answer). */
export function petsFrom(answer: ServiceResponse): readonly Pet[] {
  const value = readJson(answer);
  if (!Array.isArray(value)) throw invalidAnswer('The answer is not an array', answer.status);
  return value.map((pet: unknown, index) => petOf(pet, `Pet ${index}`, answer.status));
}

/** The error that a failure's answer tells of; should it quote the API key, that is left out. */
export function errorFrom(answer: ServiceResponse, apiKey: string): PetStoreError {
  const { status } = answer;
  if (status === 0 || (status >= 300 && status < 400)) {
    const message = 'The answer is a redirect, which is not followed: the API key stays here';
    return clientError('unexpected_status', message, status === 0 ? undefined : status);
  }
  const body = jsonOrUndefined(answer.text);
  if (isObject(body) && body['status'] === BigInt(status)) {
    const { code, message } = body;
    if (typeof code === 'string' && typeof message === 'string') {
      const withoutKey = (text: string): string => text.replaceAll(apiKey, '[API key]');
      return new PetStoreError(withoutKey(code), withoutKey(message), status);
    }
  }
  const message = `The answer has the status ${status} and no Error body`;
  return clientError('unexpected_status', message, status);
}

export function invalidAnswer(message: string, status: number): PetStoreError {
  return clientError('invalid_answer', message, status);
}

function petOf(value: unknown, what: string, httpStatus: number): Pet {
  const complain = (complaint: string): PetStoreError =>
    invalidAnswer(`${what} is no Pet: ${complaint}`, httpStatus);
  if (!isObject(value)) throw complain('it is not an object');
  const { id, name, categoryId, status } = value;
  if (typeof id !== 'bigint') throw complain('id must be an integer of 64 bits');
  if (typeof name !== 'string') throw complain('name must be a string');
  if (typeof categoryId !== 'bigint') throw complain('categoryId must be an integer of 64 bits');
  if (status === undefined) return { id, name, categoryId };
  if (typeof status === 'string' && isPetStatus(status)) return { id, name, categoryId, status };
  throw complain(`status must be one of ${PET_STATUSES.join(', ')}`);
}

function readJson({ text, status }: ServiceResponse): unknown {
  const value = jsonOrUndefined(text);
  if (value === undefined) throw invalidAnswer('The answer is not JSON', status);
  return value;
}

/** Without the reason: it would quote the text, in which a proxy may have put the request. */
function jsonOrUndefined(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

interface JsonObject {
  readonly [key: string]: unknown;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
