/** The parameters of listPets (spec sections 4.1 and 8). */

import { INT64_MAX, INT64_MIN, parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import { ApiError } from '../http/api-error.ts';
import { isPetStatus, PET_STATUSES, type PetStatus } from '../model/pet.ts';

export interface ListParameters {
  /** 1 to 100, or undefined if it is not given. */
  readonly limit: number | undefined;
  readonly status: PetStatus | undefined;
  /** The only parameter that is not in the spec: pets with a greater id. */
  readonly after: bigint | undefined;
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

/** Reads the query of listPets, and ignores unknown parameters. Throws an ApiError (400). */
export function readListParameters(query: string): ListParameters {
  if (query === '') return NONE_GIVEN;
  // The mark in front is dropped: a second one belongs to the first name.
  const given = new URLSearchParams(`?${query}`);
  const problems: string[] = [];
  const limit = readOne(given, 'limit', problems, readLimit, LIMIT);
  const status = readOne(given, 'status', problems, readStatus, STATUS);
  const after = readOne(given, 'after', problems, parseInt64, AFTER);
  if (problems.length > 0) throw new ApiError('invalid_parameter', problems.join('; '));
  return { limit, status, after };
}

const LIMIT = `an integer from 1 to ${MAX_LIMIT}`;
const STATUS: string = `one of ${PET_STATUSES.join(', ')}`;
const AFTER: string = `an integer from ${INT64_MIN} to ${INT64_MAX}`;
const NONE_GIVEN: ListParameters = { limit: undefined, status: undefined, after: undefined };

/** Returns the value of a parameter. If it is invalid or given twice, adds a problem. */
function readOne<T>(
  given: URLSearchParams,
  name: string,
  problems: string[],
  read: (text: string) => T | undefined,
  expected: string,
): T | undefined {
  const values = given.getAll(name);
  const text = values[0];
  if (text === undefined) return undefined;
  const value = values.length === 1 ? read(text) : undefined;
  if (values.length > 1) problems.push(`${name} must be given once, not ${values.length} times`);
  else if (value === undefined) problems.push(`${name} must be ${expected}, not ${quote(text)}`);
  return value;
}

function readLimit(text: string): number | undefined {
  const limit = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined;
}

function readStatus(text: string): PetStatus | undefined {
  return isPetStatus(text) ? text : undefined;
}
