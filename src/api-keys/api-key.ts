/**
 * API keys as they are configured, and what is wrong with them. No message quotes a key, or a name,
 * which may be a key that was given in the wrong place.
 */

import crypto from 'node:crypto';
import { digestIn } from './create-keyring.ts';

export interface NamedApiKey {
  /** Its text, or `sha256:` and the 64 hex digits of its digest. */
  readonly key: string;
  /** What the access log and the metrics call it: 1 to 64 letters, digits, `.`, `_` and `-`. */
  readonly name?: string | undefined;
  /** If it is set, the key opens `/metrics` and nothing else. */
  readonly only?: 'metrics' | undefined;
}

/** A key alone has no name, and opens everything. */
export type ApiKeyOption = string | NamedApiKey;

/** A key, and where it is from. */
export interface LocatedKey {
  readonly option: ApiKeyOption;
  /** For messages: `apiKeys[1]`, for example. */
  readonly where: string;
}

export const MAX_API_KEYS = 1000;
/** Leaves room for all other fields in a header of 16 KiB. */
const MAX_KEY_LENGTH = 4096;

/** The key as an object, whichever way it was given. */
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
  if (/^sha256$/i.test(name)) return 'a name must not be sha256';
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name)) return undefined;
  return 'a name must be 1 to 64 letters, digits, dots, underscores and hyphens';
}

/** Returns each name and each key that is there twice, in keys that are right one by one. */
export function duplicateProblems(keys: readonly LocatedKey[]): readonly string[] {
  const problems: string[] = [];
  const keyIn = new Map<string, string>();
  const nameIn = new Map<string, string>();
  for (const { option, where } of keys) {
    const { key, name } = namedKey(option);
    const digest = digestIn(key)?.toLowerCase() ?? crypto.hash('sha256', key, 'hex');
    const sameKey = keyIn.get(digest);
    if (sameKey !== undefined) problems.push(`${where}: the key is there already (${sameKey})`);
    else keyIn.set(digest, where);
    if (name === undefined) continue;
    const sameName = nameIn.get(name);
    if (sameName !== undefined) problems.push(`${where}: the name is there already (${sameName})`);
    else nameIn.set(name, where);
  }
  return problems;
}
