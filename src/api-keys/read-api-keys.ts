/**
 * Where the API keys come from: a variable and a file. No message quotes a key.
 *
 * A line of the file is `[NAME: ]KEY[ read-metrics]`, a comment after `#`, or blank. A name ends in
 * a colon and a blank, so a line without a blank is a key as a whole, colons and all. The file is
 * read again on SIGHUP while the service works, so whatever is in its place (a pipe, a device,
 * gigabytes) must end in a message, soon, and leave the old keys in force.
 */

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/log.ts';
import {
  apiKeyProblem,
  duplicateProblems,
  keyNameProblem,
  MAX_API_KEYS,
  type ApiKeyOption,
  type LocatedKey,
} from './api-key.ts';

export interface ApiKeySource {
  /** Those of the environment. */
  readonly fixed: readonly string[];
  /** A file with more of them. */
  readonly file: string | undefined;
}

export type ReadTextFile = (path: string) => Promise<string>;

/** All keys of a source; what is wrong with it is added to `mistakes`. */
export async function readApiKeys(
  { fixed, file }: ApiKeySource,
  readTextFile: ReadTextFile,
  mistakes: string[],
): Promise<readonly ApiKeyOption[]> {
  const keys: LocatedKey[] = fixed
    .map((option, index) => ({ option, where: `PETSTORE_API_KEYS, key ${index + 1}` }))
    .filter(({ option }) => apiKeyProblem(option) === undefined);
  if (file !== undefined) {
    try {
      keys.push(...parseKeysFile(await readTextFile(file), mistakes));
    } catch (error) {
      // Without the path: it may be a key that was given in the wrong place.
      const cause = messageOf(error).replace(`, open '${file}'`, '');
      mistakes.push(`The API keys file cannot be read: ${cause}`);
    }
  }
  if (keys.length > MAX_API_KEYS) {
    mistakes.push(`There are ${keys.length} API keys, and at most ${MAX_API_KEYS} are taken`);
  } else {
    mistakes.push(...duplicateProblems(keys).slice(0, MAX_TOLD_LINES));
  }
  return keys.map(({ option }) => option);
}

/** The keys in a text that separates them with commas. */
export function parseKeyList(name: string, text: string, mistakes: string[]): readonly string[] {
  if (text === '') return [];
  const keys = text.split(',').map((key) => key.trim());
  for (const [index, key] of keys.entries()) {
    const problem = apiKeyProblem(key);
    if (problem !== undefined) mistakes.push(`${name}, key ${index + 1}: ${problem}`);
  }
  return keys;
}

const MAX_FILE_BYTES: number = 1 << 20;
const MAX_FILE_MS = 5000;
const PIPE_PAUSE_MS = 20;

/** The text of a file or a pipe, up to 1 MiB and within 5 s. Rejects for anything else. */
export async function readApiKeysFile(path: string): Promise<string> {
  // Without O_NONBLOCK, which Windows has not, to open a pipe waits for somebody to write to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const isFile = (await file.stat()).isFile();
    const endsAt = performance.now() + MAX_FILE_MS;
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (;;) {
      const read = await file.read(bytes, length).then(
        ({ bytesRead }) => bytesRead,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EAGAIN') throw error;
          return undefined;
        },
      );
      length += read ?? 0;
      if (length > MAX_FILE_BYTES) throw new Error(`it is longer than ${MAX_FILE_BYTES} bytes`);
      // A pipe that nobody writes to yet is at its end, too.
      if (read === 0 && (isFile || length > 0)) return bytes.toString('utf8', 0, length);
      if (performance.now() > endsAt)
        throw new Error(`its end did not come within ${MAX_FILE_MS} ms`);
      if (!isFile && !read) await sleep(PIPE_PAUSE_MS);
    }
  } finally {
    await file.close();
  }
}

const MAX_TOLD_LINES = 20;

function parseKeysFile(text: string, mistakes: string[]): readonly LocatedKey[] {
  const keys: LocatedKey[] = [];
  let faults = 0;
  for (const [index, untrimmed] of text.split('\n').entries()) {
    const line = untrimmed.trim();
    if (line === '' || line.startsWith('#')) continue;
    const where = `The API keys file, line ${index + 1}`;
    const parsed = parseLine(line);
    if ('option' in parsed) keys.push({ option: parsed.option, where });
    else if (++faults <= MAX_TOLD_LINES) mistakes.push(`${where}: ${parsed.problem}`);
  }
  if (faults > MAX_TOLD_LINES) {
    mistakes.push(`The API keys file: ${faults - MAX_TOLD_LINES} more lines are no keys`);
  }
  if (keys.length === 0) mistakes.push(`The API keys file holds no valid key`);
  return keys;
}

type ParsedLine = { readonly option: ApiKeyOption } | { readonly problem: string };

function parseLine(line: string): ParsedLine {
  const words = line.split(/[ \t]+/);
  // A digest with a blank in it would be a key with the name sha256.
  const hasName = words.length > 1 && words[0]!.endsWith(':');
  const name = hasName ? words.shift()!.slice(0, -1) : undefined;
  const [key = '', right, ...others] = words;
  if (others.length > 0 || (right !== undefined && right !== READ_METRICS)) {
    return {
      problem: `expected [NAME: ]KEY[ ${READ_METRICS}], with blanks only between the parts`,
    };
  }
  const problem = (hasName ? keyNameProblem(name!) : undefined) ?? apiKeyProblem(key);
  const inFile = problem ?? lineProblem(key, hasName);
  if (inFile !== undefined) return { problem: inFile };
  if (name === undefined && right === undefined) return { option: key };
  return { option: { key, name, only: right === undefined ? undefined : 'metrics' } };
}

const READ_METRICS = 'read-metrics';

/**
 * In a file, what looks like a digest is not taken for a key, since digests are no secrets. Nor is,
 * after a name, what looks like a comment or a right without its key.
 */
function lineProblem(key: string, hasName: boolean): string | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(key)) return LIKE_A_DIGEST;
  const isMissing = hasName && (key === READ_METRICS || key.startsWith('#'));
  return isMissing ? 'the key after the name is missing' : undefined;
}

const LIKE_A_DIGEST =
  '64 hex digits look like a digest: write sha256: before them, or give the digest of this key';
