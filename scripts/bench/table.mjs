/**
 * Figures and the tables that show them. A figure is the median of the ratios of pairs, ours to
 * theirs, with the least and the greatest.
 */

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The text of a figure, with a goal such as `≥ 0.95` if its median misses it. */
export function figure(values, goal = '', digits = 2) {
  const value = median(values);
  // Without /proc there is no processor time.
  if (!Number.isFinite(value)) return '–';
  const range = [Math.min(...values), Math.max(...values)].map((end) => end.toFixed(digits));
  const text = value.toFixed(digits);
  const [sign, limit] = goal.split(' ');
  const isMissed = sign === '≥' ? Number(text) < limit : sign === '≤' && Number(text) > limit;
  return `${text} (${range.join('–')})${isMissed ? ` ✗ ${goal}` : ''}`;
}

/** Prints rows as a Markdown table. A row has its cells by the names of their columns. */
export function printTable(rows) {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const line = (cells) => console.log(`| ${cells.join(' | ')} |`);
  console.log('');
  line(columns);
  console.log(`|${'---|'.repeat(columns.length)}`);
  for (const row of rows) line(columns.map((column) => row[column] ?? ''));
}
