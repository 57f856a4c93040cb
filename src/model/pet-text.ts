/**
 * Writes the JSON text of a Pet, and reads a NewPet or a Pet from a text (spec section 2).
 *
 *     {"id":1,"name":"Rex","categoryId":7,"status":"available"}
 *
 * A pet's text is written once, when the pet is created or loaded, and the same text goes to the
 * client, the journal and the data file. A text that is read may have any layout; a text that the
 * service writes has this one.
 */

import { OPEN_BRACE, QUOTE } from '../base/ascii.ts';
import { findInt64Error, int64FromLiteral } from '../base/int64.ts';
import {
  decodeString,
  JsonSyntaxError,
  readObject,
  skipSpace,
  skipValue,
  type JsonValue,
} from '../base/json.ts';
import { cut } from '../base/quote.ts';
import { isPetStatus, PET_STATUSES, type NewPet, type Pet, type PetStatus } from './pet.ts';
import { joinMembers } from './stringify-pet.ts';

/**
 * The text between two pets, in the data file, in memory and in the response of a list. No pet's
 * text contains it, because JSON escapes a line feed in a name.
 */
export const PET_SEPARATOR = ',\n';

/** A page of 100 such pets fits into one string, which has at most 512 MiB in V8. */
export const MAX_PET_BYTES: number = (5 << 20) + 1024;
/** Leaves 64 bytes for `{"id":`, an id, a comma and the closing brace. */
const MAX_NEW_PET_BYTES: number = MAX_PET_BYTES - 64;

/** A value is not a NewPet, or not a Pet. The message names every invalid field. */
export class InvalidPetError extends Error {
  override readonly name: string = 'InvalidPetError';
}

/**
 * Returns the values of a NewPet as a plain object. Each is read once: a program may pass an object
 * whose getters return something else the next time. The values are checked by `formatMembers`.
 */
export function readNewPet({ name, categoryId, status }: NewPet): NewPet {
  return status === undefined ? { name, categoryId } : { name, categoryId, status };
}

/** Returns the members of a NewPet as in a Pet's text. Throws InvalidPetError. */
export function formatMembers({ name, categoryId, status }: NewPet): string {
  // A program in JavaScript may pass anything.
  const invalid: string[] = [];
  if (typeof name !== 'string') invalid.push('name must be a string');
  const error = findInt64Error('categoryId', categoryId);
  if (error !== undefined) invalid.push(error.message);
  else if (typeof categoryId !== 'bigint') invalid.push('categoryId must be a bigint');
  if (status !== undefined && !isPetStatus(status)) {
    invalid.push(`status must be one of ${PET_STATUSES.join(', ')}`);
  }
  if (invalid.length > 0) throw new InvalidPetError(invalid.join('; '));
  const members = joinMembers({ name, categoryId, status });
  if (Buffer.byteLength(members) <= MAX_NEW_PET_BYTES) return members;
  throw new InvalidPetError(`without its id a pet has at most ${MAX_NEW_PET_BYTES} bytes`);
}

/** Returns the text of the Pet with this id and the members that formatMembers wrote. */
export function formatPet(id: bigint, members: string): string {
  return `{"id":${id},${members}}`;
}

/** Returns the text of a list. Each text is a pet, or several with separators between them. */
export function formatPets(texts: readonly string[]): string {
  return `[${texts.join(PET_SEPARATOR)}]`;
}

/** A NewPet, or a sentence for each thing that is invalid about it. */
export type ParsedNewPet =
  { readonly newPet: NewPet } | { readonly invalid: readonly [string, ...string[]] };

/**
 * Returns the NewPet whose JSON text is `bytes`, valid UTF-8. Other members, such as `id`, are
 * ignored; the last of duplicate members counts. Throws JsonSyntaxError.
 */
