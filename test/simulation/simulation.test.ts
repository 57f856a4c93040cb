/**
 * The file store in a simulation: every operation fails, every moment is the last one, memory is
 * exhausted, other programs change files. What was acknowledged or read exists afterwards, and
 * nothing that was refused.
 *
 * The cases run before the first test begins: node:test follows each promise of a test, which
 * takes a quarter of the time.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BREAKS, CHECKPOINTS, createsInDoubtByMemory } from './breaks.ts';
import {
  growLongJournal,
  liveInDoubt,
  liveOnce,
  liveOnLongJournal,
  liveShortly,
  type Script,
} from './callers.ts';
import { CLOCK_FAULTS, stepClockEverywhere } from './clock-steps.ts';
import { flipEveryByte, overwriteTails, swapSnapshots } from './damage.ts';
import { JOURNAL, live } from './life.ts';
import { MEDDLING, meddleEverywhere, saveEverywhere, type Cases } from './meddling.ts';
import { Simulation, Tried, type SimulationOptions } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';
import { plainEnds } from './survival.ts';

/** What a test found. */
interface Result {
  readonly cases: number;
  /** Those that no other case equals, if that is known. */
  readonly different?: number;
  readonly complaints: readonly string[];
}

interface Part {
  readonly name: string;
  readonly run: () => Promise<Result>;
}

/** Different faults lead to the same files. */
const tried = new Tried();

function simulate(
  name: string,
  script: Script,
  options: SimulationOptions,
  use: (simulation: Simulation) => Promise<void>,
): Part {
  const run = async (): Promise<Result> => {
    const simulation = new Simulation(script, options);
    await use(simulation);
    const { cases, starts, complaints } = simulation;
    return { cases, different: starts, complaints };
  };
  return { name, run };
}

function tryAll(name: string, allCases: readonly (() => Cases)[]): Part {
  const run = async (): Promise<Result> => {
    const complaints: string[] = [];
    let cases = 0;
    for (const each of allCases) {
      for await (const found of each()) {
        cases += 1;
        complaints.push(...found);
      }
    }
    return { cases, complaints };
  };
  return { name, run };
}

const FAULTS: readonly (readonly [Fault['kind'], Fault['lasts']])[] = [
  // Once, any error code is as good as another.
  ...(['EIO', 'short', 'late'] as const).map((kind) => [kind, 'once'] as const),
  ...(['EIO', 'ENOSPC', 'EROFS', 'short', 'late'] as const).map(
    (kind) => [kind, 'for ever'] as const,
  ),
];

/** Short enough for a checkpoint at each start. */
const LONG = 1000;
const longJournal = await live(growLongJournal);
const found = { image: longJournal.disk.image, known: longJournal.model.knowledge() };

