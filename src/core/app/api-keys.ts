/**
 * API keys: as they are configured, what is wrong with them, and the keyring, which finds the key
 * of a request. No error quotes a key, or a name, because a name may be a misplaced key.
 */

import crypto, { randomBytes, timingSafeEqual } from 'node:crypto';
import { isObject } from '../base/exact-json.ts';
import { IN_QUOTES, type OptionError } from '../base/option-error.ts';
import type { ApiKey } from '../http/authentication.ts';

export interface NamedApiKey {
  /** The text of the key, or `sha256:` and the 64 hex digits of its digest. */
  readonly key: string;
  /** Its name where its use is reported: 1 to 64 letters, digits, `.`, `_` and `-`. */
  readonly name?: string | undefined;
  /** If it is set, the key opens only the operations that ask for this right. */
  readonly only?: string | undefined;
}

/** A string is a key without a name that is valid for everything. */
export type ApiKeyOption = string | NamedApiKey;

const MAX_API_KEYS = 1000;

/** Returns a random key of 192 bits. */
export function createApiKey(): string {
  return randomBytes(24).toString('base64url');
}

/** Returns the key as an object. */
export function namedKey(option: ApiKeyOption): NamedApiKey {
  return typeof option === 'string' ? { key: option } : option;
}

/**
 * Returns all errors in API keys, which may have any value: `apiKeys[1] must …`. Without
 * `rights`, which operations ask for, a key may have any right.
 */
export function apiKeyErrors(
  apiKeys: unknown,
  option: string,
  rights?: readonly string[],
): readonly OptionError[] {
  if (!Array.isArray(apiKeys)) return [{ option, sentence: 'must be an array of API keys' }];
  const { length } = apiKeys;
  if (length === 0) return [{ option, sentence: 'must have at least one API key' }];
  if (length > MAX_API_KEYS) {
    return [{ option, sentence: `must be at most ${MAX_API_KEYS} API keys, not ${length}` }];
  }
  const errors: OptionError[] = [];
  const found = new Map<string, string>();
  for (const [index, value] of (apiKeys as readonly unknown[]).entries()) {
    const where = `${option}[${index}]`;
    const sentence = keyMistake(value, rights);
    if (sentence !== undefined) {
      errors.push({ option: where, sentence });
      continue;
    }
    const { key, name } = namedKey(value as ApiKeyOption);
    const digest = digestOf(key);
    for (const [kind, text] of [['key', digest] as const, ['name', name] as const]) {
      if (text === undefined) continue;
      const other = found.get(`${kind} ${text}`);
      if (other === undefined) found.set(`${kind} ${text}`, where);
      else errors.push({ option: where, sentence: `repeats the ${kind} of`, other });
    }
  }
  return errors;
}

function keyMistake(option: unknown, rights?: readonly string[]): string | undefined {
  const { key, name, only, ...others } = isObject(option) ? option : { key: option };
  if (typeof key !== 'string') return 'must have a string as its key';
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `has the unknown option ${unknown}`;
  if (only !== undefined && typeof only !== 'string') return 'must have a string as its only';
  if (only !== undefined && rights?.includes(only) === false) {
    return rights.length === 0
      ? 'has an only, but no operation asks for a right'
      : `has another only than '${rights.join("' or '")}'`;
  }
  const nameMistake = name === undefined ? undefined : keyNameMistake(name);
  if (nameMistake !== undefined) return `has a name, which ${nameMistake}`;
  return WRONG_KEYS.find(([pattern]) => pattern.test(key))?.[1];
}