export function parseNewPet(bytes: Buffer): ParsedNewPet {
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== OPEN_BRACE) {
    const value = { start, end: skipValue(bytes, start) };
    expectEnd(bytes, value.end);
    return { invalid: [`Expected an object but got ${shown(bytes, value)}`] };
  }
  const members: Members = { bytes, values: new Map(), invalid: [] };
  const end = readObject(bytes, start, (key, value) => {
    if (isMember(key)) members.values.set(key, value);
  });
  expectEnd(bytes, end);
  const newPet = parseMembers(members);
  const [first, ...others] = members.invalid;
  return first === undefined ? { newPet } : { invalid: [first, ...others] };
}

/** Returns the Pet whose JSON text is `text`. Throws JsonSyntaxError or InvalidPetError. */
export function parsePet(text: string): Pet {
  const bytes = Buffer.from(text);
  const { pet, end } = parsePetAt(bytes, skipSpace(bytes, 0));
  expectEnd(bytes, end);
  return pet;
}

/**
 * Reads the Pet at `at`, in any layout.
 *
 * An unknown or a duplicate member is refused, since it must not be lost. Throws JsonSyntaxError or
 * InvalidPetError.
 */
export function parsePetAt(bytes: Buffer, at: number): { readonly pet: Pet; readonly end: number } {
  const members: Members = { bytes, values: new Map(), invalid: [] };
  const { values, invalid } = members;
  const end = readObject(bytes, at, (key, value) => {
    if (!isMember(key)) invalid.push(`${cut(JSON.stringify(key))} is no field of a Pet`);
    else if (values.has(key)) invalid.push(`${key} is given twice`);
    else values.set(key, value);
  });
  if (end - at > MAX_PET_BYTES) invalid.push(`A pet has at most ${MAX_PET_BYTES} bytes`);
  const id = parseInteger(members, 'id');
  if (id <= 0n) invalid.push(`id must be positive, not ${id}`);
  const newPet = parseMembers(members);
  if (invalid.length > 0) throw new InvalidPetError(invalid.join('; '));
  return { pet: { id, ...newPet }, end };
}

function isMember(key: string): boolean {
  return key === 'id' || key === 'name' || key === 'categoryId' || key === 'status';
}

/** The members of an object, and a sentence for each invalid one. */
interface Members {
  readonly bytes: Buffer;
  readonly values: Map<string, JsonValue>;
  readonly invalid: string[];
}

/** Returns the values of a NewPet. They must not be used if there is an invalid member. */
function parseMembers(members: Members): NewPet {
  const name = parseName(members);
  const categoryId = parseInteger(members, 'categoryId');
  const status = parseStatus(members);
  return status === undefined ? { name, categoryId } : { name, categoryId, status };
}

function parseName({ bytes, values, invalid }: Members): string {
  const value = values.get('name');
  if (value !== undefined && bytes[value.start] === QUOTE) return decodeString(bytes, value);
  const isMissing = value === undefined;
  invalid.push(
    isMissing ? 'name is required' : `name must be a string, not ${shown(bytes, value)}`,
  );
  return '';
}

function parseInteger({ bytes, values, invalid }: Members, name: string): bigint {
  const value = values.get(name);
  const literal = value && bytes.toString('latin1', value.start, value.end);
  const integer = int64FromLiteral(literal ?? '');
  if (integer !== undefined) return integer;
  const problem = value && `must be an integer of 64 bits, not ${shown(bytes, value)}`;
  invalid.push(`${name} ${problem ?? 'is required'}`);
  return 1n;
}

function parseStatus({ bytes, values, invalid }: Members): PetStatus | undefined {
  const value = values.get('status');
  if (value === undefined) return undefined;
  const status = bytes[value.start] === QUOTE ? decodeString(bytes, value) : undefined;
  if (isPetStatus(status)) return status;
  invalid.push(`status must be one of ${PET_STATUSES.join(', ')}, not ${shown(bytes, value)}`);
  return undefined;
}

function expectEnd(bytes: Buffer, at: number): void {
  const rest = skipSpace(bytes, at);
  if (rest < bytes.length) throw new JsonSyntaxError('the end', bytes, rest);
}

/** Returns the value's text, shortened if it is long. */
function shown(bytes: Buffer, { start, end }: JsonValue): string {
  return cut(bytes.toString('utf8', start, end));
}
