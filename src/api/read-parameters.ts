/** The parameters of listPets (the interface's parts 4.1 and 8) and the path parameter petId. */

import { INT64_MAX, INT64_MIN, parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import { ApiError } from '../http/api-error.ts';
import { readQuery, type QueryParameter } from '../http/query.ts';
import { isPetStatus, PET_STATUSES, type PetStatus } from '../model/pet.ts';

export interface ListParameters {
  /** 1 to 100; undefined when not given. */
  readonly limit: number | undefined;
  readonly status: PetStatus | undefined;
  /** Our one extension: only pets with a greater id. */
  readonly after: bigint | undefined;
}

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

/**
 * Reads the query of listPets; others than its parameters are ignored. Throws an ApiError (400).
 */
export function readListParameters(query: string): ListParameters {
  if (query === '') return NONE_GIVEN;
  const given = readQuery(query);
  const problems: string[] = [];
  const limit = readOne(given, 'limit', problems, readLimit);
  const status = readOne(given, 'status', problems, readStatus);
  const after = readOne(given, 'after', problems, readAfter);
  if (problems.length > 0) throw new ApiError('invalid_parameter', problems.join('; '));
  return { limit, status, after };
}

/** The id in a path; undefined when it is no int64, and so the id of no pet. */
export function readPetId(text: string): bigint | undefined {
  return parseInt64(text);
}

const NONE_GIVEN: ListParameters = { limit: undefined, status: undefined, after: undefined };

/** The value of a parameter that may be given once; a problem is added where it is invalid. */
function readOne<T>(
  given: readonly QueryParameter[],
  name: string,
  problems: string[],
  read: (text: string) => T | Expected,
): T | undefined {
  let times = 0;
  let text = '';
  for (const parameter of given) {
    if (parameter.name !== name) continue;
    times += 1;
    text = parameter.value;
  }
  if (times === 0) return undefined;
  if (times > 1) {
    problems.push(`${name} must be given once, not ${times} times`);
    return undefined;
  }
  const value = read(text);
  if (!(value instanceof Expected)) return value;
  problems.push(`${name} must be ${value.what}, not ${quote(text)}`);
  return undefined;
}

/** What a parameter should have been. */
class Expected {
  readonly what: string;

  constructor(what: string) {
    this.what = what;
  }
}

function readLimit(text: string): number | Expected {
  const limit = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  const isInRange = limit >= 1 && limit <= MAX_LIMIT;
  return isInRange ? limit : new Expected(`an integer from 1 to ${MAX_LIMIT}`);
}

function readStatus(text: string): PetStatus | Expected {
  return isPetStatus(text) ? text : new Expected(`one of ${PET_STATUSES.join(', ')}`);
}

function readAfter(text: string): bigint | Expected {
  return parseInt64(text) ?? new Expected(`an integer from ${INT64_MIN} to ${INT64_MAX}`);
}
