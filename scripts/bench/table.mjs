/**
 * Figures and the tables that show them. A figure is the median of the ratios of pairs, ours to
 * theirs, with the least and the greatest.
 */

/**
 * A row of a table: its cells by the names of their columns.
 * @typedef {Record<string, string>} Row
 */

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/**
 * The text of a figure, with a goal such as `≥ 0.95` if its median misses it.
 * @param {readonly number[]} values
 */
export function figure(values, goal = '', digits = 2) {
  const value = median(values);
  // Without /proc there is no processor time.
  if (!Number.isFinite(value)) return '–';
  const range = [Math.min(...values), Math.max(...values)].map((end) => end.toFixed(digits));
  const text = value.toFixed(digits);
  const [sign, bound] = goal.split(' ');
  const limit = Number(bound);
  const isMissed = sign === '≥' ? Number(text) < limit : sign === '≤' && Number(text) > limit;
  return `${text} (${range.join('–')})${isMissed ? ` ✗ ${goal}` : ''}`;
}

/**
 * Prints rows as Markdown tables: one for all rows that have the same first column.
 * @param {readonly Row[]} all
 */
export function printTable(all) {
  const [first = ''] = Object.keys(all[0] ?? {});
  const rows = all.filter((row) => first in row);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  /** @param {readonly string[]} cells */
  const line = (cells) => console.log(`| ${cells.join(' | ')} |`);
  console.log('');
  line(columns);
  console.log(`|${'---|'.repeat(columns.length)}`);
  for (const row of rows) line(columns.map((column) => row[column] ?? ''));
  if (rows.length < all.length) printTable(all.filter((row) => !(first in row)));
}
