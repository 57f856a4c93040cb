/**
 * Reads a data file: one in the form of format.ts, which may be torn or damaged, or any other JSON
 * array of pets.
 *
 * A file in our form is read in one go. Its lines are scanned, its CRC is computed beside them and
 * compared with the last mark only: that proves everything. If it does not fit, each mark is
 * compared. What the first of them prove is the content. What follows is torn, if a crash may have
 * left it, and dropped; else it is damage, and the file is refused.
 */

import { isUtf8 } from 'node:buffer';
import zlib from 'node:zlib';
import type { Clock, Memory } from '../base/system.ts';
import { InvalidPetError, parsePets } from '../pets/pet-text.ts';
import { IdempotencyKeys, KEY_LIFETIME_MS } from './idempotency-keys.ts';
import { PetTable } from './pet-table.ts';
import type { Tables } from './tables.ts';
import { readAll, type DiskFile } from './disk.ts';
import {
  blanksOf,
  crcOfMark,
  FILE_END,
  FIRST_LINE_BYTES,
  MARK_LINE_BYTES,
  MAX_COMMIT_BYTES,
  chainAtStart,
  wordOf,
  type Chain,
  type Word,
} from './format.ts';
import {
  FILE_MEMBERS,
  findCommits,
  type FoundCommits,
  MAX_LINE_BYTES,
  PetReader,
  readItems,
  type Range,
} from './read-lines.ts';
import { isTornCommit } from './torn-commit.ts';

/** What a data file has. */
export type DataFileContent = Tables & (CommittedContent | { readonly form: 'array' });

export interface CommittedContent {
  readonly form: 'commits';
  readonly word: Word;
  readonly chain: Chain;
  /** Where the last commit begins. */
  readonly lastCommitAt: number;
  /** What follows it: all of the closing bracket and the line feeds, a part, or a torn commit. */
  readonly end: 'whole' | 'incomplete' | 'torn';
  readonly sizeBytes: number;
}

export interface ReadDeps {
  readonly memory: Memory;
  readonly clock: Pick<Clock, 'now'>;
  /** True if the pets of an array may lack ids, and get some. */
  readonly givesIds?: boolean;
}

/** A file is not what the store wrote. The store refuses it, and does not change it. */
export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';

  constructor(path: string, damage: string, advice: string) {
    super(`${path} is damaged: ${damage}. It was left as it is. ${advice}`);
  }
}

const BY_HAND =
  'If it was edited by hand, remove the 32 blanks behind the opening bracket: then it is read as ' +
  'an array of pets';
const RESTORE = 'Put it back from a backup, or move it away to start without pets';

/** Rejects with DamagedFileError, or with an Error that says what is wrong with the pets. */
export async function readDataFile(
  path: string,
  file: DiskFile,
  deps: ReadDeps,
): Promise<DataFileContent> {
  const source = { path, file, deps, sizeBytes: file.stat().sizeBytes };
  const start = await bytesOf(source, { start: 0, end: FIRST_LINE_BYTES });
  if (!isFirstLine(start)) return readArray(source, start);
  const word = wordOf(start);
  if (word !== undefined) return readCommits(source, word);
  throw new DamagedFileError(path, 'the blanks of its first line were changed', BY_HAND);
}

/** A file, and what it takes to read it. */
interface Source {
  readonly path: string;
  readonly file: DiskFile;
  readonly deps: ReadDeps;
  readonly sizeBytes: number;
}

/** Resolves with a part of the file, as far as the file has it. */
async function bytesOf({ file, deps, sizeBytes }: Source, { start, end }: Range): Promise<Buffer> {
  const bytes = deps.memory.bytes(Math.max(0, Math.min(end, sizeBytes) - start));
  await readAll(file, bytes, start);
  return bytes;
}

/* A file in our form. */

