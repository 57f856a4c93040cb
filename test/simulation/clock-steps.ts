/**
 * Clock steps: the time of day is stepped by 25 hours, longer than a key is kept, before any
 * operation. No key may be forgotten: a retry would store a second pet.
 */

import type { Script } from './callers.ts';
import { live, type LifeOptions } from './life.ts';
import { nameOf, type Cases } from './meddling.ts';
import { isInSample } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';

type FaultAnywhere = Omit<Fault, 'at'>;

/** Failures of the operation after the step, too. */
export const CLOCK_FAULTS: readonly (FaultAnywhere | undefined)[] = [
  undefined,
  { kind: 'EIO', lasts: 'once' },
  { kind: 'EIO', lasts: 'twice' },
  { kind: 'late', lasts: 'once' },
];

/** Without --all, one case in this many is tried. */
const SAMPLE = 12;

export async function* stepClockEverywhere(
  script: Script,
  fault?: FaultAnywhere,
  options: LifeOptions = {},
): Cases {
  const { operations } = await live(script);
  for (const at of operations.keys()) {
    for (const hours of [-25, 25]) {
      const where = `${hours} hours before ${nameOf(operations, at)}`;
      if (!isInSample(`${fault?.kind} ${fault?.lasts} ${where}`, SAMPLE)) continue;
      const clockStep = { at, ms: hours * 3_600_000 };
      const life = await live(script, { ...options, clockStep, fault: fault && { at, ...fault } });
      yield life.complaints.map((complaint) => `${where}: ${complaint}`);
    }
  }
}
