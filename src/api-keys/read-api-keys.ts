/**
 * Reads the API keys from a variable and a file. No message quotes a key.
 *
 * A line of the file is `[NAME: ]KEY[ read-metrics]`, empty, or a comment that begins with `#`. A
 * name ends with a colon and a space, so a line without a space is a key, even with colons. On
 * SIGHUP the running service reads the file again. If the path is a pipe, a device or a huge file,
 * the read must soon end with a message, and leave the old keys in force.
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
  type NamedApiKey,
} from './api-key.ts';

export interface ApiKeySource {
  /** Keys, separated by commas: the environment variable. */
  readonly list: string | undefined;
  /** A file with more keys. */
  readonly file: string | undefined;
}

export type ReadTextFile = (path: string) => Promise<string>;

/** Resolves with all keys of a source. Adds its errors to `mistakes`. */
export async function readApiKeys(
  { list, file }: ApiKeySource,
  readTextFile: ReadTextFile,
  mistakes: string[],
): Promise<readonly ApiKeyOption[]> {
  const keys: LocatedKey[] = [];
  for (const [index, text] of list?.split(',').entries() ?? []) {
    const option = text.trim();
    const where = `PETSTORE_API_KEYS, key ${index + 1}`;
    const problem = apiKeyProblem(option);
    if (problem === undefined) keys.push({ option, where });
    else mistakes.push(`${where}: ${problem}`);
  }
  if (file !== undefined) {
    try {
      keys.push(...parseKeysFile(await readTextFile(file), mistakes));
    } catch (error) {
      // The path is omitted, because it may be a misplaced key.
      const cause = messageOf(error).replace(`, open '${file}'`, '');
      mistakes.push(`The API keys file cannot be read: ${cause}`);
    }
  }
  if (keys.length > MAX_API_KEYS) {
    mistakes.push(`There are ${keys.length} API keys, and at most ${MAX_API_KEYS} are allowed`);
  } else {
    mistakes.push(...duplicateProblems(keys).slice(0, MAX_TOLD_LINES));
  }
  return keys.map(({ option }) => option);
}

const MAX_FILE_BYTES: number = 1 << 20;
const MAX_FILE_MS = 5000;
const PIPE_PAUSE_MS = 20;

/** Resolves with the text of a file or a pipe. Rejects if it exceeds 1 MiB or takes over 5 s. */
export async function readApiKeysFile(path: string): Promise<string> {
  // Without O_NONBLOCK, the open of a pipe waits for a writer. Windows has neither O_NONBLOCK nor
  // such pipes.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await file.stat();
    const [isFile, isPipe] = [stat.isFile(), stat.isFIFO()];
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
      // A read of 0 bytes from a pipe may mean that its writer has not come yet, so wait.
      if (read === 0 && (!isPipe || length > 0)) return bytes.toString('utf8', 0, length);
      if (performance.now() > endsAt) throw new Error(`it did not end within ${MAX_FILE_MS} ms`);
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
    const parsed = lacksKey(untrimmed) ? MISSING_KEY : parseLine(line);
    if (typeof parsed !== 'string') keys.push({ option: parsed, where });
    else if (++faults <= MAX_TOLD_LINES) mistakes.push(`${where}: ${parsed}`);
  }
  if (faults > MAX_TOLD_LINES) {
    mistakes.push(`The API keys file: ${faults - MAX_TOLD_LINES} more lines are not valid keys`);
  }
  if (keys.length === 0) mistakes.push(`The API keys file holds no valid key`);
  return keys;
}

/** Returns the key of a line, or what is wrong with the line. */
function parseLine(line: string): NamedApiKey | string {
  const words = line.split(/[ \t]+/);
  const hasName = words.length > 1 && words[0]!.endsWith(':');
  const name = hasName ? words.shift()!.slice(0, -1) : undefined;
  const [key = '', right, ...others] = words;
  if (others.length > 0 || (right !== undefined && right !== READ_METRICS)) {
    return `expected [NAME: ]KEY[ ${READ_METRICS}], with spaces only between the parts`;
  }
  const problem = name === undefined ? undefined : keyNameProblem(name);
  return (
    problem ??
    apiKeyProblem(key) ??
    lineProblem(key, hasName) ?? { key, name, only: right === undefined ? undefined : 'metrics' }
  );
}

const READ_METRICS = 'read-metrics';
const MISSING_KEY = 'the key is missing';

/**
 * True for `NAME: ` and ` read-metrics`: what a script writes whose variable for the key is empty.
 * Trimmed, they would be keys that anybody can guess. A line that lacks the space itself is a key.
 */
function lacksKey(untrimmed: string): boolean {
  return /^\s*\S+:[ \t]+\r?$/.test(untrimmed) || /^[ \t]+read-metrics\s*$/.test(untrimmed);
}

/**
 * Returns why a valid key is refused in a file: it looks like a digest, which is not a secret; or a
 * name comes before it, and it is `read-metrics` or looks like a comment, so the key is missing.
 */
function lineProblem(key: string, hasName: boolean): string | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(key)) return LIKE_A_DIGEST;
  const isMissing = hasName && (key === READ_METRICS || key.startsWith('#'));
  return isMissing ? MISSING_KEY : undefined;
}

const LIKE_A_DIGEST =
  '64 hex digits look like a digest: write sha256: before them, or give the digest of this key';
