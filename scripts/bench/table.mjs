/** Figures of several rounds, and how they are shown. */

/** The median, with the least and the greatest. */
export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], min: sorted[0], max: sorted.at(-1) };
}

/** The ratio of two contenders in each round, summed up. */
export function ratio(ours, theirs) {
  return summary(ours.map((value, round) => value / theirs[round]));
}

/**
 * Prints a table of `{ what, against, goal, ratio, ours, unit }` rows under a title, with a bar for
 * each ratio: the mark `|` stands at the goal.
 */
export function printTable({ title, rows }) {
  console.log(`\n${title}\n`);
  const cells = rows.map((row) => [
    row.what,
    row.against,
    row.goal ?? '',
    `${row.ratio.median.toFixed(2)} (${row.ratio.min.toFixed(2)}–${row.ratio.max.toFixed(2)})`,
    row.ours ?? '',
    bar(row),
  ]);
  const head = ['What', 'Against', 'Goal', 'Ratio (least–greatest)', 'Ours', ''];
  const widths = head.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i].length)));
  for (const row of [head, ...cells]) {
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    );
  }
}

const BAR_WIDTH = 24;

function bar({ ratio: { median }, goal }) {
  const goalValue = Number(/[0-9.]+/.exec(goal ?? '')?.[0] ?? NaN);
  const scale = BAR_WIDTH / (1.5 * Math.max(median, Number.isNaN(goalValue) ? 1 : goalValue));
  const cells = [...'█'.repeat(Math.max(1, Math.round(median * scale))).padEnd(BAR_WIDTH)];
  const mark = Math.round(goalValue * scale);
  if (!Number.isNaN(goalValue) && mark < BAR_WIDTH) cells[mark] = '|';
  return cells.join('').trimEnd();
}
