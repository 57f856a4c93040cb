/** All checks, in the order of a report, and how to select some of them. */

import { LEVELS, type Check, type Level } from './check.ts';
import { decisions } from './checks/decisions.ts';
import { demands } from './checks/interface.ts';

export const CHECKS: readonly Check[] = [...demands, ...decisions];

/**
 * Returns the checks of a level and those before it. `only` selects some of them by their ids, or
 * by the part before the slash: `4.1`, `decisions`.
 */
export function checksOf(
  level: Level = 'interface',
  only: readonly string[] = [],
): readonly Check[] {
  const levels = LEVELS.slice(0, LEVELS.indexOf(level) + 1);
  const isSelected = ({ id }: Check): boolean =>
    only.length === 0 || only.some((name) => id === name || id.startsWith(`${name}/`));
  return CHECKS.filter((check) => levels.includes(check.level) && isSelected(check));
}
