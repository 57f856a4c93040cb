/** The table of the ladder: a row for each rung and broken variant, a column for each fault. */

import { median } from '../bench/table.mjs';
import { progress } from '../progress.mjs';
import { loadLosses, loadStores, loadVariants, rowsOf } from './built.mjs';
import { CALLERS, CREATES, measureCreates } from './speed.mjs';

/**
 * @import { Cell } from '../../test/ladder/losses.ts'
 * @import { Row } from '../../test/ladder/variants.ts'
 */

const SIZES = [1000, 100_000];
const ROUNDS = 5;

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
  const rows = await rowsOf(names);
  const seconds = rows.length * (folder === undefined ? SECONDS : SECONDS_WITH_SPEEDS);
  console.error(`About ${Math.ceil(seconds)} s, if the machine does nothing else`);
  const { COLUMNS } = await loadVariants();
  const { withStore } = await loadStores();
  const { tryColumn } = await loadLosses();
  /** @type {Printed[][]} */
  const table = [];
  for (const row of rows) {
    const isRung = row.patches.length === 0 && row.name !== 'no-lock';
    /** @type {Printed[]} */
    const cells = [{ text: isRung ? row.name : `· ${row.name}` }];
    await withStore(row, async (open) => {
      for (const column of COLUMNS) {
        progress(`${row.name}: ${column}`);
        cells.push(printed(await tryColumn(column, open)));
      }
    });
    table.push(cells);
  }
  const speeds = folder === undefined ? undefined : await measureSpeeds(rows, folder);
  for (const [index, cells] of table.entries()) {
    for (const rates of speeds?.[index] ?? []) cells.push({ text: rounded(Math.max(...rates)) });
  }
  progress('');
  const sizes = folder === undefined ? [] : SIZES;
  const heads = ['Row', ...COLUMNS, ...sizes.map((size) => `${size.toLocaleString('en')} pets`)];
  printTable([heads.map((text) => ({ text })), ...table], isMarkdown);
  console.log('\nA cell says after how many of the tried ends a pet is lost, on a simulated disk.');
  console.log('A row that makes more calls has more ends: only zero or not can be compared.');
  if (speeds === undefined) return;
  const slower = median(speeds.flat().map((rates) => Math.max(...rates) / median(rates)));
  console.log(`
The last columns: creates a second of a store with so many pets, in process, on the disk of ${folder}.
The rows take turns in ${ROUNDS} rounds, with bursts of ${CREATES} creates by ${CALLERS} callers. A cell is the fastest burst,
since other programs only make one slower; the median is slower by a factor of ${slower.toFixed(1)}.
${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}.`);
}

/** What a row takes on two cores. */
const SECONDS = 0.5;
const SECONDS_WITH_SPEEDS = 4.5;

/**
 * Resolves with the rates of each row, for each size, from all rounds. The rows take turns, so that
 * what else the machine does affects all of them.
 * @param {readonly Row[]} rows
 * @param {string} folder
 */
async function measureSpeeds(rows, folder) {
  const { withStore } = await loadStores();
  /** @type {number[][][]} */
  const speeds = rows.map(() => SIZES.map(() => []));
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const [index, row] of rows.entries()) {
      progress(`speeds, round ${round} of ${ROUNDS}: ${row.name}`);
      await withStore(row, async (open) => {
        for (const [at, size] of SIZES.entries()) {
          speeds[index]?.[at]?.push(...(await measureCreates(open, size, folder)));
        }
      });
    }
  }
  return speeds;
}

/** @param {Pick<Cell, 'tried' | 'lost'>} cell */
export function printed({ tried, lost }) {
  // There is no such operation that could fail.
  if (tried === 0) return { text: '–' };
  return { text: `${lost}/${tried}`, isLoss: lost > 0 };
}

/** Two digits: more would not be the same again. @param {number} value */
function rounded(value) {
  return Number(value.toPrecision(2)).toLocaleString('en');
}

/**
 * @param {readonly Printed[][]} table
 * @param {boolean} isMarkdown
 */
export function printTable(table, isMarkdown) {
  if (isMarkdown) printMarkdown(table);
  else printText(table);
}

/** @param {readonly Printed[][]} table */
function printMarkdown(table) {
  for (const [index, cells] of table.entries()) {
    const texts = cells.map(({ text, isLoss }) => (isLoss ? `**${text}**` : text));
    console.log(`| ${texts.join(' | ')} |`);
    if (index === 0) console.log(`|---|${'--:|'.repeat(cells.length - 1)}`);
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
