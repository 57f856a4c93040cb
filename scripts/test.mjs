/**
 * npm test: installs the compiler if needed, builds what has changed, and runs the tests.
 *
 *     npm test -- [PART…] [options]
 *
 *     PART         only test files whose paths contain one of these parts, such as pet-text
 *     --only NAME  only tests whose names contain this text
 *     --all        all cases instead of a sample, with the day's seed
 *     --slow       shows the longest tests at the end
 *     --node PATH  on another Node than the one that builds; more than once, on each
 */

import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { buildTests, fail, pathsIn, readArguments, root, run } from './build.mjs';

const REPORTER = new URL('test-reporter.mjs', import.meta.url);
/**
 * Runs first in the process of each test file. Node 20 and 22 do not say which file a test belongs
 * to if a helper declares it, but they say which file has printed something.
 */
const FIRST = 'data:text/javascript,if (process.env.NODE_TEST_CONTEXT) console.log()';
/** At least four, also on two cores: many test files wait for a process, a disk or the clock. */
const CONCURRENCY = Math.max(4, availableParallelism());

/**
 * Returns the test files whose paths contain one of these parts, or all. Ends the process if a part
 * is in no path.
 * @param {string[]} parts
 */
function testFiles(parts) {
  const files = pathsIn('test').filter((path) => path.endsWith('.test.ts'));
  const complaints = parts
    .filter((part) => !files.some((file) => file.includes(part)))
    .map((part) => `No test file has "${part}" in its path${near(part, files)}`);
  if (complaints.length > 0) fail(complaints.join('\n'));
  return files
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
    .map((file) => join(root, '.build', file.replace(/\.ts$/, '.js')));
}

/**
 * Returns the files that are probably meant: at least half of the part's triples of letters are in
 * their paths.
 * @param {string} part
 * @param {string[]} files
 */
function near(part, files) {
  const triples = Array.from({ length: part.length - 2 }, (_, at) => part.slice(at, at + 3));
  const found = files
    .map((file) => ({ file, shared: triples.filter((triple) => file.includes(triple)).length }))
    .filter(({ shared }) => shared > 0 && shared >= triples.length / 2)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, 3);
  return found.length === 0 ? '' : `; near it: ${found.map(({ file }) => file).join(', ')}`;
}

const { values, positionals } = readArguments({
  options: {
    only: { type: 'string' },
    all: { type: 'boolean', default: false },
    slow: { type: 'boolean', default: false },
    node: { type: 'string', multiple: true, default: [process.execPath] },
  },
  allowPositionals: true,
});
// Before the build, which a wrong path does not need.
const files = testFiles(positionals);
buildTests();
const { env } = process;
if (values.slow) env['TEST_SLOW'] = 'yes';
if (values.all) {
  env['TEST_EXTENT'] = 'all';
  env['TEST_SEED'] ??= String(Math.floor(Date.now() / 86_400_000));
}
const which = values.only === undefined ? '' : `, only tests with "${values.only}" in their names`;
const extent = values.all ? `; all cases, with TEST_SEED=${env['TEST_SEED']}` : '';
console.log(`Running ${files.length} test files${which}${extent}`);
const args = ['--test', `--test-reporter=${REPORTER}`, `--test-concurrency=${CONCURRENCY}`];
args.push(`--import=${FIRST}`);
if (values.only !== undefined) {
  env['TEST_ONLY'] = values.only;
  args.push(`--test-name-pattern=${values.only.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`);
}
const path = env['PATH'];
const results = values.node.map((node) => {
  if (values.node.length > 1) run(node, ['--version']);
  // A program that runs `node` by name, such as an npm script, gets this one, too.
  env['PATH'] = `${dirname(node)}${delimiter}${path}`;
  return run(node, [...args, ...files]);
});
if (results.includes(false)) fail('Tests failed');