function isFirstLine(start: Buffer): boolean {
  return /^\[[ \t]{32}\n$/.test(start.toString('latin1'));
}

async function readCommits(source: Source, word: Word): Promise<DataFileContent> {
  const { path, file, deps, sizeBytes } = source;
  const form = 'commits' as const;
  if (sizeBytes < FIRST_LINE_BYTES + FILE_END.length) throw wasCut(path);
  const { isProven, unread, ...whole } = await readLines(file, deps, sizeBytes);
  if (isProven && unread.atEnd && unread.bytes.equals(FILE_END)) {
    return { ...whole, form, word, end: 'whole', sizeBytes };
  }
  const range = { start: FIRST_LINE_BYTES, end: sizeBytes };
  const commits = await findCommits(file, range, deps.memory);
  const failed = commits.findIndex((commit) => !commit.isProven);
  const proven = failed === -1 ? commits : commits.slice(0, failed);
  const provenEnd = proven.at(-1)?.end ?? FIRST_LINE_BYTES;
  const content = await readLines(withLineFeed(file, provenEnd), deps, provenEnd);
  const { pets, keys, chain, lastCommitAt } = content;
  const end = await judgeEnd(source, provenEnd, pets.lastId);
  if (end !== undefined && word !== 'clean' && chain.end === provenEnd) {
    return { pets, keys, chain, lastCommitAt, form, word, end, sizeBytes };
  }
  const linesOf = (some: readonly FoundCommits[]): number =>
    some.reduce((sum, { lines }) => sum + lines, 0);
  const later = commits.filter((commit) => commit.isProven && commit.start >= provenEnd);
  throw new DamagedFileError(
    path,
    `what begins in line ${2 + linesOf(proven)}, at byte ${provenEnd}, is not as it was written`,
    `${linesOf(proven)} pets before it are proven, and ${linesOf(later)} after it: the command ` +
      `import --intact takes them out. ${BY_HAND}`,
  );
}

/** Reads lines from behind the first one on, up to the end or to bytes that are no line. */
async function readLines(file: Pick<DiskFile, 'read'>, deps: ReadDeps, end: number) {
  const { tables, reader } = startReading(deps);
  reader.markedEnd = FIRST_LINE_BYTES;
  let { crc, mark } = chainAtStart();
  const range = { start: FIRST_LINE_BYTES, end };
  const read = (bytes: Buffer, position: number): number => {
    const used = reader.readCommitted(bytes, position);
    crc = zlib.crc32(bytes.subarray(0, used), crc);
    if (used > 0) mark = Buffer.from(bytes.subarray(used - MARK_LINE_BYTES, used));
    return used;
  };
  const unread = await readItems(file, range, deps.memory, MAX_LINE_BYTES, read);
  const chain = { end: unread.position, crc, mark };
  const { lastCommitAt, markedEnd } = reader;
  const said = crcOfMark(mark);
  const isChained = said !== -1 && zlib.crc32(mark, said) === crc;
  const isProven = markedEnd === chain.end && (isChained || chain.end === FIRST_LINE_BYTES);
  return { ...tables, chain, lastCommitAt, isProven, unread };
}

/** The file up to an end behind a line, of which it may lack the line feed. */
function withLineFeed(file: DiskFile, end: number): Pick<DiskFile, 'read'> {
  return {
    async read(bytes, offset, length, position) {
      if (position < end - 1) {
        return file.read(bytes, offset, Math.min(length, end - 1 - position), position);
      }
      bytes.write('\n', offset);
      return 1;
    },
  };
}

/** Returns what follows the last proven commit, or undefined if a crash cannot have left it. */
async function judgeEnd(
  source: Source,
  provenEnd: number,
  lastId: bigint,
): Promise<'incomplete' | 'torn' | undefined> {
  if (source.sizeBytes - provenEnd > MAX_COMMIT_BYTES) return undefined;
  const rest = await bytesOf(source, { start: provenEnd - 1, end: source.sizeBytes });
  const isPart = rest.every((byte, at) => byte === 0 || byte === PROVEN_END[at]);
  if (isPart && rest.length <= PROVEN_END.length) return 'incomplete';
  const isTorn = rest[0] === PROVEN_END[0] && isTornCommit(rest.subarray(1), provenEnd, lastId);
  return isTorn ? 'torn' : undefined;
}

/** What follows the last mark of a whole file. */
const PROVEN_END: Buffer = Buffer.concat([Buffer.from('\n'), FILE_END]);

/**
 * Reads the pets of each commit that its mark proves, also of those behind a damage. Calls `onGap`
 * with each part of the file that is left out.
 */
export async function readProvenCommits(
  path: string,
  file: DiskFile,
  deps: ReadDeps,
  onGap: (gap: Range) => void,
): Promise<Tables> {
  const source = { path, file, deps, sizeBytes: file.stat().sizeBytes };
  if (!isFirstLine(await bytesOf(source, { start: 0, end: FIRST_LINE_BYTES }))) {
    throw new Error(`${path} has no marks, which could prove its pets`);
  }
  const { tables, reader } = startReading(deps);
  const range = { start: FIRST_LINE_BYTES, end: source.sizeBytes };
  const proven = (await findCommits(file, range, deps.memory)).filter(({ isProven }) => isProven);
  let position = FIRST_LINE_BYTES;
  for (const { start, end } of proven) {
    const lines = withLineFeed(file, end);
    const unread = await readItems(lines, { start, end }, deps.memory, MAX_LINE_BYTES, (...part) =>
      reader.readCommitted(...part),
    );
    if (start > position) onGap({ start: position, end: start });
    // Proven lines that are no pets with ascending ids were put there by another program.
    if (unread.position < end) onGap({ start: unread.position, end });
    position = end;
  }
  const end = source.sizeBytes - FILE_END.length;
  if (end > position) onGap({ start: position, end });
  return tables;
}

/* Any other JSON array. */

/** How many bytes a file in another layout may have: they become one string. */
const MAX_OTHER_BYTES: number = 256 << 20;
const MAX_MISTAKES = 20;

/**
 * Reads an array of pets: by its lines, of any number, if it has one pet a line and a comma at the
 * beginning or the end of a line; else as one text.
 */
async function readArray(source: Source, start: Buffer): Promise<DataFileContent> {
  const { path, file, deps, sizeBytes } = source;
  if (start.length === 0) throw wasCut(path);
  if (!/^[ \t\r\n]*(\[|$)/.test(start.toString('latin1'))) {
    throw new Error(
      `${path} is not a petstore data file, which is a JSON array of pets in UTF-8 without a ` +
        'byte order mark. It was left as it is. Name another file, or put it back from a backup',
    );
  }
  const { tables, reader } = startReading(deps);
  let crc = 0;
  const read = (bytes: Buffer, position: number): number => {
    const isStart = position === 0;
    const used = isStart ? openingOf(bytes) : reader.readLines(bytes);
    assertUtf8(path, bytes.subarray(0, used), position);
    crc = zlib.crc32(bytes.subarray(0, used), crc);
    return used;
  };
  let unread = await readItems(
    file,
    { start: 0, end: sizeBytes },
    deps.memory,
    MAX_LINE_BYTES,
    read,
  );
  const isEnd = /^[ \t\r\n]*\][ \t\r\n]*$/.test(unread.bytes.toString('latin1'));
  const isCommaOpen = tables.pets.length > 0 && !reader.needsComma;
  if (unread.position === 0 || !unread.atEnd || !isEnd || isCommaOpen) {
    const bytes = await readOther(source, reader, tables.pets.length, unread.position);
    unread = { bytes, position: 0, atEnd: true };
    crc = 0;
  }
  assertOldChecksum(path, unread.bytes, crc);
  return { ...tables, form: 'array' };
}

/** Returns the length of a line with nothing but the opening bracket, or 0. */
function openingOf(bytes: Buffer): number {
  return /^[ \t\r\n]*\[[ \t\r]*\n/.exec(bytes.toString('latin1'))?.[0].length ?? 0;
}

/**
 * Reads a file in another layout, of which `known` pets were read already, up to the position.
 * Rejects with all that is wrong.
 */
async function readOther(
  source: Source,
  reader: PetReader,
  known: number,
  position: number,
): Promise<Buffer> {
  const { path, sizeBytes } = source;
  if (sizeBytes > MAX_OTHER_BYTES) {
    const damage = `byte ${position} begins no pet in a line of its own, and the file has more than ${MAX_OTHER_BYTES} bytes`;
    throw new DamagedFileError(path, damage, RESTORE);
  }
  const bytes = await bytesOf(source, { start: 0, end: sizeBytes });
  assertUtf8(path, bytes, 0);
  const { givesIds } = source.deps;
  const mistakes = mistakesIn(bytes.toString(), reader, known, givesIds);
  if (mistakes.length === 0) return bytes;
  const more = mistakes.length - MAX_MISTAKES;
  const shown = more > 0 ? [...mistakes.slice(0, MAX_MISTAKES), `and ${more} more`] : mistakes;
  throw new Error(`${path} is not a list of pets. It was left as it is:\n  ${shown.join('\n  ')}`);
}

/** Adds the pets of an array, of which the first are known. Returns all that is wrong. */
function mistakesIn(text: string, reader: PetReader, known: number, givesIds?: boolean): string[] {
  try {
    return parsePets(text, FILE_MEMBERS, givesIds)
      .slice(known)
      .flatMap((pet, index) => {
        const mistake = reader.append(pet);
        return mistake === undefined ? [] : `pet ${known + index + 1}: ${mistake}`;
      });
  } catch (error) {
    if (error instanceof SyntaxError) return [`it is not valid JSON: ${error.message}`];
    if (error instanceof InvalidPetError) return [error.message];
    throw error;
  }
}

/** Release 2 wrote the CRC of the array as 32 blanks behind it: throws if it does not fit. */
function assertOldChecksum(path: string, bytes: Buffer, crcBefore: number): void {
  const end = bytes.lastIndexOf(']') + 1;
  const after = bytes.toString('latin1', end);
  // An editor leaves no such blanks behind a bracket.
  if (!/\t| {8}/.test(after)) return;
  if (after === `\n${blanksOf(zlib.crc32(bytes.subarray(0, end), crcBefore))}\n`) return;
  throw new DamagedFileError(
    path,
    'its content does not match the checksum behind its closing bracket',
    'If it was changed on purpose, remove the blanks behind the closing bracket',
  );
}

/** Throws DamagedFileError if the bytes, which are at this position of the file, are not UTF-8. */
function assertUtf8(path: string, bytes: Buffer, position: number): void {
  if (isUtf8(bytes)) return;
  // Decoding replaces each broken character with U+FFFD, so the first difference is the error.
  const decoded = Buffer.from(bytes.toString('utf8'));
  let offset = 0;
  while (bytes[offset] === decoded[offset]) offset += 1;
  // U+FFFD may begin with the same bytes as the broken character.
  while (!isUtf8(bytes.subarray(0, offset))) offset -= 1;
  throw new DamagedFileError(path, `byte ${position + offset} is not UTF-8`, RESTORE);
}

function wasCut(path: string): DamagedFileError {
  return new DamagedFileError(path, 'it was cut, or a copy failed', RESTORE);
}

export function emptyTables({ memory, clock }: ReadDeps): Tables {
  return { pets: new PetTable(memory), keys: new IdempotencyKeys(clock) };
}

function startReading(deps: ReadDeps): { readonly tables: Tables; readonly reader: PetReader } {
  const tables = emptyTables(deps);
  return { tables, reader: new PetReader(tables, deps.clock.now() + KEY_LIFETIME_MS) };
}
