/**
 * The text of a Pet, and the way from a text to a NewPet or a Pet (the interface's part 2).
 *
 *     {"id":1,"name":"Rex","categoryId":7,"status":"available"}
 *
 * A pet is the bytes that are sent: its text is written once, when it is created or loaded, and the
 * same text goes to the client, the journal and the data file. What is read may have any layout; a
 * text of ours has this one.
 */

import { CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../base/ascii.ts';
import { findInt64Error, int64FromLiteral } from '../base/int64.ts';
import {
  decodeString,
  expectByte,
  JsonSyntaxError,
  readObject,
  skipSpace,
  skipValue,
  type JsonValue,
} from '../base/json.ts';
import { cut } from '../base/quote.ts';
import { isPetStatus, PET_STATUSES, type NewPet, type Pet, type PetStatus } from './pet.ts';
import { joinMembers } from './stringify-pet.ts';

/** What stands between two pets, in the data file, in memory and in a list that is answered. */
export const PET_SEPARATOR = ',\n';

/** A hundred of these, a page, fit into one string, which has at most 512 MiB. */
export const MAX_PET_BYTES: number = (5 << 20) + 1024;
/** Leaves 64 bytes for `{"id":`, an id, a comma and the brace behind it. */
const MAX_NEW_PET_BYTES: number = MAX_PET_BYTES - 64;

/** A value that is no NewPet or no Pet; the message names every field at fault. */
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

/** The members of a NewPet as they stand in a Pet's text. Throws InvalidPetError. */
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

/** The text of the Pet that has this id and the members that formatMembers wrote. */
export function formatPet(id: bigint, members: string): string {
  return `{"id":${id},${members}}`;
}

/** The text of a list, from those of its pets; each may be several, the separator between them. */
export function formatPets(texts: readonly string[]): string {
  return `[${texts.join(PET_SEPARATOR)}]`;
}

/** A NewPet, or a sentence for each thing that is invalid about it. */
export type ParsedNewPet =
  { readonly newPet: NewPet } | { readonly invalid: readonly [string, ...string[]] };

/**
 * The NewPet whose JSON text is `bytes`, valid UTF-8. Other members, `id` among them, are ignored;
 * of one given twice the last counts. Throws JsonSyntaxError.
 */
export function parseNewPet(bytes: Buffer): ParsedNewPet {
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== OPEN_BRACE) {
    const value = { start, end: skipValue(bytes, start) };
    expectEnd(bytes, value.end);
    return { invalid: [`Expected an object but got ${shown(bytes, value)}`] };
  }
  const members = new Map<string, JsonValue>();
  const end = readObject(bytes, start, (key, value) => {
    if (isMember(key)) members.set(key, value);
  });
  expectEnd(bytes, end);
  return parseMembers(bytes, members);
}

/** The Pet whose JSON text is `text`. Throws JsonSyntaxError or InvalidPetError. */
export function parsePet(text: string): Pet {
  const bytes = Buffer.from(text);
  const { pet, end } = parsePetAt(bytes, skipSpace(bytes, 0));
  expectEnd(bytes, end);
  return pet;
}

/** The Pets of a list, in any layout. Throws JsonSyntaxError or InvalidPetError. */
export function parsePets(text: string): readonly Pet[] {
  const pets: Pet[] = [];
  const bytes = Buffer.from(text);
  let at = skipSpace(bytes, 0);
  expectByte(bytes, at, OPEN_BRACKET, 'an array of pets');
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== CLOSE_BRACKET) {
    if (pets.length > 0) {
      expectByte(bytes, at, COMMA, "',' or ']'");
      at = skipSpace(bytes, at + 1);
    }
    const { pet, end } = parsePetAt(bytes, at);
    pets.push(pet);
    at = skipSpace(bytes, end);
  }
  expectEnd(bytes, at + 1);
  return pets;
}

/**
 * Reads the Pet at `at`, in any layout.
 *
 * A member that no Pet has, or that is given twice, is refused: to drop it would lose what somebody
 * stored. Throws JsonSyntaxError or InvalidPetError.
 */
