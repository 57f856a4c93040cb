/**
 * The file store in a simulation: every operation fails, every moment is the last one, memory is
 * exhausted, other programs change files. What was acknowledged or read exists afterwards, and
 * nothing that was refused.
 */

import { isWhole } from '../support/extent.ts';
import { TestsOfCases } from '../support/run-before-tests.ts';
import { searchSoundStore } from './breaks.ts';
import { liveInDoubt, liveShortly } from './callers.ts';
import * as meddling from './meddling.ts';
import { Simulation, Tried, type Cases } from './simulation.ts';
import { plainEnds } from './survival.ts';

const KINDS = [
  // Once, any error code is as valid as another.
  ['once', ['EIO', 'half', 'short', 'late']],
  ['for ever', ['EIO', 'ENOSPC', 'EROFS', 'half', 'short', 'late']],
] as const;
/** Different faults lead to the same files. */
const shortly = { tried: new Tried() };
const tests = new TestsOfCases();

/** Nothing runs before the cases are asked for. */
function pass(name: string, cases: Cases): Promise<void> {
  return tests.pass(name, async () => {
    const all: (readonly string[])[] = [];
    for await (const complaints of cases) all.push(complaints);
    return { cases: all.length, complaints: all.flat() };
  });
}

await pass(
  'No pet is lost if the process or the power ends at any operation, twice',
  new Simulation(liveShortly, shortly).crashEverywhere(),
);
for (const [lasts, kinds] of KINDS) {
  for (const kind of kinds) {
    // Each write leaves many files then.
    const isLong = lasts === 'for ever' && (kind === 'half' || kind === 'late');
    const simulation = new Simulation(liveShortly, isLong ? { ends: plainEnds } : shortly);
    const name = `No pet is lost if any operation fails with ${kind}, ${lasts}`;
    await pass(name, simulation.failEverywhere([kind], lasts));
  }
  const simulation = new Simulation(liveInDoubt, shortly);
  const name = `No pet is lost if memory fails at any request, ${lasts}`;
  await pass(name, simulation.failMemoryEverywhere(lasts));
}
await pass(
  'A pet with a key exists once if two operations fail and its client retries',
  new Simulation(liveInDoubt, { ends: plainEnds }).failEverywhere(['EIO'], 'twice'),
);
for (const what of Object.keys(meddling.MEDDLING)) {
  await pass(`No pet is lost if ${what} before any operation`, meddling.meddleEverywhere(what, 2));
}
await pass('One of two processes that start at the same time is let in', meddling.startTwice());
if (isWhole) await pass('Searches for breaks find nothing in a sound store', searchSoundStore());
tests.report();
