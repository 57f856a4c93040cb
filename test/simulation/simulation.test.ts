/**
 * The file store in a simulation: every operation fails, every moment is the last one, memory is
 * exhausted, other programs change files. What was acknowledged or read exists afterwards, and
 * nothing that was refused.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { runBeforeTests } from '../support/run-before-tests.ts';
import { BREAKS, CHECKPOINTS, createsInDoubtByMemory } from './breaks.ts';
import {
  growLongJournal,
  liveInDoubt,
  liveOnce,
  liveOnLongJournal,
  liveShortly,
  type Script,
} from './callers.ts';
import { cutFiles, flipBits, overwriteTails, swapSnapshots } from './damage.ts';
import { JOURNAL, live } from './life.ts';
import {
  MEDDLING,
  meddleEverywhere,
  saveEverywhere,
  stepClockEverywhere,
  takeOverEverywhere,
  type Cases,
} from './meddling.ts';
import { Simulation, Tried, type SimulationOptions } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';
import { plainEnds } from './survival.ts';

type Result = Pick<Simulation, 'cases' | 'starts' | 'complaints'>;
type Run = () => Promise<Result>;

function simulate(
  script: Script,
  options: SimulationOptions,
  use: (simulation: Simulation) => Promise<void>,
): Run {
  return async () => {
    const simulation = new Simulation(script, options);
    await use(simulation);
    return simulation;
  };
}

function tryAll(...all: readonly (() => Cases)[]): Run {
  return async () => {
    const complaints: string[] = [];
    let cases = 0;
    for (const each of all) {
      for await (const found of each()) {
        cases += 1;
        complaints.push(...found);
      }
    }
    return { cases, starts: 0, complaints };
  };
}

const DURATIONS = ['once', 'for ever'] as const;
const KINDS: Readonly<Record<(typeof DURATIONS)[number], readonly Fault['kind'][]>> = {
  // Once, any error code is as valid as another.
  once: ['EIO', 'short', 'late'],
  'for ever': ['EIO', 'ENOSPC', 'EROFS', 'short', 'late'],
};
/** Different faults lead to the same files. */
const shortly = { tried: new Tried() };
/** Short enough for a checkpoint at each start. */
const LONG = 1000;
const longJournal = await live(growLongJournal);
const found = { image: longJournal.disk.image, known: longJournal.model.knowledge() };
const long = { ...found, ends: plainEnds, longJournalBytes: LONG };
/** Failures of the operation after a step of the clock. */
const CLOCK_FAULTS: readonly (Omit<Fault, 'at'> | undefined)[] = [
  undefined,
  { kind: 'EIO', lasts: 'once' },
  { kind: 'EIO', lasts: 'twice' },
  { kind: 'late', lasts: 'once' },
];
const clockSteps = [liveShortly, liveInDoubt].flatMap((script) =>
  CLOCK_FAULTS.map((fault) => () => stepClockEverywhere(script, fault)),
);

