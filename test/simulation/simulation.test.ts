/**
 * The file store in a simulation: every operation fails, every moment is the last one, memory is
 * exhausted, other programs change files. What was acknowledged or read exists afterwards, and
 * nothing that was refused.
 */

import { after } from 'node:test';
import { TestsOfCases } from '../support/run-before-tests.ts';
import { BREAKS, createsInDoubtByMemory } from './breaks.ts';
import { liveInDoubt, liveShortly } from './callers.ts';
import { cutFiles, flipBits, swapDataFiles } from './damage.ts';
import {
  MEDDLING,
  meddleEverywhere,
  restoreEverywhere,
  stepClockEverywhere,
  takeOverEverywhere,
} from './meddling.ts';
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
/** Failures of the operation after a step of the clock. */
const CLOCK_FAULTS: readonly (Omit<Fault, 'at'> | undefined)[] = [
  undefined,
  { kind: 'EIO', lasts: 'once' },
  { kind: 'EIO', lasts: 'twice' },
  { kind: 'late', lasts: 'once' },
];
const RUNS: Readonly<Record<string, () => Cases>> = {
  'No pet is lost if the process or the power ends at any operation, twice': () =>
    new Simulation(liveShortly, shortly).crashEverywhere(),
  ...Object.fromEntries(
    DURATIONS.flatMap((lasts) => [
      ...KINDS[lasts].map((kind) => [
        `No pet is lost if any operation fails with ${kind}, ${lasts}`,
        () => new Simulation(liveShortly, shortly).failEverywhere([kind], lasts),
      ]),
      [
        `No pet is lost if memory fails at any request, ${lasts}`,
        () => new Simulation(liveInDoubt, shortly).failMemoryEverywhere(lasts),
      ],
    ]),
  ),
  'A pet with a key exists once if two operations fail and its client retries': () =>
    new Simulation(liveInDoubt, { ends: plainEnds }).failEverywhere(['EIO'], 'twice'),
  async *'A step of the clock by 25 hours at any operation loses no key'() {
    for (const script of [liveShortly, liveInDoubt]) {
      for (const fault of CLOCK_FAULTS) yield* stepClockEverywhere(script, fault);
    }
  },
  ...Object.fromEntries(
    MEDDLING.map((meddling) => [
      `No pet is lost and no file overwritten if ${meddling.what} before any operation`,
      () => meddleEverywhere(meddling),
    ]),
  ),
  'A start with a flipped bit in a file is refused': flipBits,
  'A start with a file that is cut off shows the complete commits, or is refused': cutFiles,
  'A start with the journal of another data file is refused': swapDataFiles,
  'A process whose files are taken over before any operation saves every pet, or reports it':
    takeOverEverywhere,
  'A copy of the data file is durable before a create relies on it': restoreEverywhere,
  'Failing memory leaves no create in doubt': createsInDoubtByMemory,
};

const tests = new TestsOfCases();
for (const [name, casesOf] of Object.entries(RUNS)) {
  await tests.pass(name, async () => {
    const cases: (readonly string[])[] = [];
    for await (const complaints of casesOf()) cases.push(complaints);
    return { cases: cases.length, complaints: cases.flat() };
  });
}
for (const [what, search] of BREAKS) await tests.catch(what, search);
tests.report();
after(() => {
  if (tests.cases > 0)
    console.log(`Simulation: ${tests.cases} cases; ${tests.breaks} breaks caught`);
});
