/** The table of the ladder: each broken variant loses a pet, each rung only where it says so. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText } from '../support/project.ts';
import { TestsOfCases } from '../support/run-before-tests.ts';
import { changedLines, whereIs } from './lines.ts';
import { lossesEverywhere, tryColumn } from './losses.ts';
import { withStore } from './stores.ts';
import { COLUMNS, ROWS } from './variants.ts';

const tests = new TestsOfCases();

for (const row of ROWS) {
  const what = row.loses.length === 0 ? 'no column' : row.loses.join(', ');
  await tests.pass(`${row.name} loses a pet by: ${what}`, async () => {
    await withStore(row, async (open) => {
      for (const column of COLUMNS) {
        const { lost, shortest } = await tryColumn(column, open);
        const isLoss = row.loses.includes(column);
        assert.equal(lost > 0, isLoss, `${column}: ${JSON.stringify(shortest, undefined, 1)}`);
        assert.equal(shortest === undefined, !isLoss);
      }
    });
    return { cases: COLUMNS.length, complaints: [] };
  });
}

for (const name of ['2-json-file', '3-append']) {
  const title = `Rung ${name} loses no acknowledged pet if an operation fails, and the power fails then`;
  await tests.pass(title, async () => {
    const row = ROWS.find((other) => other.name === name)!;
    const { tried, shortest } = await withStore(row, lossesEverywhere);
    assert.ok(tried > 100, `${tried} ends`);
    const complaints = shortest === undefined ? [] : [JSON.stringify(shortest, undefined, 1)];
    return { cases: tried, complaints };
  });
}

tests.report();

test('The lines that each row names exist', () => {
  for (const row of ROWS) {
    if (row.answer !== undefined) assert.match(whereIs(row.answer), /^src\/.*:[0-9]+$/);
    for (const { before, after } of changedLines(row)) assert.notEqual(before, after);
  }
});

test('The table of the page has each row, with the losses of each column in bold', () => {
  const [, table = ''] = readText('src/ladder/README.md').split('\n| Row |');
  const rows = table.split('\n\n')[0]!.split('\n').slice(2);
  const found = rows.map((line) => line.split('|').map((cell) => cell.trim()));
  const shown = found.map(([, name = '', ...cells]) => {
    const losses = COLUMNS.filter((_, at) => /^\*\*[1-9]/.test(cells[at]!));
    const sound = COLUMNS.filter((_, at) => /^(–|0\/[1-9][0-9]*)$/.test(cells[at]!));
    assert.equal(losses.length + sound.length, COLUMNS.length, name);
    return [name.replace('· ', ''), losses];
  });
  assert.deepEqual(
    shown,
    ROWS.map(({ name, loses }) => [name, loses]),
  );
});
