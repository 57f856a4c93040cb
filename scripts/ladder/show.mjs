/** One row of the ladder: what it leaves out, and a short life in which it loses a pet. */

import { loadLines, loadLosses, loadStores, rowsOf } from './built.mjs';

/**
 * @import { Loss } from '../../test/ladder/losses.ts'
 */

/**
 * Prints a row: the lines that it changes, and a short life, by what it loses a pet first. Each row
 * of a rung loses one beside a second process, too, so that column is the last one.
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
  const [column] = row.loses;
  const { withStore } = await loadStores();
  const { tryColumn } = await loadLosses();
  const cell = await withStore(row, (open) => tryColumn(column ?? 'power failure', open));
  if (cell.shortest === undefined) {
    console.log(`\nIt loses no pet: after none of ${cell.tried} power failures, and in no column.`);
  } else {
    console.log(`\nA short life in which it loses a pet (${column}):\n`);
    printLife(cell.shortest);
  }
  if (row.answer !== undefined) {
    console.log(`\nThis line prevents it, ${whereIs(row.answer)}:\n    ${row.answer.text}`);
  }
  for (const peer of row.peers ?? []) console.log(`Written so: ${peer}`);
}

/** @param {Loss} loss */
export function printLife({ steps, end, found }) {
  for (const [index, step] of steps.entries()) {
    console.log(`${String(index + 1).padStart(4)}  ${step}`);
  }
  console.log(`      ${end}`);
  console.log(`      then: ${found}`);
}
