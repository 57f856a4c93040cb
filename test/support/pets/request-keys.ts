/** Keys of creates, as the stores get them. */

import { createHash } from 'node:crypto';
import type { KeyHash } from '../../../src/core/store/idempotency-keys.ts';

/** The key with this number: another one for each. */
export function requestKey(number: number): KeyHash {
  return createHash('sha256').update(String(number)).digest('hex').slice(0, 32);
}
