/**
 * The API keys: where they come from, and what is wrong with them. No message quotes a key.
 *
 * A keys file has one key a line, `#` comments, and digests as `sha256:<hex>`. It is read again on
 * SIGHUP while the service works, so whatever is in its place (a pipe, a device, gigabytes) must
 * end in a message, soon, and leave the old keys in force.
 */

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from './base/log.ts';
import { keyProblem, MAX_KEYS } from './http/keyring.ts';

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
): Promise<readonly string[]> {
  const keys = [...fixed];
  if (file !== undefined) {
    try {
      keys.push(...parseKeysFile(await readTextFile(file), mistakes));
    } catch (error) {
      // Without the path: it may be a key that was given in the wrong place.
      const cause = messageOf(error).replace(`, open '${file}'`, '');
      mistakes.push(`The API keys file cannot be read: ${cause}`);
    }
  }
  if (keys.length > MAX_KEYS) {
    mistakes.push(`There are ${keys.length} API keys, and at most ${MAX_KEYS} are taken`);
  }
  return keys;
}

/** The keys in a text that separates them with commas. */
export function parseKeyList(name: string, text: string, mistakes: string[]): readonly string[] {
  if (text === '') return [];
  const keys = text.split(',').map((key) => key.trim());
  for (const [index, key] of keys.entries()) {
    const problem = keyProblem(key);
    if (problem !== undefined) mistakes.push(`${name}, key ${index + 1}: ${problem}`);
  }
  return keys;
}

const MAX_FILE_BYTES: number = 1 << 20;
const MAX_FILE_MS = 5000;
const PIPE_PAUSE_MS = 20;

/** The text of a file or a pipe, up to 1 MiB and within 5 s. Rejects for anything else. */
export async function readKeysFile(path: string): Promise<string> {
  // Without O_NONBLOCK, which Windows has not, to open a pipe waits for somebody to write to it.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
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

function parseKeysFile(text: string, mistakes: string[]): readonly string[] {
  const keys: string[] = [];
  let faults = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const key = line.trim();
    if (key === '' || key.startsWith('#')) continue;
    const problem = keyProblem(key) ?? lineProblem(key);
    if (problem === undefined) keys.push(key);
    else if (++faults <= MAX_TOLD_LINES) {
      mistakes.push(`The API keys file, line ${index + 1}: ${problem}`);
    }
  }
  if (faults > MAX_TOLD_LINES) {
    mistakes.push(`The API keys file: ${faults - MAX_TOLD_LINES} more lines are no keys`);
  }
  if (keys.length === 0) mistakes.push(`The API keys file holds no valid key`);
  return keys;
}

/** In a file, what looks like a digest is not taken for a key: digests are no secrets. */
function lineProblem(key: string): string | undefined {
  if (!/^[0-9a-fA-F]{64}$/.test(key)) return undefined;
  return '64 hex digits look like a digest: write sha256: before them, or give the digest of this key';
}
