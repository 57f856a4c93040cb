/**
 * The file store in a simulation: every operation fails, every moment is the last one, memory is
 * exhausted, other programs change files. What was acknowledged or read exists afterwards, and
 * nothing that was refused.
 */

import { after } from 'node:test';
import { isWhole } from '../support/extent.ts';
import { TestsOfCases } from '../support/run-before-tests.ts';
import { isTried } from '../support/slips.ts';
import { BREAKS, CLOCK_STEPS, searchSoundStore } from './breaks.ts';
import { liveInDoubt, liveShortly } from './callers.ts';
import { crashImages, cutFiles, flipBits, zeroParts } from './damage.ts';
import type { Operation } from './life.ts';
import * as meddling from './meddling.ts';
import { Simulation, Tried, type Cases } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';
import { endsWithNames, plainEnds } from './survival.ts';

const DURATIONS = ['once', 'for ever'] as const;
const KINDS: Readonly<Record<(typeof DURATIONS)[number], readonly Fault['kind'][]>> = {
  // Once, any error code is as valid as another.
  once: ['EIO', 'half', 'short', 'late'],
  'for ever': ['EIO', 'ENOSPC', 'EROFS', 'half', 'short', 'late'],
};
/** Different faults lead to the same files. */
const shortly = { tried: new Tried() };
/** What gives or removes names. */
const isOfName = ({ kind }: Operation): boolean => /^(link|rename|syncDirectory)$/.test(kind);

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
  'No pet is lost where no file can have two names, if an operation fails and it ends anywhere':
    () =>
      new Simulation(liveShortly, { disk: { hasLinks: false } }).failEverywhere(
        ['EIO'],
        'once',
        isOfName,
      ),
  'No pet is lost where no folder is synced, if it ends anywhere and its names are kept': () =>
    new Simulation(liveShortly, {
      disk: { syncsFolders: false },
      ends: endsWithNames,
    }).crashEverywhere(),
  'A pet with a key exists once if two operations fail and its client retries': () =>
    new Simulation(liveInDoubt, { ends: plainEnds }).failEverywhere(['EIO'], 'twice'),
  ...Object.fromEntries(
    Object.keys(meddling.MEDDLING).map((what) => [
      `No pet is lost if ${what} before any operation`,
      () => meddling.meddleEverywhere(what, 2),
    ]),
  ),
  'One of two processes that start at the same time is let in': meddling.startTwice,
  'No key is lost if the clock steps by 25 hours, to and fro, at each operation': () =>
    new Simulation(liveInDoubt, CLOCK_STEPS).crashEverywhere(),
  'No key is lost if the clock steps at each operation, and two of them fail': () =>
    new Simulation(liveInDoubt, { ...CLOCK_STEPS, ends: plainEnds }).failEverywhere(
      ['EIO'],
      'twice',
    ),
  ...(isWhole && { 'The searches for breaks find nothing in a sound store': searchSoundStore }),
  'A start with a flipped bit in a file is refused': flipBits,
  'A start with a file that is cut off shows the commits before, or is refused': cutFiles,
  'A start with zeros that no crash leaves in a file is refused': zeroParts,
  'What a crash leaves of a commit at any position in a sector is read': crashImages,
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
