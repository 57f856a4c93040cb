/** Waits for a condition that no event announces, in tests. */

import assert from 'node:assert/strict';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Resolves when that holds, if it does within five minutes: no test waits so long otherwise. */
export async function until(holds: () => boolean | Promise<boolean>, shown = () => String(holds)) {
  const endsAt = performance.now() + 300_000;
  for (let turn = 0; !(await holds()); turn += 1) {
    assert.ok(performance.now() < endsAt, `After five minutes it does not hold: ${shown()}`);
    // Some states last for a few turns only.
    await (turn < 10_000 ? nextTurn() : sleep(1));
  }
}