const RUNS: Readonly<Record<string, Run>> = {
  'No pet is lost if the process or the power ends at any operation, twice': simulate(
    liveShortly,
    shortly,
    (simulation) => simulation.crashEverywhere(),
  ),
  ...Object.fromEntries(
    DURATIONS.flatMap((lasts) => [
      ...KINDS[lasts].map((kind) => [
        `No pet is lost if any operation fails with ${kind}, ${lasts}`,
        simulate(liveShortly, shortly, (simulation) => simulation.failEverywhere([kind], lasts)),
      ]),
      [
        `No pet is lost if memory fails at any request, ${lasts}`,
        simulate(liveOnce, shortly, (simulation) => simulation.failMemoryEverywhere(lasts)),
      ],
    ]),
  ),
  'No pet is lost if a start with a long journal ends or fails at any operation': simulate(
    liveOnLongJournal,
    long,
    async (simulation) => {
      await simulation.crashEverywhere();
      await simulation.failEverywhere(['EIO', 'late'], 'once');
      await simulation.failEverywhere(['ENOSPC', 'EROFS'], 'for ever');
      await simulation.failMemoryEverywhere('once');
    },
  ),
  'A pet with a key exists once if two operations fail and its client retries': simulate(
    liveInDoubt,
    { ends: plainEnds },
    (simulation) => simulation.failEverywhere(['EIO'], 'twice'),
  ),
  'No pet is lost if any operation fails and checkpoints are tried before copies': simulate(
    liveInDoubt,
    CHECKPOINTS,
    (simulation) => simulation.failEverywhere(['EIO', 'late'], 'once'),
  ),
  'A step of the clock by 25 hours at any operation loses no key': tryAll(...clockSteps),
  ...Object.fromEntries(
    MEDDLING.map((meddling) => [
      `No pet is lost and no file overwritten if ${meddling.what} before any operation`,
      tryAll(() => meddleEverywhere(meddling)),
    ]),
  ),
  'A start with a flipped bit in a file is refused': tryAll(flipBits),
  'A start with a file that is cut off shows the complete commits, or is refused': tryAll(cutFiles),
  'A start with an overwritten tail of the journal is refused, unless it looks torn':
    tryAll(overwriteTails),
  'A start with the journal of another snapshot is refused': tryAll(swapSnapshots),
  'A stop that reports the pets as safe has saved every pet': tryAll(saveEverywhere),
  'A process whose files are taken over before any operation ends': tryAll(takeOverEverywhere),
  'Failing memory leaves no create in doubt': tryAll(createsInDoubtByMemory),
};

const outcomes = new Map<string, () => Result>();
for (const [name, run] of Object.entries(RUNS)) outcomes.set(name, await runBeforeTests(run));
const catches = new Map<string, () => readonly string[]>();
for (const [what, search] of BREAKS) catches.set(what, await runBeforeTests(search));

const sums = { cases: 0, different: 0, breaks: 0 };
after(() => {
  const { cases, different, breaks } = sums;
  console.log(`Simulation: ${cases} cases, ${different} different ones; ${breaks} breaks caught`);
});

for (const [name, outcome] of outcomes) {
  test(name, (t) => {
    const { cases, starts, complaints } = outcome();
    sums.cases += cases;
    sums.different += starts;
    t.diagnostic(`${cases} cases${starts === 0 ? '' : `, ${starts} of them different`}`);
    assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
    assert.notEqual(cases, 0);
  });
}

for (const [what, outcome] of catches) {
  test(`The simulation catches a store that ${what}`, (t) => {
    const [complaint] = outcome();
    assert.ok(complaint !== undefined);
    sums.breaks += 1;
    t.diagnostic(complaint);
  });
}

test('A start succeeds on a full disk, with a short or a long journal', async () => {
  for (const longJournalBytes of [LONG, Infinity]) {
    const fault: Fault = { at: 0, kind: 'ENOSPC', lasts: 'for ever' };
    const script: Script = async (callers) => {
      await callers.start();
      await callers.create(3);
    };
    const life = await live(script, { ...found, fault, longJournalBytes });
    assert.deepEqual([life.startError, life.complaints], [undefined, []]);
    assert.equal(life.model.petCount, found.known.pets.length);
  }
});

test('A single failure refuses creates, and a lasting failure of syncs leaves them in doubt', async () => {
  const { operations } = await live(liveOnce);
  const sums = { refused: 0, unknown: 0, unknownForEver: 0 };
  for (const [at, { kind, path }] of operations.entries()) {
    const { model } = await live(liveOnce, { fault: { at, kind: 'EIO', lasts: 'once' } });
    sums.refused += model.refusedCount;
    sums.unknown += model.unknownCount;
    if (kind !== 'sync' || path !== JOURNAL) continue;
    const lasting = await live(liveOnce, { fault: { at, kind: 'EIO', lasts: 'for ever' } });
    sums.unknownForEver += lasting.model.unknownCount;
  }
  assert.ok(sums.refused > 0);
  assert.equal(sums.unknown, 0);
  assert.ok(sums.unknownForEver > 0);
});
