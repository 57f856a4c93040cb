/** All checks, in the order of a report, and how to select some of them. */

import { LEVELS, type Check, type Level } from './check.ts';
import { decisions } from './checks/decisions.ts';
import { demands } from './checks/interface.ts';

export const CHECKS: readonly Check[] = [...demands, ...decisions];

/**
 * Returns the checks of a level and those before it: `interface` by default, and with `only` all.
 * `only` selects some of them.
 */
export function checksOf(level?: Level, only: readonly string[] = []): readonly Check[] {
  const last = level ?? (only.length > 0 ? 'http' : 'interface');
  const levels = LEVELS.slice(0, LEVELS.indexOf(last) + 1);
  const isSelected = (check: Check): boolean => only.length === 0 || isNamed(check, only);
  return CHECKS.filter((check) => levels.includes(check.level) && isSelected(check));
}

/** Checks are named by their ids, or by the part before the slash: `4.1`, `decisions`. */
export function isNamed({ id }: Check, names: readonly string[]): boolean {
  return names.some((name) => id === name || id.startsWith(`${name}/`));
}
