/**
 * API keys in the configuration, and their problems. No problem quotes a key, or a name, because a
 * name may be a misplaced key.
 */

import crypto, { randomBytes } from 'node:crypto';
import { isObject, type Problem } from '../base/problem.ts';
import { digestIn } from './create-keyring.ts';

export interface NamedApiKey {
  /** The text of the key, or `sha256:` and the 64 hex digits of its digest. */
  readonly key: string;
  /** Its name in the access log and the metrics: 1 to 64 letters, digits, `.`, `_` and `-`. */
  readonly name?: string | undefined;
  /** If it is set, the key is valid for `/metrics` only. */
  readonly only?: 'metrics' | undefined;
}

/** A string is a key without a name that is valid for everything. */
export type ApiKeyOption = string | NamedApiKey;

export const MAX_API_KEYS = 1000;
/** Leaves space for all other fields in a header of 16 KiB. */
const MAX_KEY_LENGTH = 4096;

/** Returns a random key of 192 bits. */
export function createApiKey(): string {
  return randomBytes(24).toString('base64url');
}

/** Returns the key as an object. */
export function namedKey(option: ApiKeyOption): NamedApiKey {
  return typeof option === 'string' ? { key: option } : option;
}

/** Returns all problems with API keys, which may have any value: `apiKeys[1] must …`. */
export function apiKeyProblems(apiKeys: unknown, option: string): readonly Problem[] {
  if (!Array.isArray(apiKeys)) return [{ option, sentence: 'must be an array of API keys' }];
  const { length } = apiKeys;
  if (length === 0) return [{ option, sentence: 'must have at least one API key' }];
  if (length > MAX_API_KEYS) {
    return [{ option, sentence: `must be at most ${MAX_API_KEYS} API keys, not ${length}` }];
  }
  const problems: Problem[] = [];
  const found = new Map<string, string>();
  // Array.from, since a hole is a problem, too.
  for (const [index, value] of Array.from(apiKeys as readonly unknown[]).entries()) {
    const where = `${option}[${index}]`;
    const sentence = keyOptionProblem(value);
    if (sentence !== undefined) {
      problems.push({ option: where, sentence });
      continue;
    }
    const { key, name } = namedKey(value as ApiKeyOption);
    const digest = digestIn(key)?.toLowerCase() ?? crypto.hash('sha256', key, 'hex');
    for (const [kind, text] of [['key', digest] as const, ['name', name] as const]) {
      if (text === undefined) continue;
      const other = found.get(`${kind} ${text}`);
      if (other === undefined) found.set(`${kind} ${text}`, where);
      else problems.push({ option: where, sentence: `repeats the ${kind} of`, other });
    }
  }
  return problems;
}

function keyOptionProblem(option: unknown): string | undefined {
  const { key, name, only, ...others } = isObject(option) ? option : { key: option };
  if (typeof key !== 'string') return 'must have a string as its key';
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `has the unknown option ${unknown}`;
  if (only !== undefined && only !== 'metrics') return "has another only than 'metrics'";
  const nameProblem = name === undefined ? undefined : keyNameProblem(name);
  return nameProblem === undefined ? apiKeyProblem(key) : `has a name, which ${nameProblem}`;
}

/** Returns why a text cannot be a key, to follow the name of the key, or undefined if it can. */
export function apiKeyProblem(key: string): string | undefined {
  if (key.startsWith('sha256:')) {
    return digestIn(key) === undefined ? 'must have 64 hex digits after sha256:' : undefined;
  }
  if (/^sha256:/i.test(key)) return 'must have sha256: in small letters';
  if (key === '') return 'must not be empty';
  if (key.length > MAX_KEY_LENGTH) return `must not be longer than ${MAX_KEY_LENGTH} bytes`;
  // A digest without its sha256: would be a key that is no secret.
  if (/^[0-9a-f]{64}$/i.test(key)) {
    return 'looks like a digest: write sha256: before its 64 hex digits, or give the digest of this key';
  }
  if (/^[\x21-\x7e]+$/.test(key)) return undefined;
  return 'must be of visible ASCII characters, without a space';
}

/** Returns why a value cannot be the name of a key, or undefined if it can. */
export function keyNameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'must be a string';
  // Else a file's line `sha256: 80d7…`, with a space by mistake, would name a key sha256.
  if (/^sha256$/i.test(name)) return 'must not be sha256';
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name)) return undefined;
  return 'must be 1 to 64 letters, digits, dots, underscores and hyphens';
}