/** Texts that cannot be a key, and why, to follow where the key is. */
const WRONG_KEYS: readonly (readonly [RegExp, string])[] = [
  [/^sha256:(?![0-9a-fA-F]{64}$)/, 'must have 64 hex digits after sha256:'],
  [/^(?!sha)[sS][hH][aA]256:/, 'must have sha256: in small letters'],
  [/^$/, 'must not be empty'],
  // Leaves space for all other fields in a header of 16 KiB.
  [/^[^]{4097}/, 'must not be longer than 4096 bytes'],
  // A digest in another form would be a key that is no secret.
  [
    /^[0-9a-f]{64}$/i,
    'looks like a digest: write sha256: before its 64 hex digits, or give the digest of this key',
  ],
  [
    /(?!^sha256:)sha-?256\W?[0-9a-f]{64}$/i,
    'looks like a digest: write it as sha256: and 64 hex digits, after a space if it has a name',
  ],
  // Each would be a key that no client sends, or that anybody can guess.
  [IN_QUOTES, 'must be without quotes around it'],
  [/^\$(?:\w+|[{(].*[)}])$/, 'is the name of a variable, which only a shell replaces'],
  [/[^\x21-\x7e]/, 'must be of visible ASCII characters, without a space'],
];

/** Returns why a value cannot be the name of a key, or undefined if it can. */
export function keyNameMistake(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'must be a string';
  // Else a file's line `sha256: 80d7…`, with a space by mistake, would name a key sha256.
  if (/^sha256$/i.test(name)) return 'must not be sha256';
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name)) return undefined;
  return 'must be 1 to 64 letters, digits, dots, underscores and hyphens';
}

/** The API keys in force. */
interface Keyring {
  /** Returns the key with this text, or undefined if there is none. */
  find(token: string): ApiKey | undefined;
  /** Each name once. Keys without a name have the name ''. */
  readonly names: ReadonlySet<string>;
}

/**
 * Puts keys in force.
 *
 * A key is compared in constant time with every key of its length: the time depends on the lengths
 * of the keys, and not on their content. If only the SHA-256 digest of a key is known, the service
 * hashes what a client sends, until it has seen the key once. To hash each request would take 9 %
 * of a GET.
 */
export function createKeyring(apiKeys: readonly ApiKeyOption[]): Keyring {
  const names = new Set<string>();
  const secrets: Secret[] = [];
  /** The keys of which only this is known. */
  const byDigest = new Map<string, ApiKey>();
  for (const { key, name = '', only: right } of apiKeys.map(namedKey)) {
    names.add(name);
    const apiKey: ApiKey = { digest: digestOf(key), name, right };
    if (isDigest(key)) byDigest.set(apiKey.digest, apiKey);
    else secrets.push(secretOf(Buffer.from(key), apiKey));
  }
  const find = (token: string): ApiKey | undefined => {
    const found = findEqual(secrets, token);
    if (found !== undefined || byDigest.size === 0) return found;
    const bytes = Buffer.from(token, 'latin1');
    const apiKey = byDigest.get(crypto.hash('sha256', bytes, 'hex'));
    if (apiKey !== undefined) secrets.push(secretOf(bytes, apiKey));
    return apiKey;
  };
  return { find, names };
}

function isDigest(key: string): boolean {
  return /^sha256:[0-9a-fA-F]{64}$/.test(key);
}

/** Returns the digest of a key, which may be given as that. */
function digestOf(key: string): string {
  return isDigest(key) ? key.slice(-64).toLowerCase() : crypto.hash('sha256', key, 'hex');
}

interface Secret {
  readonly bytes: Buffer;
  /** For the bytes to compare with. It is reused: a new one took 4 % of a GET. */
  readonly presented: Buffer;
  readonly apiKey: ApiKey;
}

function secretOf(bytes: Buffer, apiKey: ApiKey): Secret {
  return { bytes, presented: Buffer.alloc(bytes.length), apiKey };
}

/**
 * Compares with every secret, so that the time does not show which of them is equal. `text` has one
 * character for each byte, like all header fields.
 */
function findEqual(secrets: readonly Secret[], text: string): ApiKey | undefined {
  let found: ApiKey | undefined;
  for (const { bytes, presented, apiKey } of secrets) {
    if (text.length !== bytes.length) continue;
    presented.write(text, 'latin1');
    if (timingSafeEqual(presented, bytes)) found = apiKey;
  }
  return found;
}
