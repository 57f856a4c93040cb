/**
 * The API keys in force, and their use.
 *
 * A key for metrics only is in `forMetrics`, not in `forAll`. So under `/v1` it is refused like an
 * unknown key: with the same message, after the same time.
 */

import type { Keyring, KeyUse } from '../http/bearer.ts';
import { namedKey, type ApiKeyOption } from './api-key.ts';
import { createKeyring } from './create-keyring.ts';

export interface KeysInForce {
  /** The keys that are valid for everything. */
  readonly forAll: Keyring;
  /** These keys, and the keys that are valid for the metrics only. */
  readonly forMetrics: Keyring;
  /** One for each name. Keys without a name have the name ''. */
  readonly uses: readonly KeyUse[];
}

/** Puts keys in force. A name that was already in force keeps its counts. */
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
