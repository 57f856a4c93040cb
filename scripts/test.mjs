/**
 * npm test: installs where needed, builds dist/ (which some tests run) and the tests, and runs
 * them.
 *
 * Arguments choose test files by a part of their path: npm test -- router journal
 * `--node PATH` runs them on another Node than the one that builds.
 */

import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, fail, isMain, root, run } from './build.mjs';

const REPORTER = new URL('test-reporter.mjs', import.meta.url);
const TIMEOUT_MS = 840_000;
/** Two at least: the long ones compute, or wait for a disk or for the clock, by turns. */
const CONCURRENCY = Math.max(2, availableParallelism() - 1);

export function buildTests() {
  build('tsconfig.json', 'dist');
  build(join('test', 'tsconfig.json'), '.build');
}

/** The arguments that have Node run the test files with such parts in their paths, or all. */
export function testArguments(reporter, parts) {
  const files = readdirSync(join(root, '.build', 'test'), { recursive: true })
    .filter((name) => name.endsWith('.test.js'))
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .sort()
    .map((name) => join(root, '.build', 'test', name));
  // Node would look for test files of its own choice.
  if (files.length === 0) fail(`No test file has ${parts.join(' or ')} in its path`);
  const limits = [`--test-timeout=${TIMEOUT_MS}`, `--test-concurrency=${CONCURRENCY}`];
  return ['--test', `--test-reporter=${reporter}`, ...limits, ...files];
}

if (isMain(import.meta.url)) {
  const options = { node: { type: 'string', default: process.execPath } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  buildTests();
  const args = testArguments(REPORTER, positionals);
  const files = args.filter((arg) => !arg.startsWith('--')).length;
  console.log(`Running ${files} test files; all that there are take some ten minutes`);
  if (!run(values.node, args)) fail('Tests failed');
}
