/**
 * API keys in the configuration, and their errors. No message quotes a key, or a name, because a
 * name may be a misplaced key.
 */

import crypto from 'node:crypto';
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

/** A key, and its source. */
export interface LocatedKey {
  readonly option: ApiKeyOption;
  /** For messages: `apiKeys[1]`, for example. */
  readonly where: string;
}

export const MAX_API_KEYS = 1000;
/** Leaves space for all other fields in a header of 16 KiB. */
const MAX_KEY_LENGTH = 4096;

/** Returns the key as an object. */
export function namedKey(option: ApiKeyOption): NamedApiKey {
  return typeof option === 'string' ? { key: option } : option;
}

/** Returns why a text cannot be a key, or undefined if it can. */
export function apiKeyProblem(key: string): string | undefined {
  if (key.startsWith('sha256:')) {
    return digestIn(key) === undefined ? 'sha256: must be followed by 64 hex digits' : undefined;
  }
  if (/^sha256:/i.test(key)) return 'sha256: is written in small letters';
  if (key === '') return 'a key must not be empty';
  if (key.length > MAX_KEY_LENGTH) return `a key must not be longer than ${MAX_KEY_LENGTH} bytes`;
  if (/^[\x21-\x7e]+$/.test(key)) return undefined;
  return 'a key must be of visible ASCII characters, without a space';
}

/** Returns why a text cannot be the name of a key, or undefined if it can. */
export function keyNameProblem(name: string): string | undefined {
  // Else a file's line `sha256: 80d7…`, with a space by mistake, would name a key sha256.
  if (/^sha256$/i.test(name)) return 'a name must not be sha256';
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name)) return undefined;
  return 'a name must be 1 to 64 letters, digits, dots, underscores and hyphens';
}

/** Returns a problem for each name and each key that occurs twice. Each key must be valid. */
export function duplicateProblems(keys: readonly LocatedKey[]): readonly string[] {
  const problems: string[] = [];
  const found = new Map<string, string>();
  const check = (kind: 'key' | 'name', value: string, where: string): void => {
    const earlier = found.get(`${kind} ${value}`);
    if (earlier === undefined) found.set(`${kind} ${value}`, where);
    else problems.push(`${where}: the ${kind} is configured already (${earlier})`);
  };
  for (const { option, where } of keys) {
    const { key, name } = namedKey(option);
    check('key', digestIn(key)?.toLowerCase() ?? crypto.hash('sha256', key, 'hex'), where);
    if (name !== undefined) check('name', name, where);
  }
  return problems;
}
