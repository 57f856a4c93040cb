/**
 * The API keys in force: who may do what, and who did.
 *
 * A key for metrics only is in the second keyring alone. Under `/v1` it is therefore a key like any
 * that nobody knows: refused with the same words, after the same time.
 */

import type { Keyring, KeyUse } from '../http/keyring.ts';
import { namedKey, type ApiKeyOption } from './api-key.ts';
import { createKeyring } from './create-keyring.ts';

export interface KeysInForce {
  /** The keys that open everything. */
  readonly forAll: Keyring;
  /** Those, and the keys that open the metrics only. */
  readonly forMetrics: Keyring;
  /** One for each name; that of the keys without a name is ''. */
  readonly uses: readonly KeyUse[];
}

/** Puts keys in force. A name that was in force before keeps its counts. */
export function putInForce(
  apiKeys: readonly ApiKeyOption[],
  before: readonly KeyUse[] = [],
): KeysInForce {
  const known = new Map(before.map((use) => [use.name, use]));
  const uses = new Map<string, KeyUse>();
  const keys = apiKeys.map(namedKey).map(({ key, name = '', only }) => {
    const use = known.get(name) ?? { name, requests: 0, lastUsedAt: 0 };
    known.set(name, use);
    uses.set(name, use);
    return { text: key, use, only };
  });
  return {
    forAll: createKeyring(keys.filter(({ only }) => only === undefined)),
    forMetrics: createKeyring(keys),
    uses: [...uses.values()],
  };
}
