/** What a trial has found, as text. */

import { COLUMNS } from './trial.mjs';

/**
 * @import { Verdict } from './trial.mjs'
 */

/**
 * Returns a row of the table for a store.
 * @param {string} name
 * @param {Verdict} verdict
 * @returns {readonly string[]}
 */
export function rowOf(name, { cells }) {
  const texts = COLUMNS.map((column) => {
    const { tried = 0, lost = 0 } = cells.get(column) ?? {};
    if (tried === 0) return '–';
    return lost > 0 ? `**${lost} of ${tried}**` : `0 of ${tried}`;
  });
  return [name, ...texts];
}

/** @param {readonly (readonly string[])[]} rows */
export function printRows(rows) {
  const heads = ['Store', ...COLUMNS];
  const widths = heads.map((head, at) => {
    return Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0));
  });
  /** @param {readonly string[]} cells */
  const line = (cells) => {
    return `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  };
  console.log(line(heads));
  console.log(`|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
  for (const row of rows) console.log(line(row));
}

/**
 * Prints the shortest loss of each column, and what makes the table doubtful.
 * @param {Verdict} verdict
 */
export function printLosses({ cells, problems, notes }) {
  for (const [column, { shortest }] of cells) {
    if (shortest === undefined) continue;
    console.log(`\n${column}:`);
    for (const [index, step] of shortest.steps.entries()) {
      console.log(`${String(index + 1).padStart(4)}  ${step}`);
    }
    console.log(`      ${shortest.end}\n      then: ${shortest.found}`);
  }
  for (const text of notes) console.log(`Note: ${text}`);
  for (const text of problems) console.log(`The table may be wrong: ${text}`);
}

/**
 * 0 if nothing is lost, 1 if anything is, 2 if the trial says nothing: the store acknowledges
 * nothing, or makes calls that the recorder does not know.
 * @param {Verdict} verdict
 */
export function exitCodeOf({ cells, acknowledged, problems }) {
  if (acknowledged === 0 || problems.length > 0) return 2;
  return [...cells.values()].some(({ lost }) => lost > 0) ? 1 : 0;
}
