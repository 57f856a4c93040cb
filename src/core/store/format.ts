/**
 * The data file as text: one JSON array, to whose end each commit is written.
 *
 *     [··32 blanks··␊                                       the first line: its word
 *     {"id":1,"name":"Rex","categoryId":7}··32 blanks··␊    a commit of one pet
 *     ,{"id":2,"name":"Tom","categoryId":7}␊                a commit of two pets
 *     ,{"id":3,"name":"Kit","categoryId":1,"idempotencyKey":"<32 hex digits>"}··32 blanks··␊
 *     ]␊
 *
 * A mark ends each commit: 32 spaces and tabs, which every JSON reader skips. They are the bits of
 * a CRC-32, the highest first, a tab for 1. It covers all bytes from behind the first line up to
 * the mark, earlier marks included. So the last mark proves everything before it, and each commit
 * can be proven by itself from the mark before it. Any 32 blanks at the end of a line are a mark,
 * since no pet's text ends in blanks. The blanks of the first line are outside the chain: they are
 * one of three words.
 *
 * A line has the pet as it is sent, and as a last member, which is never sent, the hash of the
 * idempotency key with which it was created. So a key is durable with its pet, or neither is.
 */

import zlib from 'node:zlib';
import { systemMemory } from '../base/system.ts';
import { PET_SEPARATOR } from '../pets/pet-text.ts';
import type { KeyHash } from './idempotency-keys.ts';
import type { Tables } from './tables.ts';

/** 32 bits as blanks. */
const MARK_BYTES = 32;
/** A mark and the line feed behind it. */
export const MARK_LINE_BYTES: number = MARK_BYTES + 1;
/** The opening bracket, its blanks and a line feed. */
export const FIRST_LINE_BYTES: number = 1 + MARK_LINE_BYTES;
/** What follows the last commit, and is overwritten by the next one. */
export const FILE_END: Buffer = Buffer.from(']\n');
/** Between a pet and the member that only the data file has. */
export const KEY_MEMBER = ',"idempotencyKey":"';
const KEY_BYTES: number = KEY_MEMBER.length + '0123456789abcdef0123456789abcdef"'.length;
/**
 * As an expression, how a whole pet ends. No name contains it, since a quote there is escaped. It
 * also accepts values that no pet has, such as another status.
 */
export const LINE_END: string = String.raw`,"categoryId":-?\d+(?:,"status":"[a-z]+")?(?:${KEY_MEMBER}\w+")?\}`;

/** No commit is longer, whatever the settings: a full one, one more of the longest pets, a mark. */
export const MAX_COMMIT_BYTES: number = 24 << 20;
/** A commit takes pets until it has so many bytes. */
export const FULL_COMMIT_BYTES: number = 16 << 20;
/** What a line has at most beside the pet's members: a comma, an id, a key, a mark. */
export const LINE_EXTRA_BYTES = 128;

/** In a file that is written from memory. A damaged byte takes the pets of its commit with it. */
const MAX_BATCH_PETS = 64;
const MAX_BATCH_BYTES: number = 1 << 20;

/**
 * What the first line says. A file is in use from a start to a clean stop: only then may its end be
 * torn. After a sync that failed at a start, it says so to the next start, which must not believe
 * the content before it is written anew: the system may report a second sync as a success. To write
 * the last commit again is not enough then: the file may be a copy of which no byte was synced.
 */
export type Word = 'in use' | 'clean' | 'not synced';

const WORDS: readonly Word[] = ['in use', 'clean', 'not synced'];

/** Returns the first line of a file. */
export function firstLine(word: Word): Buffer {
  return Buffer.from(`[${blanksOf(zlib.crc32(word))}\n`);
}

/** Returns the word of a first line, or undefined for a line with other blanks. */
export function wordOf(line: Buffer): Word | undefined {
  return WORDS.find((word) => firstLine(word).equals(line));
}

/** Where a file continues. */
export interface Chain {
  /** Behind the last commit: there the closing bracket is. */
  readonly end: number;
  /** The CRC-32 of all bytes from behind the first line to there. */
  readonly crc: number;
  /** The bytes before `end`: a mark, or the blanks of the first line, and the line feed. */
  readonly mark: Buffer;
}

