/**
 * Writes the JSON text of a Pet, and reads a NewPet or a Pet from a text (S2.2 and S2.3 of
 * SPEC.md).
 *
 *     {"id":1,"name":"Rex","categoryId":7,"status":"available"}
 *
 * A pet's text is written once, when the pet is created or loaded, and the same text goes to the
 * client and the data file. A text that is read may have any layout; a text that the
 * service writes has this one.
 */

import { isObject, parseIndexedJson, type IndexedJson } from '../base/exact-json.ts';
import { findInt64Error, int64FromLiteral } from '../base/int64.ts';
import { cut, quote, quoteValue } from '../base/quote.ts';
import {
  isPetStatus,
  joinMembers,
  EXPECTED_STATUS,
  type NewPet,
  type Pet,
  type PetStatus,
} from './pet.ts';

/**
 * The text between two pets, in memory and in the response of a list. No pet's text contains it,
 * because JSON escapes a line feed in a name.
 */
export const PET_SEPARATOR = ',\n';

/**
 * The longest body (service-options.ts), and 1 KiB for what the service adds. A page of 100 such
 * pets fits into one string, which has at most 512 MiB in V8.
 */
export const MAX_PET_BYTES: number = (5 << 20) + 1024;
/** Without its id: leaves 64 bytes for `{"id":`, an id, a comma and the closing brace. */
const MAX_NEW_PET_BYTES: number = MAX_PET_BYTES - 64;

/** A value is not a NewPet, or not a Pet. The message names every invalid field. */
export class InvalidPetError extends Error {
  override readonly name: string = 'InvalidPetError';
}

/**
 * Returns the values of a NewPet as a plain object. Each is read once: a program may pass an object
 * whose getters return something else the next time. The values are checked by `formatMembers`. A
 * store that needs single values, such as one on a database, calls this, too.
 */
export function readNewPet({ name, categoryId, status }: NewPet): NewPet {
  return status === undefined ? { name, categoryId } : { name, categoryId, status };
}

/**
 * Returns the members of a NewPet as in a Pet's text. Reads each value once, and throws
 * InvalidPetError.
 */
