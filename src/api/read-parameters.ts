/** The parameters of listPets (spec sections 4.1 and 8). */

import { INT64_MAX, INT64_MIN, parseInt64 } from '../base/int64.ts';
import { quote } from '../base/quote.ts';
import { ApiError } from '../http/api-error.ts';
import { readQuery, type QueryParameter } from '../http/query.ts';
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
  const given = readQuery(query);
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
  given: readonly QueryParameter[],
  name: string,
  problems: string[],
  read: (text: string) => T | undefined,
  expected: string,
): T | undefined {
  let count = 0;
  let text = '';
  for (const parameter of given) {
    if (parameter.name !== name) continue;
    count += 1;
    text = parameter.value;
  }
  if (count === 0) return undefined;
  if (count > 1) {
    problems.push(`${name} must be given once, not ${count} times`);
    return undefined;
  }
  const value = read(text);
  if (value === undefined) problems.push(`${name} must be ${expected}, not ${quote(text)}`);
  return value;
}

function readLimit(text: string): number | undefined {
  const limit = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined;
}

function readStatus(text: string): PetStatus | undefined {
  return isPetStatus(text) ? text : undefined;
}
