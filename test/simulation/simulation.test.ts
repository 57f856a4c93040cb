/**
 * The file store in a simulation: every operation fails, every moment is the last one, memory is
 * exhausted, other programs change files. What was acknowledged or read exists afterwards, and
 * nothing that was refused.
 */

import { after } from 'node:test';
import { isWhole } from '../support/extent.ts';
import { TestsOfCases } from '../support/run-before-tests.ts';
import { isTried } from '../support/slips.ts';
import { BREAKS, searchSoundStore } from './breaks.ts';
import { liveInDoubt, liveShortly } from './callers.ts';
import * as meddling from './meddling.ts';
import { Simulation, Tried, type Cases } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';
import { plainEnds } from './survival.ts';

const DURATIONS = ['once', 'for ever'] as const;
const KINDS: Readonly<Record<(typeof DURATIONS)[number], readonly Fault['kind'][]>> = {
  // Once, any error code is as valid as another.
  once: ['EIO', 'half', 'short', 'late'],
  'for ever': ['EIO', 'ENOSPC', 'EROFS', 'half', 'short', 'late'],
};
/** Different faults lead to the same files. */
const shortly = { tried: new Tried() };
const RUNS: Readonly<Record<string, () => Cases>> = {
  'No pet is lost if the process or the power ends at any operation, twice': () =>
    new Simulation(liveShortly, shortly).crashEverywhere(),
  ...Object.fromEntries(
    DURATIONS.flatMap((lasts) => [
      ...KINDS[lasts].map((kind) => [
        `No pet is lost if any operation fails with ${kind}, ${lasts}`,
        () => {
          // Each write leaves many files then.
          const isLong = lasts === 'for ever' && (kind === 'half' || kind === 'late');
          const options = isLong ? { ends: plainEnds } : shortly;
          return new Simulation(liveShortly, options).failEverywhere([kind], lasts);
        },
      ]),
      [
        `No pet is lost if memory fails at any request, ${lasts}`,
        () => new Simulation(liveInDoubt, shortly).failMemoryEverywhere(lasts),
      ],
    ]),
  ),
  'A pet with a key exists once if two operations fail and its client retries': () =>
    new Simulation(liveInDoubt, { ends: plainEnds }).failEverywhere(['EIO'], 'twice'),
  ...Object.fromEntries(
    Object.keys(meddling.MEDDLING).map((what) => [
      `No pet is lost if ${what} before any operation`,
      () => meddling.meddleEverywhere(what, 2),
    ]),
  ),
  'One of two processes that start at the same time is let in': meddling.startTwice,
  ...(isWhole && { 'The searches for breaks find nothing in a sound store': searchSoundStore }),
};

const tests = new TestsOfCases();
for (const [name, casesOf] of Object.entries(RUNS)) {
  await tests.pass(name, async () => {
    const cases: (readonly string[])[] = [];
    for await (const complaints of casesOf()) cases.push(complaints);
    return { cases: cases.length, complaints: cases.flat() };
  });
}
for (const [what, search] of BREAKS) if (isTried(what)) await tests.catch(what, search);
tests.report();
after(() => console.log(`Simulation: ${tests.cases} cases; ${tests.breaks} breaks caught`));