export function formatMembers({ name, categoryId, status }: NewPet): string {
  // A program in JavaScript may pass anything.
  const invalid: string[] = [];
  if (typeof name !== 'string') invalid.push('name must be a string');
  const error = findInt64Error('categoryId', categoryId);
  if (error !== undefined) invalid.push(error.message);
  else if (typeof categoryId !== 'bigint') invalid.push('categoryId must be a bigint');
  if (status !== undefined && !isPetStatus(status)) {
    invalid.push(`status must be ${EXPECTED_STATUS}`);
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

/** Returns the text of each pet in a list that formatPets wrote. */
export function splitPets(text: string): readonly string[] {
  return text === '[]' ? [] : text.slice(1, -1).split(PET_SEPARATOR);
}

/**
 * Returns the NewPet in a JSON text. Other members, such as `id`, are ignored. Of duplicate members
 * the last one counts. Throws a SyntaxError or InvalidPetError.
 */
export function parseNewPet(text: string): NewPet {
  return readObject(parseIndexedJson(text), 'an object', readMembers);
}

/** Returns the Pet in a JSON text. Throws a SyntaxError or InvalidPetError. */
export function parsePet(text: string): Pet {
  return readObject(parseIndexedJson(text), 'a pet', readPet);
}

/** A Pet of a data file. */
export interface FilePet extends Pet {
  /** False if it got its id from the reader. */
  readonly hasId: boolean;
  /** As it was read: unchecked. */
  readonly idempotencyKey: unknown;
}

/** As `parsePet`, for a pet that may have an idempotency key. Without an id it gets `givenId`. */
export function parseFilePet(text: string, givenId?: bigint): FilePet {
  return readObject(parseIndexedJson(text), 'a pet', (members) => {
    const { idempotencyKey, ...value } = members.value;
    const hasId = value['id'] !== undefined;
    const pet = readPet({ ...members, value }, hasId ? undefined : givenId);
    return { ...pet, hasId, idempotencyKey };
  });
}

/** Returns the Pets of a JSON array, or none if the text is anything else. */
export function petsIn(text: string): readonly Pet[] {
  try {
    const { value, literals } = parseIndexedJson(text);
    if (!Array.isArray(value)) return [];
    const items = value as readonly unknown[];
    return items.map((item) => readObject({ value: item, literals }, 'a pet', readPet));
  } catch (error) {
    // Memory may fail, too.
    if (error instanceof SyntaxError || error instanceof InvalidPetError) return [];
    throw error;
  }
}

/** Returns what `read` finds in an object. Throws InvalidPetError with all that is invalid. */
function readObject<T>(
  { value, literals }: IndexedJson,
  expected: string,
  read: (members: Members) => T,
): T {
  const invalid: string[] = [];
  if (!isObject(value)) {
    throw new InvalidPetError(`Expected ${expected} but got ${shown(value, literals)}`);
  }
  const found = read({ value, literals, invalid });
  if (invalid.length > 0) throw new InvalidPetError(invalid.join('; '));
  return found;
}

/** Returns the Pet. An unknown member is refused, since it must not be lost. */
function readPet(members: Members, givenId?: bigint): Pet {
  const { value, invalid } = members;
  for (const key of Object.keys(value)) {
    if (!MEMBERS.includes(key)) invalid.push(`${cut(JSON.stringify(key))} is no field of a Pet`);
  }
  const id = givenId ?? readInteger(members, 'id');
  if (id <= 0n) invalid.push(`id must be positive, not ${id}`);
  return { id, ...readMembers(members) };
}

const MEMBERS: readonly string[] = ['id', 'name', 'categoryId', 'status'];

/** An object of a JSON text (exact-json.ts), and a sentence for each invalid member. */
interface Members extends IndexedJson {
  readonly value: Readonly<Record<string, unknown>>;
  readonly invalid: string[];
}

/** Returns the values of a NewPet. They must not be used if there is an invalid member. */
function readMembers(members: Members): NewPet {
  const name = readName(members);
  const categoryId = readInteger(members, 'categoryId');
  return readNewPet({ name, categoryId, status: readStatus(members) });
}

function readName({ value, literals, invalid }: Members): string {
  const { name } = value;
  if (typeof name === 'string') return name;
  const expected = `must be a string, not ${shown(name, literals)}`;
  invalid.push(`name ${name === undefined ? required(value, 'name') : expected}`);
  return '';
}

/** Returns what is said of a missing member, and of one like it: `category_id`, `Name`. */
function required(value: Members['value'], name: string): string {
  const plain = (key: string): string => key.replace(/[^a-z]/gi, '').toLowerCase();
  const near = Object.keys(value).find((key) => plain(key) === plain(name));
  return near === undefined ? 'is required' : `is required, not ${quote(near)}`;
}

function readInteger({ value, literals, invalid }: Members, name: string): bigint {
  const given = value[name];
  const integer = typeof given === 'number' ? int64FromLiteral(literals[given]!) : undefined;
  if (integer !== undefined) return integer;
  const expected = `must be an integer of 64 bits, not ${shown(given, literals)}`;
  invalid.push(`${name} ${given === undefined ? required(value, name) : expected}`);
  return 1n;
}

function readStatus({ value: { status }, literals, invalid }: Members): PetStatus | undefined {
  if (status === undefined || isPetStatus(status)) return status;
  invalid.push(`status must be ${EXPECTED_STATUS}, not ${shown(status, literals)}`);
  return undefined;
}

/** Returns a text that shows the value, shortened if it is long. */
function shown(value: unknown, literals: readonly string[]): string {
  return typeof value === 'number' ? cut(literals[value]!) : quoteValue(value);
}
