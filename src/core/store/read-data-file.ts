/**
 * Reads a data file: one in the form of format.ts, which may be torn or damaged, or any other JSON
 * array of pets (read-array.ts).
 *
 * The pets of a commit are taken only after its mark has proven it. For example, a window of 64 KiB
 * has 600 commits of one pet. Its last mark is compared first: if it fits, it proves all of them by
 * one CRC. If it does not, each commit is compared by itself, to the file's end. What the first
 * marks prove is the content. What follows is torn, if a crash may have left it, and dropped; else
 * it is damage, and the file is refused.
 */

import zlib from 'node:zlib';
import { messageOf } from '../base/logger.ts';
import { counted } from '../base/quote.ts';
import { systemMemory } from '../base/system.ts';
import { readAll, readItems, type DiskFile } from './disk.ts';
import {
  chainAtStart,
  crcOfMark,
  FILE_END,
  FIRST_LINE_BYTES,
  KEY_MEMBER,
  LINE_END,
  MARK_LINE_BYTES,
  MAX_COMMIT_BYTES,
  wordOf,
  type Chain,
  type Word,
} from './format.ts';
import { KEY_LIFETIME_MS } from './idempotency-keys.ts';
import { DamagedFileError, readArray, RESTORE, type Source } from './read-array.ts';
import { emptyTables, type Tables, type TablesDeps } from './tables.ts';
import { isTornCommit } from './torn-commit.ts';

/** What a data file has. */
export type DataFileContent = Tables & (CommittedContent | { readonly form: 'array' });

interface CommittedContent {
  readonly form: 'commits';
  readonly word: Word;
  readonly chain: Chain;
  /** Where the last commit begins, or 0. */
  readonly lastCommitAt: number;
  /** What follows it: all of the closing bracket and the line feeds, a part, or a torn commit. */
  readonly end: 'whole' | 'incomplete' | 'torn';
  readonly sizeBytes: number;
}

const BY_HAND =
  'If it was edited by hand, remove the 32 blanks behind the opening bracket: then it is read as ' +
  'an array of pets';
const TAKE_OUT =
  'Or move the file away: the command import --intact takes out of it what its marks prove';

/**
 * Reads a file. With `givesIds`, the pets of an array may lack ids, and get some. Rejects with
 * DamagedFileError, or with an Error that says what is wrong with the pets.
 */
export async function readDataFile(
  path: string,
  file: DiskFile,
  deps: TablesDeps,
  givesIds = false,
): Promise<DataFileContent> {
  const source = { path, file, deps, sizeBytes: file.stat().sizeBytes };
  const start = await bytesOf(source, 0, FIRST_LINE_BYTES);
  const word = wordOf(start);
  if (word !== undefined) return readCommitted(source, word);
  try {
    if (!isFirstLine(start)) {
      return { ...(await readArray(source, start, givesIds)), form: 'array' };
    }
    throw new DamagedFileError(path, 'the blanks of its first line were changed', BY_HAND);
  } catch (error) {
    const { sizeBytes } = source;
    const lastMarkAt = Math.max(0, sizeBytes - MARK_LINE_BYTES - FILE_END.length);
    const isMarked = crcOfMark(await bytesOf(source, lastMarkAt, sizeBytes)) !== -1;
    throw isMarked ? new Error(`${messageOf(error)}. ${TAKE_OUT}`) : error;
  }
}

/** Resolves with a part of the file, as far as the file has it. */
async function bytesOf({ file, sizeBytes }: Source, start: number, end: number): Promise<Buffer> {
  const bytes = systemMemory.bytes(Math.max(0, Math.min(end, sizeBytes) - start));
  await readAll(file, bytes, start);
  return bytes;
}

/**
 * True for a first line, also if one of its blanks was changed into another one of JSON. Release 2
 * wrote 32 blanks, too, into a file without pets, but behind a line feed.
 */