/** The chain of a file without a commit, which is in use. */
export function chainAtStart(): Chain {
  return { end: FIRST_LINE_BYTES, crc: 0, mark: firstLine('in use').subarray(1) };
}

/** Returns the text of a pet's line, without what is before and after it. */
export function lineOf(text: string, key: KeyHash | undefined): string {
  return key === undefined ? text : `${text.slice(0, -1)}${KEY_MEMBER}${key}"}`;
}

/**
 * Returns the commit with these lines, which are joined by `\n,`, behind this chain: with its mark,
 * and the file's end behind it. `next` is the chain that ends with it.
 */
export function encodeCommit(
  lines: string,
  { end, crc }: Chain,
): { readonly bytes: Buffer; readonly next: Chain } {
  const text = end === FIRST_LINE_BYTES ? lines : `,${lines}`;
  const length = Buffer.byteLength(text);
  const bytes = systemMemory.bytes(length + MARK_LINE_BYTES + FILE_END.length);
  bytes.write(text);
  const proof = zlib.crc32(bytes.subarray(0, length), crc);
  bytes.write(`${blanksOf(proof)}\n`, length, 'latin1');
  FILE_END.copy(bytes, length + MARK_LINE_BYTES);
  const mark = Buffer.from(bytes.subarray(length, length + MARK_LINE_BYTES));
  const next = { end: end + length + MARK_LINE_BYTES, crc: zlib.crc32(mark, proof), mark };
  return { bytes, next };
}

/** Returns the CRC that a mark says, or -1 if it has anything else than spaces and tabs. */
export function crcOfMark(mark: Buffer): number {
  let bits = 0;
  for (let at = 0; at < MARK_BYTES; at += 1) {
    if (mark[at] !== SPACE && mark[at] !== TAB) return -1;
    bits = bits * 2 + Number(mark[at] === TAB);
  }
  return bits;
}

const SPACE = 0x20;
const TAB = 0x09;

/** 32 bits as blanks, the highest first: a tab for 1. */
export function blanksOf(bits: number): string {
  return bits.toString(2).padStart(MARK_BYTES, '0').replaceAll('0', ' ').replaceAll('1', '\t');
}

/** How many bytes a file with all pets and the lines of a doubt takes at most. */
export function bytesOfFile({ pets, keys }: Tables, doubt = ''): number {
  const marks = 1 + pets.length / MAX_BATCH_PETS + pets.textBytes / MAX_BATCH_BYTES;
  const textBytes = pets.textBytes + Buffer.byteLength(doubt);
  return Math.ceil(textBytes + keys.length * KEY_BYTES + (2 + marks) * LINE_EXTRA_BYTES);
}

/**
 * Writes a file with all pets, and with the keys that have not expired, through `append`. `doubt`
 * has the lines of a commit that follows them, by itself. Resolves with the chain of both.
 */
export async function writeFile(
  { pets, keys }: Tables,
  word: Word,
  append: (bytes: Buffer) => Promise<void>,
  doubt?: string,
): Promise<Chain> {
  let chain = chainAtStart();
  const write = async (lines: string): Promise<void> => {
    const { bytes, next } = encodeCommit(lines, chain);
    await append(bytes.subarray(0, -FILE_END.length));
    chain = next;
  };
  await append(firstLine(word));
  const entries = keys.entries();
  let entry = entries.next().value;
  for (const { text, lastId } of pets.batches(MAX_BATCH_PETS, MAX_BATCH_BYTES)) {
    const keyOf = new Map<string, KeyHash>();
    for (; entry !== undefined && entry.id <= lastId; entry = entries.next().value) {
      keyOf.set(String(entry.id), entry.key);
    }
    const lines = text.split(PET_SEPARATOR);
    await write(lines.map((line) => lineOf(line, keyOf.get(idOf(line)))).join('\n,'));
  }
  if (doubt !== undefined) await write(doubt);
  await append(FILE_END);
  return chain;
}

function idOf(text: string): string {
  return text.slice('{"id":'.length, text.indexOf(','));
}
