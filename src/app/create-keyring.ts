/**
 * Creates a keyring (http/bearer.ts): the API keys that are in force.
 *
 * A key is compared in constant time with every key of its length: the time depends on the lengths
 * of the keys, and not on their content. If only the SHA-256 digest of a key is known, the service
 * hashes what a client sends, until it has seen the key once. Hashing each request would cost 20 %
 * of the throughput.
 */

import crypto, { timingSafeEqual } from 'node:crypto';
import type { ApiKey, Keyring, KeyUse } from '../http/bearer.ts';

/** Returns a keyring. Each key is its text, or `sha256:` and the 64 hex digits of its digest. */
export function createKeyring(keys: readonly ApiKey[]): Keyring {
  const known: Secret[] = [];
  const digests: Secret[] = [];
  for (const { text, use } of keys) {
    const digest = digestIn(text);
    if (digest === undefined) known.push(new Secret(Buffer.from(text), use));
    else digests.push(new Secret(Buffer.from(digest, 'hex'), use));
  }
  return (token) => {
    const found = findEqual(known, token);
    if (found !== undefined || digests.length === 0) return found;
    const presented = Buffer.from(token, 'latin1');
    const digest = crypto.hash('sha256', presented, 'buffer').toString('latin1');
    const use = findEqual(digests, digest)?.use;
    if (use === undefined) return undefined;
    const secret = new Secret(presented, use);
    known.push(secret);
    return secret;
  };
}

/** Returns the hex digits of a key that is given as its digest, or undefined for any other key. */
export function digestIn(key: string): string | undefined {
  return /^sha256:([0-9a-fA-F]{64})$/.exec(key)?.[1];
}

/** Compares with every secret, so that the time does not show which of them is equal. */
function findEqual(secrets: readonly Secret[], presented: string): Secret | undefined {
  let found: Secret | undefined;
  for (const secret of secrets) if (secret.equals(presented)) found = secret;
  return found;
}

/** A key or a digest: bytes that are compared in constant time. */
class Secret {
  /** One byte per character. */
  readonly text: string;
  readonly use: KeyUse;
  readonly #bytes: Buffer;
  /** The presented bytes. The buffer is reused: a new one took 4 % of a GET. */
  readonly #presented: Buffer;

  constructor(bytes: Buffer, use: KeyUse) {
    this.text = bytes.toString('latin1');
    this.use = use;
    this.#bytes = bytes;
    this.#presented = Buffer.alloc(bytes.length);
  }

  /** `presented` has one byte per character, like all header fields. */
  equals(presented: string): boolean {
    if (presented.length !== this.#bytes.length) return false;
    this.#presented.write(presented, 'latin1');
    return timingSafeEqual(this.#presented, this.#bytes);
  }
}
