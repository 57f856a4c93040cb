/** The table of the ladder: a row for each rung and broken variant, a column for each fault. */

import { loadLosses, loadStores, loadVariants, rowsOf } from './built.mjs';
import { CALLERS, measureCreates } from './speed.mjs';

/**
 * @import { Cell } from '../../test/ladder/losses.ts'
 */

const SIZES = [1000, 100_000];

/**
 * A cell as it is printed, and whether pets are lost there.
 * @typedef {{ text: string, isLoss?: boolean | undefined }} Printed
 */

/**
 * @typedef {{
 *   names: readonly string[] | undefined,
 *   folder: string | undefined,
 *   isMarkdown: boolean,
 * }} LadderOptions
 */

/**
 * Tries and measures the rows, and prints the table. Without a folder it measures no speeds.
 * @param {LadderOptions} options
 */
export async function printLadder({ names, folder, isMarkdown }) {
  const [{ COLUMNS }, { withStore }, { tryColumn }] = await Promise.all([
    loadVariants(),
    loadStores(),
    loadLosses(),
  ]);
  const sizes = folder === undefined ? [] : SIZES;
  const heads = ['Row', ...COLUMNS, ...sizes.map((size) => `${size.toLocaleString('en')} pets`)];
  /** @type {Printed[][]} */
  const table = [heads.map((text) => ({ text }))];
  for (const row of await rowsOf(names)) {
    const isRung = row.patches.length === 0 && row.name !== 'no-lock';
    const cells = await withStore(row, async (open) => {
      /** @type {Printed[]} */
      const found = [{ text: isRung ? row.name : `· ${row.name}` }];
      for (const column of COLUMNS) {
        progress(`${row.name}: ${column}`);
        found.push(printed(await tryColumn(column, open)));
      }
      for (const size of sizes) {
        progress(`${row.name}: ${size} pets`);
        found.push({ text: rounded(await measureCreates(open, size, folder ?? '')) });
      }
      return found;
    });
    table.push(cells);
  }
  progress('');
  if (isMarkdown) printMarkdown(table);
  else printText(table);
  const date = new Date().toISOString().slice(0, 10);
  console.log(
    '\nA cell says after how many of the tried ends a pet is lost, on the simulated disk.',
  );
  if (folder === undefined) return;
  console.log(
    `The last columns: creates a second with so many pets and ${CALLERS} callers, in process, on ` +
      `the disk of ${folder}; ${date}, Node ${process.versions.node}.`,
  );
}

/** @param {Cell} cell */
function printed({ tried, lost }) {
  // There is no such operation that could fail.
  if (tried === 0) return { text: '–' };
  return { text: `${lost} of ${tried}`, isLoss: lost > 0 };
}

/** Two digits: more would not be the same again. @param {number} value */
function rounded(value) {
  return Number(value.toPrecision(2)).toLocaleString('en');
}

/** @param {readonly Printed[][]} table */
function printMarkdown(table) {
  for (const [index, cells] of table.entries()) {
    console.log(
      `| ${cells.map(({ text, isLoss }) => (isLoss ? `**${text}**` : text)).join(' | ')} |`,
    );
    if (index === 0) console.log(`|${cells.map((_, at) => (at === 0 ? '---|' : '--:|')).join('')}`);
  }
}

const RED = '\x1b[31m';
const GREEN = '\x1b[32m';
const PLAIN = '\x1b[0m';

/** @param {readonly Printed[][]} table */
function printText(table) {
  const widths = (table[0] ?? []).map((_, at) => {
    return Math.max(...table.map((cells) => cells[at]?.text.length ?? 0));
  });
  for (const cells of table) {
    const texts = cells.map(({ text, isLoss }, at) => {
      const width = widths[at] ?? 0;
      const padded = at === 0 ? text.padEnd(width) : text.padStart(width);
      if (isLoss === undefined || !process.stdout.isTTY) return padded;
      return `${isLoss ? RED : GREEN}${padded}${PLAIN}`;
    });
    console.log(texts.join('  '));
  }
}

/** @param {string} text */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
