/**
 * Figures and how they are shown: a row for each comparison, a column for each Node.
 *
 * A figure is the median of the ratios of neighbouring bursts, with the least and the greatest. A
 * ratio is ours to theirs; that of processor time is turned round, so that more is better there as
 * it is with rates.
 */

export const RATE = { name: 'rate', key: 'rate', digits: 0, unit: '/s' };
export const PROCESSOR = {
  name: 'processor time',
  key: 'processorUs',
  digits: 1,
  unit: ' µs',
  isTurned: true,
};
export const P50 = { name: 'p50', key: 'p50', digits: 0, unit: ' µs' };

/** The median, with the least and the greatest. */
export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median =
    sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** The row of a comparison whose `pairs` are [ours, theirs] of one burst each. */
export function pairsRow({ what, against, goal = '', pairs, measure }) {
  const { name, key, digits, unit, isTurned = false } = measure;
  const ratios = pairs.map(([ours, theirs]) =>
    isTurned ? theirs[key] / ours[key] : ours[key] / theirs[key],
  );
  const shown = (side) => summary(pairs.map((pair) => pair[side][key])).median.toFixed(digits);
  return {
    what: `${what}, ${name}`,
    against,
    goal,
    figure: figure(ratios, 2, goal),
    absolute: `${shown(0)} : ${shown(1)}${unit}`,
  };
}

/** A figure with the mark of a goal that its median misses. */
export function figure(values, digits, goal = '') {
  const { median, min, max } = summary(values);
  // Where there is no /proc, there is no processor time.
  if (!Number.isFinite(median)) return '–';
  const text = `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
  return isMissed(goal, Number(median.toFixed(digits))) ? `${text} ✗` : text;
}

function isMissed(goal, value) {
  const [, sign, number] = /^([≥≤>]) ([0-9.]+)/.exec(goal) ?? [];
  const limit = Number(number);
  if (sign === '≥') return value < limit;
  if (sign === '≤') return value > limit;
  return sign === '>' && value <= limit;
}

/**
 * Prints the tables that a part gave with each Node, each as one. Columns without a word are left
 * out; a row that one Node does not have is a dash there.
 */
export function printTables(nodes, tablesByNode, isMarkdown) {
  for (const [index, { title }] of tablesByNode[0].entries()) {
    const rowsByNode = tablesByNode.map((tables) => tables[index].rows);
    const rows = unique(rowsByNode.flat(), keyOf);
    const head = ['What', 'Against', 'Goal', ...nodes.flatMap((node) => [node, 'ours : theirs'])];
    const lines = rows.map((row) => [
      row.what,
      row.against ?? '',
      row.goal ?? '',
      ...rowsByNode.flatMap((own) => {
        const found = own.find((other) => keyOf(other) === keyOf(row));
        return [found?.figure ?? '–', found?.absolute ?? ''];
      }),
    ]);
    console.log(`\n${isMarkdown ? '### ' : ''}${title}\n`);
    if (lines.length > 0) printLines(withoutEmptyColumns([head, ...lines]), isMarkdown);
    for (const note of unique(tablesByNode.flatMap((tables) => tables[index].notes ?? []))) {
      console.log(`\n${note}`);
    }
  }
}

function printLines([head, ...rows], isMarkdown) {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i].length)));
  const line = (cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]))
      .join('  ')
      .trimEnd();
  const markdown = (cells) => `| ${cells.join(' | ')} |`;
  const print = isMarkdown ? markdown : line;
  console.log(print(head));
  if (isMarkdown) console.log(`|${'---|'.repeat(head.length)}`);
  for (const row of rows) console.log(print(row));
}

function withoutEmptyColumns([head, ...rows]) {
  const isUsed = head.map((_, i) => rows.some((row) => row[i] !== ''));
  return [head, ...rows].map((row) => row.filter((_, i) => isUsed[i]));
}

function keyOf({ what, against, goal }) {
  return [what, against, goal].join('|');
}

function unique(values, key = (value) => value) {
  return [...new Map(values.map((value) => [key(value), value])).values()];
}
