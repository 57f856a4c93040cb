/** Waits for a condition that no event announces, in tests. */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** After this time the output says what is waited for: the run ends a test that hangs. */
const TELL_MS = 300_000;

/** Resolves when that holds, however long it takes. */
export async function until(holds: () => boolean | Promise<boolean>, shown = () => String(holds)) {
  const tell = (): void => console.error(`After five minutes it does not hold: ${shown()}`);
  const telling = setTimeout(tell, TELL_MS);
  try {
    for (let turn = 0; ; turn += 1) {
      const held = holds();
      if (await held) return;
      // Some states last for a few turns only. What has to be asked for, and what takes longer,
      // shall leave the processor to others.
      if (typeof held === 'boolean' && turn < 2_000) await nextTurn();
      else await sleep(typeof held === 'boolean' ? 1 : 5);
    }
  } finally {
    clearTimeout(telling);
  }
}
