/** Whether a process gets its turn beside another one that is nearer to the cluster. */

import type { TestContext } from 'node:test';
import { measured } from '../measured.ts';
import { createRandom } from '../random.ts';
import { openSimulated, rex } from './opened-store.ts';

/**
 * Lets two processes create pets for a second, of which one is half as far again from the cluster.
 * Complains if it makes less than a tenth of the commits.
 */
export async function complaintsOfTheFar(t: TestContext): Promise<readonly string[]> {
  const near = await openSimulated(t);
  const { clock } = near;
  const { below } = createRandom(1);
  const far = await openSimulated(t, near);
  clock.random = () => below(100) / 100;
  for (const [life, ms] of [[near, 1] as const, [far, 1.5] as const]) {
    life.fateOf = () => clock.sleep(ms + below(10) / 10).then(() => 'answered');
  }
  const startedAt = clock.now();
  const clients = [near, far, near, far].map(async ({ store }) => {
    while (clock.now() < startedAt + 1_000) await store.create(rex);
  });
  await Promise.all(clients);
  const [a = 0, b = 0] = [near, far].map(({ store }) => measured(store, 'store_commit_pets'));
  return Math.min(a, b) > (a + b) / 10 ? [] : [`commits: ${a}, ${b}`];
}