export function parsePetAt(bytes: Buffer, at: number): { readonly pet: Pet; readonly end: number } {
  const invalid: string[] = [];
  const members = new Map<string, JsonValue>();
  const end = readObject(bytes, at, (key, value) => {
    if (!isMember(key)) invalid.push(`${cut(JSON.stringify(key))} is no field of a Pet`);
    else if (members.has(key)) invalid.push(`${key} is given twice`);
    else members.set(key, value);
  });
  if (end - at > MAX_PET_BYTES) invalid.push(`A pet has at most ${MAX_PET_BYTES} bytes`);
  const id = parseId(bytes, members.get('id'));
  const parsed = parseMembers(bytes, members);
  if ('invalid' in id) invalid.push(id.invalid);
  if ('invalid' in parsed) invalid.push(...parsed.invalid);
  if (invalid.length > 0 || 'invalid' in id || 'invalid' in parsed) {
    throw new InvalidPetError(invalid.join('; '));
  }
  return { pet: { id: id.value, ...parsed.newPet }, end };
}

function isMember(key: string): boolean {
  return key === 'id' || key === 'name' || key === 'categoryId' || key === 'status';
}

/** A member's value, or what is invalid about it. */
type Parsed<T> = { readonly value: T } | { readonly invalid: string };

function parseMembers(bytes: Buffer, members: ReadonlyMap<string, JsonValue>): ParsedNewPet {
  const name = parseName(bytes, members.get('name'));
  const categoryId = parseInteger(bytes, 'categoryId', members.get('categoryId'));
  const status = parseStatus(bytes, members.get('status'));
  if ('invalid' in name || 'invalid' in categoryId || 'invalid' in status) {
    const sentences = [name, categoryId, status].flatMap((parsed) =>
      'invalid' in parsed ? [parsed.invalid] : [],
    );
    return { invalid: sentences as [string, ...string[]] };
  }
  const newPet = { name: name.value, categoryId: categoryId.value };
  return { newPet: status.value === undefined ? newPet : { ...newPet, status: status.value } };
}

function parseId(bytes: Buffer, value: JsonValue | undefined): Parsed<bigint> {
  const id = parseInteger(bytes, 'id', value);
  if ('invalid' in id || id.value > 0n) return id;
  return { invalid: `id must be positive, not ${id.value}` };
}

function parseName(bytes: Buffer, value: JsonValue | undefined): Parsed<string> {
  if (value === undefined) return { invalid: 'name is required' };
  if (bytes[value.start] === QUOTE) return { value: decodeString(bytes, value) };
  return { invalid: `name must be a string, not ${shown(bytes, value)}` };
}

function parseInteger(bytes: Buffer, name: string, value: JsonValue | undefined): Parsed<bigint> {
  if (value === undefined) return { invalid: `${name} is required` };
  const integer = int64FromLiteral(bytes.toString('latin1', value.start, value.end));
  if (integer !== undefined) return { value: integer };
  return { invalid: `${name} must be an integer of 64 bits, not ${shown(bytes, value)}` };
}

function parseStatus(bytes: Buffer, value: JsonValue | undefined): Parsed<PetStatus | undefined> {
  if (value === undefined) return { value: undefined };
  const status = bytes[value.start] === QUOTE ? decodeString(bytes, value) : undefined;
  if (isPetStatus(status)) return { value: status };
  return {
    invalid: `status must be one of ${PET_STATUSES.join(', ')}, not ${shown(bytes, value)}`,
  };
}

function expectEnd(bytes: Buffer, at: number): void {
  const rest = skipSpace(bytes, at);
  if (rest < bytes.length) throw new JsonSyntaxError('the end', bytes, rest);
}

/** The value as it stands in the text, cut short where it is long. */
function shown(bytes: Buffer, { start, end }: JsonValue): string {
  return cut(bytes.toString('utf8', start, end));
}
