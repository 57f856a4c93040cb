/** The ladder: each rung keeps its promises, and each broken variant loses a pet. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryColumn } from './losses.ts';
import { withStore } from './stores.ts';
import { COLUMNS, ROWS } from './variants.ts';

for (const row of ROWS) {
  test(`${row.name} loses pets where the table says so`, async () => {
    const cells = await withStore(row, async (open) => {
      const found = [];
      for (const column of COLUMNS) found.push({ column, ...(await tryColumn(column, open)) });
      return found;
    });
    console.log(row.name, cells.map((c) => `${c.column} ${c.lost}/${c.tried}`).join('; '));
    const losing = cells.filter(({ lost }) => lost > 0).map(({ column }) => column);
    assert.deepEqual(losing, row.loses, JSON.stringify(cells, null, 1));
  });
}