function isFirstLine(start: Buffer): boolean {
  return /^\[(?!\n[ \t]{32}$)[ \t\r\n]{33}$/.test(start.toString('latin1'));
}

async function readCommitted(source: Source, word: Word): Promise<DataFileContent> {
  const { path, sizeBytes } = source;
  if (sizeBytes < FIRST_LINE_BYTES + FILE_END.length) {
    throw new DamagedFileError(path, 'it was cut, or a copy failed', RESTORE);
  }
  const { tables, length, chain, lastCommitAt } = await readProven(source, () => undefined);
  const later = tables.pets.length - length;
  const end = later > 0 ? undefined : await judgeEnd(source, chain.end, tables.pets.lastId);
  if (end === undefined || (word === 'clean' && end !== 'whole')) {
    const proven = length + later;
    const advice =
      'To leave out the rest, move the file away: the command import --intact takes ' +
      `${counted(proven, 'pet')} out of it`;
    throw new DamagedFileError(
      path,
      `what begins in line ${2 + length}, at byte ${chain.end}, is not as it was written`,
      `Proven: ${counted(length, 'pet')} before it, and ${later} after it. ${BY_HAND}` +
        (proven === 0 ? '' : `. ${advice}`),
    );
  }
  return { ...tables, form: 'commits', word, chain, lastCommitAt, end, sizeBytes };
}

/** Returns what follows the last proven commit, or undefined if a crash cannot have left it. */
async function judgeEnd(
  source: Source,
  provenEnd: number,
  lastId: bigint,
): Promise<CommittedContent['end'] | undefined> {
  if (source.sizeBytes - provenEnd > MAX_COMMIT_BYTES) return undefined;
  const rest = await bytesOf(source, provenEnd - 1, source.sizeBytes);
  if (rest.equals(PROVEN_END)) return 'whole';
  const isPart = rest.every((byte, at) => byte === 0 || byte === PROVEN_END[at]);
  if (isPart && rest.length <= PROVEN_END.length) return 'incomplete';
  const isTorn = isTornCommit(rest.subarray(1), provenEnd, lastId);
  return isTorn ? 'torn' : undefined;
}

/** What follows the last mark of a whole file. */
const PROVEN_END: Buffer = Buffer.concat([Buffer.from('\n'), FILE_END]);

/** Called with the beginning and the end of each part of a file that is left out. */
type OnGap = (start: number, end: number) => void;

/** Reads the pets of each commit that its mark proves, also of those behind a damage. */
export async function readProvenCommits(
  path: string,
  file: DiskFile,
  deps: TablesDeps,
  onGap: OnGap,
): Promise<Tables> {
  const { sizeBytes } = file.stat();
  return (await readProven({ path, file, deps, sizeBytes }, onGap)).tables;
}

/** What the marks of a file prove. */
interface Proven {
  readonly tables: Tables;
  /** Up to the first gap: how many pets there are, and where the last commit begins and ends. */
  readonly length: number;
  readonly chain: Chain;
  readonly lastCommitAt: number;
}

async function readProven(source: Source, onGap: OnGap): Promise<Proven> {
  const { deps, sizeBytes } = source;
  const tables = emptyTables(deps);
  const keysEndAt = deps.clock.now() + KEY_LIFETIME_MS;
  let proven: Proven = { tables, length: 0, chain: chainAtStart(), lastCommitAt: 0 };
  let position = FIRST_LINE_BYTES;
  let hasGap = false;
  const skipTo = (end: number): void => {
    if (end > position) {
      hasGap = true;
      onGap(position, end);
    }
    position = end;
  };
  await readCommits(source, (commits) => {
    skipTo(commits.start);
    const { chain } = commits;
    const { end, lastCommitAt } = addPets(tables, keysEndAt, commits);
    position = end;
    skipTo(chain.end);
    if (!hasGap) proven = { tables, length: tables.pets.length, chain, lastCommitAt };
  });
  skipTo(sizeBytes - FILE_END.length);
  return proven;
}

/** A commit, or several that follow each other. */
interface FoundCommits {
  readonly bytes: Buffer;
  /** Their position in the file. */
  readonly start: number;
  /** The chain that ends with them. */
  readonly chain: Chain;
}

/** Calls `take` with all commits of a file that their marks prove, in their order. */
async function readCommits(
  { file, sizeBytes }: Source,
  take: (commits: FoundCommits) => void,
): Promise<void> {
  let { crc } = chainAtStart();
  let endOfMark = endOfLastMark;
  const read = (window: Buffer, position: number): number => {
    for (let start = 0; ;) {
      const end = endOfMark(window, start);
      if (end === undefined) {
        if (start > 0 || window.length < MAX_COMMIT_BYTES) return start;
        // No commit is as long. The mark before the next one may begin at the end of the window.
        return window.length - MARK_LINE_BYTES;
      }
      const mark = Buffer.from(window.subarray(end - MARK_LINE_BYTES, end));
      const said = crcOfMark(mark);
      const isProven = zlib.crc32(window.subarray(start, end - MARK_LINE_BYTES), crc) === said;
      if (!isProven && endOfMark === endOfLastMark) {
        endOfMark = endOfNextMark;
        continue;
      }
      // Behind a damage, a commit is proven from the mark before it.
      crc = zlib.crc32(mark, said);
      const chain = { end: position + end, crc, mark };
      if (isProven) take({ bytes: window.subarray(start, end), start: position + start, chain });
      start = end;
    }
  };
  const end = Math.max(FIRST_LINE_BYTES, sizeBytes);
  const unread = await readItems(file, FIRST_LINE_BYTES, end, read);
  const { bytes, position } = unread;
  const tailAt = Math.max(0, bytes.length - MAX_LINE_END_BYTES);
  const lost = WITHOUT_LINE_FEED.exec(bytes.toString('latin1', tailAt));
  if (lost === null) return;
  const feedAt = tailAt + lost.index + lost[0].length;
  read(Buffer.concat([bytes.subarray(0, feedAt), Buffer.from('\n')]), position);
}

/** Only a mark ends in a blank and a line feed, if the file is not damaged. */
function endOfLastMark(window: Buffer, start: number): number | undefined {
  const end = 2 + Math.max(window.lastIndexOf(' \n'), window.lastIndexOf('\t\n'));
  return end < start + MARK_LINE_BYTES ? undefined : end;
}

function endOfNextMark(window: Buffer, start: number): number | undefined {
  for (let feed = window.indexOf('\n', start); feed !== -1; feed = window.indexOf('\n', feed + 1)) {
    const mark = window.subarray(feed + 1 - MARK_LINE_BYTES, feed);
    const isMark = window[feed - MARK_LINE_BYTES] === CLOSING_BRACE && crcOfMark(mark) !== -1;
    if (isMark && feed - MARK_LINE_BYTES > start) return feed + 1;
  }
  return undefined;
}

/**
 * The last mark may lack its line feed, after a crash. The line must be a whole pet, since a client
 * may have put a brace and blanks into a name.
 */
const WITHOUT_LINE_FEED = new RegExp(String.raw`${LINE_END}[ \t]{32}(?=$|\0[\]\0]?[\n\0]?$)`);
/** It matches at most 150. */
const MAX_LINE_END_BYTES = 256;

/**
 * Adds the pets of commits that are proven, without an object for each. Returns the positions where
 * the last commit begins, and where the pets end: behind them, unless another program has proven
 * lines that are no pets with greater ids.
 */
function addPets(
  { pets, keys }: Tables,
  keysEndAt: number,
  { bytes, start }: FoundCommits,
): { readonly lastCommitAt: number; readonly end: number } {
  // A character for each byte: an index in the text is an offset in the bytes.
  const text = bytes.toString('latin1');
  let at = 0;
  let commitAt = 0;
  let lastCommitAt = 0;
  while (at < text.length) {
    const next = text.indexOf('\n', at) + 1;
    const first = text.charCodeAt(at) === COMMA ? at + 1 : at;
    const isMarked = text.charCodeAt(next - 2) !== CLOSING_BRACE;
    const close = next - 1 - (isMarked ? MARK_LINE_BYTES : 1);
    const idEnd = text.indexOf(',', first);
    const isObject = text.startsWith(ID, first) && text.charCodeAt(close) === CLOSING_BRACE;
    const isPet = isObject && idEnd < close;
    const id = isPet ? idOf(text, first + ID.length, idEnd) : 0n;
    if (id <= pets.lastId) break;
    const keyAt = close - KEY_MEMBER.length - KEY_DIGITS - 1;
    const hasKey = text.startsWith(KEY_MEMBER, keyAt);
    const end = hasKey ? keyAt : close;
    pets.appendBytes(bytes, first, end, id);
    if (hasKey) keys.add(text.slice(close - KEY_DIGITS - 1, close - 1), id, keysEndAt);
    at = next;
    if (isMarked) {
      lastCommitAt = commitAt;
      commitAt = next;
    }
  }
  return { lastCommitAt: start + lastCommitAt, end: start + at };
}

/** Returns the id in a text, or 0. Up to 15 digits are read as a number, in half of the time. */
function idOf(text: string, start: number, end: number): bigint {
  if (end - start > 15) {
    const digits = text.slice(start, end);
    return /^\d+$/.test(digits) ? BigInt(digits) : 0n;
  }
  let id = 0;
  for (let at = start; at < end; at += 1) id = 10 * id + (text.charCodeAt(at) - ZERO);
  return BigInt(id);
}

const ID = '{"id":';
const KEY_DIGITS = 32;
const CLOSING_BRACE = 0x7d;
const COMMA = 0x2c;
const ZERO = 0x30;
