/**
 * The API keys that are in force.
 *
 * A key is compared in constant time with every key of its length: the time tells how long the keys
 * are, and nothing of what is in them. A key that is known by its SHA-256 digest only is hashed
 * until it was presented once, and then compared like the others: hashing on every request would
 * cost a fifth of the throughput.
 */

import crypto, { timingSafeEqual } from 'node:crypto';

export interface Keyring {
  accepts(token: string): boolean;
}

/** A key, as its text or as `sha256:` and the 64 hex digits of its digest. */
export function createKeyring(keys: readonly string[]): Keyring {
  const known = keys.filter((key) => !isDigestKey(key)).map((key) => new Secret(Buffer.from(key)));
  const digests = keys
    .filter(isDigestKey)
    .map((key) => new Secret(Buffer.from(key.slice(DIGEST_PREFIX.length), 'hex')));
  return {
    accepts(token) {
      if (holds(known, token)) return true;
      if (digests.length === 0) return false;
      const presented = Buffer.from(token, 'latin1');
      const digest = crypto.hash('sha256', presented, 'buffer').toString('latin1');
      if (!holds(digests, digest)) return false;
      known.push(new Secret(presented));
      return true;
    },
  };
}

/** Each costs 0.13 µs a request, since every key is compared. */
export const MAX_KEYS = 1000;
/** Leaves room for all other fields in a header of 16 KiB. */
const MAX_KEY_LENGTH = 4096;

/**
 * Why a text cannot be a key; undefined when it can. Never quotes the text, which may be a secret.
 */
export function keyProblem(key: string): string | undefined {
  if (key.startsWith(DIGEST_PREFIX)) {
    return isDigestKey(key) ? undefined : 'sha256: must be followed by 64 hex digits';
  }
  if (/^sha256:/i.test(key)) return 'sha256: is written in small letters';
  if (key === '') return 'a key must not be empty';
  if (key.length > MAX_KEY_LENGTH) return `a key must not be longer than ${MAX_KEY_LENGTH} bytes`;
  if (/^[\x21-\x7e]+$/.test(key)) return undefined;
  return 'a key must be of visible ASCII characters, without a space';
}

const DIGEST_PREFIX = 'sha256:';

function isDigestKey(key: string): boolean {
  return /^sha256:[0-9a-fA-F]{64}$/.test(key);
}

/** Looks at every secret, so that the time does not tell which of them it was. */
function holds(secrets: readonly Secret[], presented: string): boolean {
  let found = false;
  for (const secret of secrets) if (secret.equals(presented)) found = true;
  return found;
}

/** Bytes that are compared in constant time. */
class Secret {
  readonly #bytes: Buffer;
  /** What is compared, in the same place each time: a new Buffer cost a twenty-fifth of a GET. */
  readonly #presented: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#presented = Buffer.alloc(bytes.length);
  }

  /** `presented` holds a byte in each character, as header fields do. */
  equals(presented: string): boolean {
    if (presented.length !== this.#bytes.length) return false;
    this.#presented.write(presented, 'latin1');
    return timingSafeEqual(this.#presented, this.#bytes);
  }
}
