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
import { apiKeyErrors, type ApiKeyOption } from '../core/app/api-keys.ts';
import { messageOf } from '../core/base/logger.ts';
import { disguiseOf, IN_QUOTES, errorTexts, type OptionError } from '../core/base/option-error.ts';
import { userName } from '../core/base/system.ts';
import type { GivenText } from './setting.ts';

/** The only right that a line may give to its key. */
export const READ_METRICS = 'read-metrics';

export interface ApiKeySource {
  /** Keys, separated by commas: the environment variable. */
  readonly list?: GivenText | undefined;
  /** The path of a file with more keys. */
  readonly file?: GivenText | undefined;
}

type ReadTextFile = (path: string) => Promise<string>;

/** A key, and where it is: `line 7 of PETSTORE_API_KEYS_FILE`. */
type LocatedKey = readonly [option: ApiKeyOption, where: string];

/** Resolves with all keys of a source, or with what is wrong with them. */
export async function readApiKeys(
  { list, file }: ApiKeySource,
  readTextFile: ReadTextFile,
): Promise<{ readonly apiKeys: readonly ApiKeyOption[]; readonly mistakes: readonly string[] }> {
  const errors: OptionError[] = [];
  // The quotes of a whole list would be parts of its first and its last key.
  const isListInQuotes = list !== undefined && IN_QUOTES.test(list.text.trim());
  if (isListInQuotes)
    errors.push({ option: list.name, sentence: 'must be without quotes around it' });
  const texts = isListInQuotes ? [] : (list?.text.split(',') ?? []);
  const keys: LocatedKey[] = texts.map((text, index) => {
    return [text.trim(), `key ${index + 1} of ${list?.name}`];
  });
  const disguise = disguiseOf(file?.text ?? '');
  if (file !== undefined && disguise !== undefined) {
    errors.push({ option: file.name, sentence: `must be ${disguise}` });
  } else if (file !== undefined) {
    const name = isLikePath(file.text) ? `${file.name} (${file.text})` : file.name;
    try {
      keys.push(...parseKeysFile(name, await readTextFile(file.text), errors));
    } catch (error) {
      errors.push({ option: name, sentence: `cannot be read${causeOf(error, file.text)}` });
    }
  }
  const apiKeys = keys.map(([option]) => option);
  if (keys.length > 0) errors.push(...apiKeyErrors(apiKeys, 'apiKeys'));
  const whereOf = new Map(keys.map(([, where], index) => [`apiKeys[${index}]`, where]));
  const all = [list?.name, file?.name].filter((name) => name !== undefined).join(' and ');
  whereOf.set('apiKeys', all);
  return { apiKeys, mistakes: errorTexts(errors, (option) => whereOf.get(option) ?? option) };
}

/**
 * Returns true for a path that begins as one and has short plain names. Other texts are not shown,
 * since they may be an API key that was meant for PETSTORE_API_KEYS.
 */
function isLikePath(text: string): boolean {
  return /^(?:\.{0,2}|~|[A-Za-z]:)(?:[\\/][\w. -]{1,24})+$/.test(text);
}

/** Returns the cause without the path, and the user if the user must not read the file. */
function causeOf(error: unknown, path: string): string {
  const cause = messageOf(error).replace(`, open '${path}'`, '');
  return /\b(EACCES|EPERM)\b/.test(cause) ? ` by ${userName()}: ${cause}` : `: ${cause}`;
}

const MAX_FILE_BYTES: number = 1 << 20;
const MAX_FILE_MS = 5000;
/** There are at most 1,000 keys. While the lines are read, the service serves nothing. */
const MAX_LINES = 10_000;
const PIPE_PAUSE_MS = 20;

/** Resolves with the text of a file or a pipe. Rejects if it exceeds 1 MiB or takes over 5 s. */
export async function readApiKeysFile(path: string): Promise<string> {
  // Without O_NONBLOCK, the open of a pipe waits for a writer. Windows has neither O_NONBLOCK nor
  // such pipes.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const isPipe = (await file.stat()).isFIFO();
    const endsAt = performance.now() + MAX_FILE_MS;
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (;;) {
      const reading = file.read(bytes, length).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EAGAIN') throw error;
        return { bytesRead: undefined };
      });
      const { bytesRead } = await reading;
      length += bytesRead ?? 0;
      if (length > MAX_FILE_BYTES) throw new Error(`it is longer than ${MAX_FILE_BYTES} bytes`);
      // A read of 0 bytes from a pipe may mean that its writer has not come yet, so wait.
      if (bytesRead === 0 && (!isPipe || length > 0)) return bytes.toString('utf8', 0, length);
      if (performance.now() > endsAt) throw new Error(`it did not end within ${MAX_FILE_MS} ms`);
      if (!bytesRead) await sleep(PIPE_PAUSE_MS);
    }
  } finally {
    await file.close();
  }
}

function parseKeysFile(name: string, text: string, errors: OptionError[]): readonly LocatedKey[] {
  const keys: LocatedKey[] = [];
  const earlier = errors.length;
  const lines = text.replace(/\n$/, '').split('\n', MAX_LINES + 1);
  if (lines.length > MAX_LINES) throw new Error(`it has more than ${MAX_LINES} lines`);
  for (const [index, untrimmed] of lines.entries()) {
    const line = untrimmed.trim();
    if (line === '' || line.startsWith('#')) continue;
    const where = `line ${index + 1} of ${name}`;
    const [, keyName, key, right] = LINE.exec(line) ?? [];
    if (key === undefined || LINE_WITHOUT_KEY.test(untrimmed.replace(/\r$/, ''))) {
      const sentence = 'must be [NAME: ]KEY[ read-metrics], with spaces only between the parts';
      errors.push({ option: where, sentence });
    } else {
      keys.push([{ key, name: keyName, only: right === undefined ? undefined : 'metrics' }, where]);
    }
  }
  if (keys.length === 0 && errors.length === earlier) {
    errors.push({ option: name, sentence: 'must have at least one API key' });
  }
  return keys;
}

const LINE = /^(?:([^ \t]*):[ \t]+)?([^ \t]+)(?:[ \t]+(read-metrics))?$/;

/**
 * `NAME: ` and ` read-metrics`: what a script writes whose variable for the key is empty. Trimmed,
 * they would be keys that anybody can guess. A line that lacks the space itself is a key. Nor is
 * there a key in `NAME: read-metrics` and `NAME: # a note`.
 */
const LINE_WITHOUT_KEY =
  /^(?:[ \t]+read-metrics[ \t]*|\s*\S+:[ \t]+(?:read-metrics(?:[ \t].*)?|#.*)?)$/;
