/**
 * The encoded pet: the bytes that go to the client, the journal and the data file alike.
 *
 *     {"id":1,"name":"Rex","categoryId":7,"status":"available"}
 *     └─head┘└─────────tail: all that the client gave─────────┘
 *
 * A name is kept as the JSON string that was sent, so that it comes back character for character;
 * an integer is written in plain digits, whatever form it was sent in.
 */

import { CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../base/ascii.ts';
import { bytesToString, stringToBytes, type ByteString } from '../base/byte-string.ts';
import {
  decodeString,
  expectByte,
  findFields,
  JsonSyntaxError,
  skipSpace,
  skipValue,
} from '../base/json.ts';
import { int64FromLiteral } from '../base/int64.ts';
import { cut } from '../base/quote.ts';
import { isPetStatus, PET_STATUSES, type NewPet, type Pet, type PetStatus } from './pet.ts';

/** The JSON text of one Pet, in the form above. */
export type EncodedPet = ByteString;

/** A checked NewPet, whose text only lacks the id. */
export interface EncodedNewPet {
  /** The pet's text after its id, from the comma on. */
  readonly tail: ByteString;
  readonly status: PetStatus | undefined;
}

/**
 * A hundred of these, a page, fit into one string, which has at most 512 MiB. A request has no
 * longer one either, since its body is bounded.
 */
export const MAX_PET_BYTES: number = (5 << 20) + 1024;
const MAX_NEW_PET_BYTES: number = MAX_PET_BYTES - 64;

/** JSON that is no NewPet or no Pet; the message names every field at fault. */
export class InvalidPetError extends Error {
  override readonly name: string = 'InvalidPetError';
}

/**
 * Encodes the NewPet whose JSON text is `text`, valid UTF-8.
 *
 * Other fields, `id` among them, are ignored. Throws JsonSyntaxError or InvalidPetError.
 */
export function encodeNewPetText(text: Buffer): EncodedNewPet {
  const start = skipSpace(text, 0);
  const isObject = text[start] === OPEN_BRACE;
  const spans = new Int32Array(SPANS_LENGTH);
  const end = isObject ? findFields(text, start, PET_FIELDS, spans) : skipValue(text, start);
  expectEnd(text, end);
  if (!isObject) throw new InvalidPetError(`Expected an object but got ${shown(text, start, end)}`);
  const problems: string[] = [];
  const pet = encodeFields(text, spans, problems);
  if (pet.tail.length > MAX_NEW_PET_BYTES) {
    problems.push(`a pet has at most ${MAX_NEW_PET_BYTES} bytes`);
  }
  if (problems.length > 0) throw new InvalidPetError(problems.join('; '));
  return pet;
}

/** Encodes a NewPet of the program's own making. Throws InvalidPetError. */
export function encodeNewPet({ name, categoryId, status }: NewPet): EncodedNewPet {
  // A program in JavaScript may hand over anything: what is put into the text must be what it says.
  const problems: string[] = [];
  if (typeof name !== 'string') problems.push('name must be a string');
  if (typeof categoryId !== 'bigint') problems.push('categoryId must be a bigint');
  if (status !== undefined && typeof status !== 'string') problems.push('status must be a string');
  if (problems.length > 0) throw new InvalidPetError(problems.join('; '));
  const statusField = status === undefined ? '' : `,"status":${JSON.stringify(status)}`;
  const text = `{"name":${JSON.stringify(name)},"categoryId":${categoryId}${statusField}}`;
  return encodeNewPetText(Buffer.from(text));
}

/** The pet's text: the id in front of what the client gave. */
export function encodePet(id: bigint, tail: ByteString): EncodedPet {
  return `{"id":${id}${tail}` as EncodedPet;
}

/**
 * The Pet that a text holds, in any layout: for programs, which want values.
 *
 * Throws JsonSyntaxError or InvalidPetError, as readPet does.
 */
export function decodePet(text: ByteString): Pet {
  const bytes = stringToBytes(text);
  const { value, end } = decodeAt(bytes, skipSpace(bytes, 0));
  expectEnd(bytes, end);
  return value;
}

/**
 * The Pets array of the interface, a comma and a line feed between two pets. Each of the texts is
 * one pet, or several with that separator between them.
 */
export function encodePets(pets: readonly ByteString[]): ByteString {
  return `[${pets.join(PET_SEPARATOR)}]` as ByteString;
}

/** The Pets that an array holds, in any layout. Throws as decodePet does. */
export function decodePets(text: ByteString): readonly Pet[] {
  const pets: Pet[] = [];
  const bytes = stringToBytes(text);
  let at = skipSpace(bytes, 0);
  expectByte(bytes, at, OPEN_BRACKET, 'an array of pets');
  at = skipSpace(bytes, at + 1);
  while (bytes[at] !== CLOSE_BRACKET) {
    if (pets.length > 0) {
      expectByte(bytes, at, COMMA, "',' or ']'");
      at = skipSpace(bytes, at + 1);
    }
    const { value, end } = decodeAt(bytes, at);
    pets.push(value);
    at = skipSpace(bytes, end);
  }
  expectEnd(bytes, at + 1);
  return pets;
}

/** The Pet at `at`, and the offset after it. */
function decodeAt(bytes: Buffer, at: number): { readonly value: Pet; readonly end: number } {
  const spans = new Int32Array(SPANS_LENGTH);
  const { id, status, end } = readFields(bytes, at, spans);
  const name = decodeString(bytes, spans[2 * NAME]!, spans[2 * NAME + 1]!);
  const digits = bytes.toString('latin1', spans[2 * CATEGORY_ID], spans[2 * CATEGORY_ID + 1]);
  const pet: Pet = { id, name, categoryId: int64FromLiteral(digits)! };
  return { value: status === undefined ? pet : { ...pet, status }, end };
}

function expectEnd(bytes: Buffer, at: number): void {
  const rest = skipSpace(bytes, at);
  if (rest < bytes.length) throw new JsonSyntaxError('the end', bytes, rest);
}

/** What stands between two pets, in the data file, in memory and in a list that is answered. */
export const PET_SEPARATOR = ',\n';

/** A Pet as it was read, of whatever layout: its encoded form, and what the store needs to know. */
export interface PetText {
  readonly pet: EncodedPet;
  readonly id: bigint;
  readonly status: PetStatus | undefined;
  /** The offset after the pet. */
  readonly end: number;
}

/**
 * Reads the Pet at `at`, in any layout and order of fields, into the encoded form.
 *
 * A field that no Pet has, or that is given twice, is refused: to drop it would lose what somebody
 * stored. Throws JsonSyntaxError or InvalidPetError.
 */
export function readPet(bytes: Buffer, at: number): PetText {
  return readFields(bytes, at, new Int32Array(SPANS_LENGTH));
}

/** `readPet` that leaves in `spans` where the fields are. */
function readFields(bytes: Buffer, at: number, spans: Int32Array): PetText {
  const problems: string[] = [];
  const end = findFields(bytes, at, PET_FIELDS, spans, (field) => {
    problems.push(`${PET_FIELDS[field]} is given twice`);
  });
  if (end - at > MAX_PET_BYTES) problems.push(`A pet has at most ${MAX_PET_BYTES} bytes`);
  const id = readInteger(bytes, 'id', spans[2 * ID]!, spans[2 * ID + 1]!, problems) ?? '0';
  if (problems.length === 0 && BigInt(id) <= 0n) problems.push(`id must be positive, not ${id}`);
  const { tail, status } = encodeFields(bytes, spans, problems);
  const unknown = spans[2 * UNKNOWN]!;
  if (unknown !== -1) {
    problems.push(`${shown(bytes, unknown, spans[2 * UNKNOWN + 1]!)} is no field of a Pet`);
  }
  if (problems.length > 0) throw new InvalidPetError(problems.join('; '));
  return { pet: encodePet(BigInt(id), tail), id: BigInt(id), status, end };
}

const PET_FIELDS: readonly Buffer[] = ['id', 'name', 'categoryId', 'status'].map((name) =>
  Buffer.from(name),
);
const [ID, NAME, CATEGORY_ID, STATUS, UNKNOWN] = [0, 1, 2, 3, 4] as const;
const SPANS_LENGTH: number = 2 * (PET_FIELDS.length + 1);

/** Encodes what `spans` found, and adds a sentence to `problems` for each field at fault. */
function encodeFields(bytes: Buffer, spans: Int32Array, problems: string[]): EncodedNewPet {
  const nameStart = spans[2 * NAME]!;
  const nameEnd = spans[2 * NAME + 1]!;
  if (nameStart === -1) problems.push('name is required');
  else if (bytes[nameStart] !== QUOTE) {
    problems.push(`name must be a string, not ${shown(bytes, nameStart, nameEnd)}`);
  }
  const categoryStart = spans[2 * CATEGORY_ID]!;
  const categoryEnd = spans[2 * CATEGORY_ID + 1]!;
  const categoryId = readInteger(bytes, 'categoryId', categoryStart, categoryEnd, problems);
  const status = readStatus(bytes, spans[2 * STATUS]!, spans[2 * STATUS + 1]!, problems);

  const name = bytesToString(bytes, nameStart, nameEnd);
  const statusField = status === undefined ? '' : `,"status":"${status}"`;
  const tail = `,"name":${name},"categoryId":${categoryId}${statusField}}`;
  return { tail: tail as ByteString, status };
}

function readInteger(
  bytes: Buffer,
  field: string,
  start: number,
  end: number,
  problems: string[],
): string | undefined {
  if (start === -1) {
    problems.push(`${field} is required`);
    return undefined;
  }
  const literal = bytes.toString('latin1', start, end);
  const digits = PLAIN_INTEGER.test(literal) ? literal : int64FromLiteral(literal)?.toString();
  if (digits === undefined) {
    problems.push(`${field} must be an integer of 64 bits, not ${shown(bytes, start, end)}`);
  }
  return digits;
}

/** Already in plain digits, and short enough to be an int64 for certain. */
const PLAIN_INTEGER: RegExp = /^(?:0|-?[1-9][0-9]{0,17})$/;

function readStatus(
  bytes: Buffer,
  start: number,
  end: number,
  problems: string[],
): PetStatus | undefined {
  if (start === -1) return undefined;
  const status = bytes[start] === QUOTE ? decodeString(bytes, start, end) : '';
  if (isPetStatus(status)) return status;
  problems.push(
    `status must be one of ${PET_STATUSES.join(', ')}, not ${shown(bytes, start, end)}`,
  );
  return undefined;
}

/** The value as it stands in the text, cut short where it is long. */
function shown(bytes: Buffer, start: number, end: number): string {
  return cut(bytes.toString('utf8', start, end));
}