const PARTS: readonly Part[] = [
  simulate(
    'No pet is lost if the process or the power ends at any operation, twice',
    liveShortly,
    { tried },
    (simulation) => simulation.crashEverywhere(),
  ),
  ...FAULTS.map(([kind, lasts]) =>
    simulate(
      `No pet is lost if any operation fails with ${kind}, ${lasts}`,
      liveShortly,
      { tried },
      (simulation) => simulation.failEverywhere([kind], lasts),
    ),
  ),
  ...(['once', 'for ever'] as const).map((lasts) =>
    simulate(
      `No pet is lost if memory fails at any request, ${lasts}`,
      liveOnce,
      { tried },
      (simulation) => simulation.failMemoryEverywhere(lasts),
    ),
  ),
  simulate(
    'No pet is lost if a start with a long journal ends or fails at any operation',
    liveOnLongJournal,
    { ...found, ends: plainEnds, longJournalBytes: LONG },
    async (simulation) => {
      await simulation.crashEverywhere();
      await simulation.failEverywhere(['EIO', 'late'], 'once');
      await simulation.failEverywhere(['ENOSPC', 'EROFS'], 'for ever');
      await simulation.failMemoryEverywhere('once');
    },
  ),
  simulate(
    'A pet with a key exists once if two operations fail and its client retries',
    liveInDoubt,
    { ends: plainEnds },
    (simulation) => simulation.failEverywhere(['EIO'], 'twice'),
  ),
  simulate(
    'No pet is lost if any operation fails and checkpoints are tried before copies',
    liveInDoubt,
    CHECKPOINTS,
    (simulation) => simulation.failEverywhere(['EIO', 'late'], 'once'),
  ),
  tryAll(
    'A clock that is stepped by 25 hours at any operation loses no key and no pet is stored twice',
    [liveShortly, liveInDoubt].flatMap((script) =>
      CLOCK_FAULTS.map((fault) => () => stepClockEverywhere(script, fault)),
    ),
  ),
  ...MEDDLING.map((meddling) =>
    tryAll(`No pet is lost and no file overwritten if ${meddling.what} before any operation`, [
      () => meddleEverywhere(meddling),
    ]),
  ),
  tryAll('A start with a flipped bit in a file is refused, or shows every pet', [flipEveryByte]),
  tryAll('A start with an overwritten tail of the journal is refused, or shows every pet', [
    overwriteTails,
  ]),
  tryAll('A start with a journal of another snapshot with the same last id is refused', [
    swapSnapshots,
  ]),
  tryAll('A stop that reports the pets as safe has saved every pet', [saveEverywhere]),
  tryAll('Failing memory leaves no create in doubt', [createsInDoubtByMemory]),
];

async function outcomeOf<T>(run: () => Promise<T>): Promise<() => T> {
  try {
    const result = await run();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

const soundness: (readonly [string, () => Result])[] = [];
for (const { name, run } of PARTS) soundness.push([name, await outcomeOf(run)]);
const catches: (readonly [string, () => readonly string[]])[] = [];
for (const { what, run } of BREAKS) catches.push([what, await outcomeOf(run)]);

const sums = { cases: 0, different: 0, breaks: 0 };

for (const [name, outcome] of soundness) {
  test(name, (t) => {
    const { cases, different, complaints } = outcome();
    sums.cases += cases;
    sums.different += different ?? 0;
    t.diagnostic(`${cases} cases${different === undefined ? '' : `, ${different} different ones`}`);
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

test('The simulation has run', () => {
  const { cases, different, breaks } = sums;
  console.log(`Simulation: ${cases} cases, ${different} different ones; ${breaks} breaks caught`);
  assert.ok(cases > 0 && breaks > 0);
});

test('The retry of a client decides a key in doubt, without any other create', async () => {
  const { operations } = await live(liveInDoubt);
  let inDoubt = 0;
  for (const [at, { kind, path }] of operations.entries()) {
    if (kind !== 'sync' || path !== JOURNAL) continue;
    const { model, complaints } = await live(
      async (callers) => {
        await callers.start();
        await callers.createOnce(3);
        await callers.createOnce(3);
      },
      { fault: { at, kind: 'EIO', lasts: 'twice' } },
    );
    const unanswered = model.clients.filter(({ id }) => id === undefined);
    assert.deepEqual([unanswered, complaints], [[], []]);
    inDoubt += model.unknownCount;
  }
  assert.ok(inDoubt > 0);
});

for (const [what, longJournalBytes] of [
  ['long', LONG],
  ['short', Infinity],
] as const) {
  test(`A start with a ${what} journal succeeds on a full disk`, async () => {
    const fault: Fault = { at: 0, kind: 'ENOSPC', lasts: 'for ever' };
    const script: Script = async (callers) => {
      await callers.start();
      await callers.create(3);
    };
    const life = await live(script, { ...found, fault, longJournalBytes });
    assert.deepEqual([life.startError, life.complaints], [undefined, []]);
    assert.equal(life.model.petCount, found.known.pets.length);
  });
}

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
