/** All checks, in the order of a report, and how to select some of them. */

import { LEVELS, type Check, type Level } from './check.ts';
import { decisions } from './checks/decisions.ts';
import { http } from './checks/http.ts';
import { resources } from './checks/part-2-resources.ts';
import { states } from './checks/part-3-states.ts';
import { emptyLists, listPets } from './checks/part-4-1-list-pets.ts';
import { createPet } from './checks/part-4-2-create-pet.ts';
import { getPet } from './checks/part-4-3-get-pet.ts';
import { endpoints } from './checks/part-4-endpoints.ts';
import { authentication } from './checks/part-5-authentication.ts';
import { errors } from './checks/part-7-errors.ts';
import { limits } from './checks/part-8-limits.ts';
import { versioning } from './checks/part-9-versioning.ts';

export const CHECKS: readonly Check[] = [
  // First, since an empty list can be seen only before another check adds a pet.
  ...emptyLists,
  ...[resources, states, endpoints, listPets, createPet, getPet].flat(),
  ...[authentication, errors, limits, versioning].flat(),
  ...[decisions, http].flat(),
];

/** Returns the checks of a level and those before it. `only` selects by id, or its first part. */
export function checksOf(level: Level, only: readonly string[] = []): readonly Check[] {
  const levels = LEVELS.slice(0, LEVELS.indexOf(level) + 1);
  return CHECKS.filter(
    (check) => levels.includes(check.level) && (only.length === 0 || only.some(isOf(check))),
  );
}

/** True if the name is the check's id, or the part before the slash: `4.1`, `decisions`. */
export function isOf({ id }: Check): (name: string) => boolean {
  return (name) => id === name || id.startsWith(`${name}/`);
}
