/** All checks, in the order of a report. */

import { badInput } from './bad-input.ts';
import { PARTS, type Check } from './check.ts';
import { gaps } from './gaps.ts';
import { http } from './http.ts';
import { resources } from './part-2-resources.ts';
import { states } from './part-3-states.ts';
import { listPets } from './part-4-1-list-pets.ts';
import { createPet } from './part-4-2-create-pet.ts';
import { getPet } from './part-4-3-get-pet.ts';
import { endpoints } from './part-4-endpoints.ts';
import { authentication } from './part-5-authentication.ts';
import { errors } from './part-7-errors.ts';
import { limits } from './part-8-limits.ts';
import { versioning } from './part-9-versioning.ts';

const CHECKS: readonly Check[] = [
  ...[...resources, ...states, ...endpoints, ...listPets, ...createPet, ...getPet],
  ...[...authentication, ...errors, ...limits, ...versioning],
  ...[...gaps, ...http, ...badInput],
];

export interface Selection {
  /** Only what the interface demands, or only this project's decisions. */
  readonly only?: Check['demand'] | undefined;
  /** Only this part, and those below it: '4' has 4.1, too. */
  readonly part?: string | undefined;
}

/** The checks of a selection: all by default, none where there is no such part. */
export function checksOf({ only, part }: Selection = {}): readonly Check[] {
  return CHECKS.filter(
    (check) =>
      (only === undefined || check.demand === only) &&
      (part === undefined || check.part === part || check.part.startsWith(`${part}.`)),
  );
}

export function isPart(text: string): boolean {
  return PARTS.some(([part]) => part === text);
}
