/** What a trial has found, as text. */

import { printLife } from '../ladder/show.mjs';
import { printed, printTable } from '../ladder/table.mjs';
import { COLUMNS } from './trial.mjs';

/**
 * @import { Column, Verdict } from './trial.mjs'
 */

/**
 * Prints the table of some stores.
 * @param {readonly (readonly [name: string, verdict: Verdict])[]} verdicts
 * @param {boolean} isMarkdown
 */
export function printVerdicts(verdicts, isMarkdown) {
  const heads = ['Store', ...COLUMNS].map((text) => ({ text }));
  const rows = verdicts.map(([name, { cells }]) => {
    return [{ text: name }, ...[...cells.values()].map(printed)];
  });
  printTable([heads, ...rows], isMarkdown);
}

/**
 * Prints what makes the table doubtful.
 * @param {Verdict} verdict
 */
export function printProblems({ problems, notes }) {
  for (const text of problems) console.log(`The table may be wrong: ${text}`);
  for (const text of notes) console.log(`Note: ${text}`);
}

/**
 * Prints the shortest loss of each column.
 * @param {Verdict} verdict
 */
export function printLosses({ cells }) {
  /** @type {Map<string, Column>} */
  const shown = new Map();
  for (const [column, { shortest }] of cells) {
    if (shortest === undefined) continue;
    const life = JSON.stringify(shortest);
    const same = shown.get(life);
    shown.set(life, same ?? column);
    if (same === undefined) {
      console.log(`\n${column}:`);
      printLife(shortest);
    } else {
      console.log(`\n${column}: the same life as for "${same}"`);
    }
  }
}

/**
 * 0 if nothing is lost, 1 if anything is, 2 if the trial says nothing, since the store makes calls
 * that the recorder does not know.
 * @param {Verdict} verdict
 */
export function exitCodeOf({ cells, problems }) {
  if (problems.size > 0) return 2;
  return [...cells.values()].some(({ lost }) => lost > 0) ? 1 : 0;
}
