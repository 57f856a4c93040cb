/**
 * npm run ladder: what each way to save a pet loses, tried on a simulated disk and measured on this
 * one; and what any other store loses. src/ladder/README.md and judge/README.md say how to read it.
 */

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, resolve } from 'node:path';
import { buildTests, fail, readArguments } from './build.mjs';
import { judgePeers } from './judge/peers.mjs';
import { exitCodeOf, printLosses, printProblems, printVerdicts } from './judge/report.mjs';
import { tryStore } from './judge/trial.mjs';
import { showRow } from './ladder/show.mjs';
import { printLadder } from './ladder/table.mjs';
import { progress } from './progress.mjs';

const USAGE = `npm run ladder                     the table of the rungs and their broken variants
npm run ladder -- show NAME        what a row leaves out, and how it loses a pet
npm run ladder -- --judge MODULE   what another store loses
npm run ladder -- --peers          what stores on libraries lose, which npm fetches

    --rows NAMES    only these rows, such as no-sync,core
    --no-speeds     without the two columns of speeds
    --folder PATH   where the speeds are measured; the system's temporary folder by default
    --markdown      tables as Markdown

MODULE exports open(path), which returns { add(item), all(), close?() }.
The exit code is 1 if a judged store loses anything, and 2 if the run says nothing.`;

const { values, positionals } = readArguments({
  options: {
    markdown: { type: 'boolean', default: false },
    'no-speeds': { type: 'boolean', default: false },
    judge: { type: 'string' },
    peers: { type: 'boolean', default: false },
    rows: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const [command, name, ...rest] = positionals;
const isMarkdown = values.markdown;
const module = values.judge === undefined ? undefined : resolve(values.judge);
const folder = values['no-speeds'] ? undefined : values.folder;
if (values.help) {
  console.log(USAGE);
} else if (command !== undefined && (command !== 'show' || name === undefined || rest.length > 0)) {
  fail(`Use: npm run ladder -- show NAME, or -- --help, not "${positionals.join(' ')}"`, 2);
} else if (module !== undefined && !existsSync(module)) {
  fail(`${module} does not exist`, 2);
} else if (folder !== undefined && !existsSync(folder)) {
  fail(`The folder ${folder} does not exist`, 2);
} else {
  buildTests();
  if (module !== undefined) await judge(module);
  else if (values.peers) await judgePeers(isMarkdown);
  else if (name !== undefined) await showRow(name);
  else await printLadder({ names: values.rows?.split(','), folder, isMarkdown });
}

/**
 * Judges a store, and sets the exit code.
 * @param {string} module
 */
async function judge(module) {
  console.error('About 15 s; longer for a store that makes many calls');
  const verdict = await tryStore(module, progress);
  progress('');
  printProblems(verdict);
  printVerdicts([[basename(module), verdict]], isMarkdown);
  printLosses(verdict);
  process.exitCode = exitCodeOf(verdict);
}
