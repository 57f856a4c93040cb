/** All checks, in the order of a report, and how to select some of them. */

import { LEVELS, type Check, type Level } from './check.ts';
import { decisions } from './checks/decisions.ts';
import { demands } from './checks/interface.ts';

export const CHECKS: readonly Check[] = [...demands, ...decisions];

/** Returns the checks of a level and those before it. `only` selects by id, or its first part. */
export function checksOf(
  level: Level = 'interface',
  only: readonly string[] = [],
): readonly Check[] {
  const levels = LEVELS.slice(0, LEVELS.indexOf(level) + 1);
  const isSelected = (check: Check): boolean => only.length === 0 || only.some(isOf(check));
  return CHECKS.filter((check) => levels.includes(check.level) && isSelected(check));
}

/** True if the name is the check's id, or the part before the slash: `4.1`, `decisions`. */
export function isOf({ id }: Check): (name: string) => boolean {
  return (name) => id === name || id.startsWith(`${name}/`);
}
