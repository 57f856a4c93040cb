/**
 * npm run ladder: what each way to save a pet loses, tried on a simulated disk and measured on this
 * one. src/ladder/README.md says how to read it.
 *
 *     npm run ladder                     the table of the rungs and their broken variants
 *     npm run ladder -- --markdown       the same as Markdown
 *     npm run ladder -- show NAME        what a row leaves out, and how it loses a pet
 *
 *     --rows NAMES    only these rows, such as no-sync,core
 *     --no-speeds     without the two columns of speeds
 *     --folder PATH   where the speeds are measured; a temporary folder by default
 */

import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { fail } from './build.mjs';
import { showRow } from './ladder/show.mjs';
import { printLadder } from './ladder/table.mjs';
import { buildTests } from './test.mjs';

const { values, positionals } = parseArgs({
  options: {
    markdown: { type: 'boolean', default: false },
    'no-speeds': { type: 'boolean', default: false },
    rows: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
  },
  allowPositionals: true,
});
buildTests();
const [command, name] = positionals;
if (command === undefined) {
  await printLadder({
    names: values.rows?.split(','),
    folder: values['no-speeds'] ? undefined : values.folder,
    isMarkdown: values.markdown,
  });
} else if (command === 'show' && name !== undefined) {
  await showRow(name);
} else {
  fail('Use: npm run ladder, or npm run ladder -- show NAME, where NAME is a row of the table');
}
