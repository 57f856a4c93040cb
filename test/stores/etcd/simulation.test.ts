/** The etcd store loses no pet whatever happens to a call. breaks.test.ts tests this simulation. */

import { SEED } from '../../support/extent.ts';
import { failEverywhere, FATES } from '../../support/etcd/simulation.ts';
import { TestsOfCases } from '../../support/run-before-tests.ts';

const tests = new TestsOfCases();
for (const seed of new Set([1, SEED])) {
  for (const fate of FATES) {
    const name = `No pet is lost if a call ends with "${fate}", once and for long (seed ${seed})`;
    await tests.pass(name, () => failEverywhere(seed, fate));
  }
}
tests.report();
