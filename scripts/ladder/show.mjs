/** One row of the ladder: what it leaves out, and a short life in which it loses a pet. */

import { loadLines, loadLosses, loadStores, rowsOf } from './built.mjs';

/**
 * @import { Column, Row } from '../../test/ladder/variants.ts'
 * @import { Loss } from '../../test/ladder/losses.ts'
 */

/**
 * @param {string} name
 */
export async function showRow(name) {
  const [row] = await rowsOf([name]);
  if (row === undefined) return;
  const { changedLines, whereIs } = await loadLines();
  console.log(`${row.name}: ${row.what}`);
  for (const { where, before, after } of changedLines(row)) {
    console.log(`\n  ${where}\n- ${before}`);
    if (after !== '') console.log(`+ ${after}`);
  }
  const column = columnOf(row);
  const { withStore } = await loadStores();
  const { tryColumn } = await loadLosses();
  const cell = await withStore(row, (open) => tryColumn(column ?? 'power failure', open));
  if (cell.shortest === undefined) {
    console.log(`\nIt loses no pet: after none of ${cell.tried} power failures, and in no column.`);
  } else {
    console.log(`\nA short life in which it loses a pet (${column}):\n`);
    printLife(cell.shortest);
  }
  if (row.core !== undefined) {
    console.log(`\nThe core does it in ${whereIs(row.core)}:\n    ${row.core.text}`);
  }
  for (const peer of row.peers ?? []) console.log(`Written so: ${peer}`);
}

/**
 * Returns what this row loses a pet by, and a second process only if there is nothing else.
 * @param {Row} row
 * @returns {Column | undefined}
 */
function columnOf({ loses }) {
  return loses[0];
}

/** @param {Loss} loss */
function printLife({ steps, end, found }) {
  for (const [index, step] of steps.entries())
    console.log(`${String(index + 1).padStart(4)}  ${step}`);
  console.log(`      ${end}`);
  console.log(`      then: ${found}`);
}
