/** All checks, in the order of a report, and how to select some of them. */

import { LEVELS, type Check, type Level } from './check.ts';
import { decisions } from './checks/decisions.ts';
import { demands, staying } from './checks/interface.ts';

export const CHECKS: readonly Check[] = [...demands, ...decisions, ...staying];

/** Returns the checks of a level and those before it, or only those with these names. */
export function checksOf(
  level: Level = 'interface',
  only: readonly string[] = [],
): readonly Check[] {
  if (only.length > 0) return CHECKS.filter((check) => isNamed(check, only));
  const levels = LEVELS.slice(0, LEVELS.indexOf(level) + 1);
  return CHECKS.filter((check) => levels.includes(check.level));
}

/** Returns whether there is a check with this name. */
export function isName(name: string): boolean {
  return CHECKS.some((check) => isNamed(check, [name]));
}

/** Checks are named by their ids, or by the part before the slash: `4.1`, `decisions`. */
export function isNamed({ id }: Check, names: readonly string[]): boolean {
  return names.some((name) => id === name || id.startsWith(`${name}/`));
}
