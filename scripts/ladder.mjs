/**
 * npm run ladder: what each way to save a pet loses, tried on a simulated disk and measured on this
 * one. src/ladder/README.md says how to read it.
 *
 *     npm run ladder                     the table of the rungs and their broken variants
 *     npm run ladder -- --markdown       the same as Markdown
 *     npm run ladder -- show NAME        what a row leaves out, and how it loses a pet
 *
 *     npm run ladder -- --judge MODULE   what another store loses; the exit code is 1 for a loss
 *     npm run ladder -- --peers          what stores on libraries lose, which are fetched
 *
 * MODULE exports open(path), which returns { add(item), all(), close?() }; judge/README.md.
 *
 *     --rows NAMES    only these rows, such as no-sync,core
 *     --no-speeds     without the two columns of speeds
 *     --folder PATH   where the speeds are measured; a temporary folder by default
 */

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fail } from './build.mjs';
import { judgePeers } from './judge/peers.mjs';
import { exitCodeOf, printLosses, printRows, rowOf } from './judge/report.mjs';
import { tryStore } from './judge/trial.mjs';
import { showRow } from './ladder/show.mjs';
import { printLadder, progress } from './ladder/table.mjs';
import { buildTests } from './test.mjs';

const { values, positionals } = parseArgs({
  options: {
    markdown: { type: 'boolean', default: false },
    'no-speeds': { type: 'boolean', default: false },
    judge: { type: 'string' },
    peers: { type: 'boolean', default: false },
    rows: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
  },
  allowPositionals: true,
});
buildTests();
const [command, name] = positionals;
if (values.judge !== undefined) {
  process.exitCode = await judge(resolve(values.judge));
} else if (values.peers) {
  await judgePeers(progress);
} else if (command === undefined) {
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

/**
 * Resolves with the exit code.
 * @param {string} module
 */
async function judge(module) {
  if (!existsSync(module)) {
    console.error(`${module} does not exist`);
    return 2;
  }
  const verdict = await tryStore(module, progress).catch((/** @type {Error} */ error) => {
    progress('');
    console.error(`${module} cannot be judged: ${error.message}`);
  });
  if (verdict === undefined) return 2;
  progress('');
  printRows([rowOf(basename(module), verdict)]);
  printLosses(verdict);
  return exitCodeOf(verdict);
}
