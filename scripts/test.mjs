/**
 * npm test: installs the compiler if needed, builds dist/ (which some tests run) and the tests, and
 * runs them.
 *
 * Arguments choose test files by a part of their path: npm test -- journal wire
 * `--only TEXT` runs only tests whose names have this text, `--no-build` those of the last build.
 * `--all` tries all cases instead of a sample, with the day's seed.
 * `--node PATH` runs them on another Node than the one that builds; more than once, on each.
 */

import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, fail, isMain, root, run } from './build.mjs';

const REPORTER = new URL('test-reporter.mjs', import.meta.url);
const TIMEOUT_MS = 1_800_000;
/** At least four, also on two cores: many test files wait for a process, a disk or the clock. */
const CONCURRENCY = Math.max(4, availableParallelism());

export function buildTests() {
  build('tsconfig.json', 'dist');
  build(join('test', 'tsconfig.json'), '.build');
}

/** Returns the built test files whose paths contain one of these parts, or all. */
function testFiles(parts) {
  const files = readdirSync(join(root, 'test'), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .sort()
    // Backwards: those in wire/ wait for the clock, and should not be alone at the end.
    .reverse()
    .map((name) => join(root, '.build', 'test', name.replace(/\.ts$/, '.js')));
  // Without a file, Node would search for test files itself.
  if (files.length === 0) fail(`No test file has ${parts.join(' or ')} in its path`);
  return files;
}

if (isMain(import.meta.url)) {
  const options = {
    node: { type: 'string', multiple: true, default: [process.execPath] },
    all: { type: 'boolean', default: false },
    only: { type: 'string' },
    build: { type: 'boolean', default: true },
  };
  const { values, positionals } = parseArgs({
    options,
    allowPositionals: true,
    allowNegative: true,
  });
  // First, since a name that no file has needs no build.
  const files = testFiles(positionals);
  if (values.build) buildTests();
  if (values.all) {
    process.env.TEST_EXTENT = 'all';
    process.env.TEST_SEED ??= String(Math.floor(Date.now() / 86_400_000));
    const again = `TEST_SEED=${process.env.TEST_SEED}`;
    console.log(`Running all cases of ${files.length} test files; the same ones again: ${again}`);
  } else console.log(`Running ${files.length} test files; --all tries all cases`);
  const limits = [`--test-timeout=${TIMEOUT_MS}`, `--test-concurrency=${CONCURRENCY}`];
  // Positions in the sources, not in what the compiler made of them.
  const only = values.only === undefined ? [] : [`--test-name-pattern=${values.only}`];
  const flags = ['--enable-source-maps', `--test-reporter=${REPORTER}`, ...limits, ...only];
  const args = ['--test', ...flags, ...files];
  const { PATH } = process.env;
  const results = values.node.map((node) => {
    if (values.node.length > 1) run(node, ['--version']);
    // A program that runs `node` by name, such as an npm script, gets this one, too.
    process.env.PATH = `${dirname(node)}${delimiter}${PATH}`;
    return run(node, args);
  });
  if (results.includes(false)) fail('Tests failed');
}
