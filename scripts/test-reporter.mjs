/**
 * The output of npm test: that of Node's own reporter `spec`, without the tests that passed, and
 * with the path of each test file. So it shows what was skipped and why, what failed, what the
 * failed test noted, and the sums. Positions are those of the sources. At the end, there is a
 * command for each failure, which runs the failed test, or its failed case, again.
 *
 * scripts/test.mjs passes its options in TEST_ONLY, TEST_SLOW, TEST_EXTENT and TEST_SEED.
 */

import { relative, resolve } from 'node:path';
import { spec } from 'node:test/reporters';
import { inspect } from 'node:util';
import { root } from './build.mjs';
import { toSources } from './test-positions.mjs';
import { ended, isTestFile, note, takeRunning } from './test-watch.mjs';

const { env } = process;
const only = env['TEST_ONLY'];

/**
 * An event of node:test. `file` is where the test was declared, which may be a helper. `entryFile`
 * is the test file; it is there since Node 24.
 * @typedef {object} TestEvent
 * @property {string} type
 * @property {TestData} data
 *
 * @typedef {object} TestData
 * @property {string} [name]
 * @property {string} [file]
 * @property {string} [entryFile]
 * @property {string | boolean} [skip]
 * @property {string} [message]
 * @property {{ duration_ms?: number, type?: string, error?: TestError }} [details]
 *
 * @typedef {{ failureType?: string, cause?: unknown }} TestError
 */

/** @param {AsyncIterable<TestEvent>} events */
export default async function* report(events) {
  const reporter = new spec();
  const summary = new Summary();
  /** Test files run side by side; their results come one file after the other. */
  let current = '';
  let shown = '';
  for await (const event of events) {
    const { type, data } = event;
    if (/start|enqueue|dequeue|complete/.test(type)) {
      summary.follow(event);
      continue;
    }
    const declaredIn = data.entryFile ?? data.file ?? '';
    if (isTestFile(declaredIn)) current = resolve(declaredIn);
    if (isQuiet(event)) continue;
    if (data.file !== undefined && current !== shown) {
      shown = current;
      yield `${sourceOf(current)}\n`;
    }
    summary.add(event, current);
    const isNote = type === 'test:diagnostic' && data.file !== undefined;
    const isPassed = type === 'test:pass' && data.skip === undefined;
    if (isNote ? summary.last !== undefined : !isPassed) reporter.write(event);
    yield toSources(String(reporter.read() ?? ''));
  }
  for await (const chunk of reporter.end()) yield toSources(String(chunk));
  yield* summary.lines();
  if (only !== undefined && summary.chosen === 0) process.exitCode = 1;
}

/**
 * Returns true if an event says nothing that a reader needs.
 * @param {TestEvent} event
 */
function isQuiet({ type, data }) {
  if (type === 'test:stdout') {
    // Empty lines are signs of life, and name the file; see scripts/test.mjs.
    data.message = data.message?.replace(/^\n+/, '') ?? '';
    return data.message === '';
  }
  // The sums would count tests that were not chosen.
  if (data.file === undefined) return type === 'test:diagnostic' && only !== undefined;
  if (type === 'test:plan' || type === 'test:summary') return true;
  // Node 20 skips a test that was not chosen. Later it is not there, but its file passes.
  if (isFile(data)) return type === 'test:pass';
  return data.skip === 'test name does not match pattern';
}

/**
 * Returns true if the test is a whole file: its name is its path.
 * @param {TestData} data
 */
function isFile({ name, file }) {
  return name !== undefined && resolve(name) === file;
}

/**
 * Returns the path of a test's source from the project's folder.
 * @param {string} file
 */
function sourceOf(file) {
  return toSources(relative(root, file).replaceAll('\\', '/'));
}

/**
 * Returns what chooses the file as an argument of npm test.
 * @param {string} file
 */
function partOf(file) {
  return sourceOf(file).replace(/^test\/|\.test\.m?[jt]s$/g, '');
}

/**
 * What failed: a file, if it has no test's name. A test may have named the case that failed, by
 * TEST_CASE='…'.
 * @typedef {{ file: string, name?: string | undefined, setting?: string | undefined }} Failure
 *
 * @typedef {{ ms: number, what: string }} Time
 */

/** What comes at the end. */
class Summary {
  /** How many tests have the text of `--only` in their names. */
  chosen = 0;
  /** @type {Failure[]} */
  #failures = [];
  /**
   * The last failure, if the last test failed: what comes next may be a note of it.
   * @type {Failure | undefined}
   */
  last;
  /** @type {Time[]} */
  #tests = [];
  /** @type {Time[]} */
  #files = [];

  /**
   * Follows an event that comes at once, and not file by file.
   * @param {TestEvent} event
   */
  follow({ type, data }) {
    const { name = '', file = '', entryFile = file, details } = data;
    if (!isFile(data)) note(type, entryFile, name);
    else if (type === 'test:complete') {
      this.#files.push({ ms: details?.duration_ms ?? 0, what: partOf(file) });
    }
  }

  /**
   * @param {TestEvent} event
   * @param {string} file
   */
  add({ type, data }, file) {
    const { name = '', details = {}, message = '' } = data;
    if (type === 'test:diagnostic' && data.file !== undefined) {
      const [, ms] = /^(\d+) ms before the first test$/.exec(message) ?? [];
      const test = this.#tests.at(-1);
      if (test !== undefined) test.ms += Number(ms ?? 0);
      if (this.last !== undefined) this.last.setting ??= settingIn(message);
    }
    if (type !== 'test:fail' && type !== 'test:pass') return;
    const isTest = !isFile(data) && details.type !== 'suite';
    const ms = details.duration_ms ?? 0;
    if (isTest) this.#tests.push({ ms, what: `${partOf(file)}: ${name}` });
    if (only !== undefined && name.includes(only)) this.chosen += 1;
    this.last = undefined;
    if (type === 'test:pass') return;
    if (isFile(data)) this.#addFile(file, details.error);
    else if (details.error?.failureType !== 'subtestsFailed') {
      this.#failures.push({ file, name, setting: settingIn(inspect(details.error)) });
    }
    this.last = this.#failures.at(-1);
  }

  /**
   * Adds a file that failed as a whole. If it was ended, its error says why, and where it was.
   * @param {string} file
   * @param {TestError} error
   */
  #addFile(file, error = {}) {
    const where = ended.get(file);
    const tests = where === undefined ? [] : takeRunning(file);
    for (const name of tests) this.#failures.push({ file, name });
    if (tests.length === 0) this.#failures.push({ file });
    if (where === undefined) return;
    const names = tests.map((name) => `"${name}"`).join(', ') || 'no test that is known';
    const text = `It hangs, and was ended. Running: ${names}`;
    error.cause = where === '' ? text : Object.assign(new Error(), { stack: `${text}\n${where}` });
  }

  /** @returns {Iterable<string>} */
  *lines() {
    if (env['TEST_SLOW'] !== undefined) {
      yield `The longest tests:\n${longest(20, this.#tests)}`;
      yield `The longest test files:\n${longest(10, this.#files)}`;
    }
    for (const failure of this.#failures) yield `Again: ${commandOf(failure)}\n`;
    if (only === undefined) return;
    if (this.chosen === 0) yield `No test has "${only}" in its name\n`;
    else yield `Ran only tests with "${only}" in their names: ${this.chosen}\n`;
  }
}

/** @param {string} text */
function settingIn(text) {
  return /\bTEST_CASE='[^']*'/.exec(text)?.[0];
}

/** @param {Failure} failure */
function commandOf({ file, name, setting }) {
  const isWhole = env['TEST_EXTENT'] === 'all';
  const words = ['npm', 'test', '--', partOf(file)];
  if (isWhole) words.unshift(`TEST_SEED=${env['TEST_SEED']}`);
  if (setting !== undefined) words.unshift(setting);
  if (name !== undefined) words.push('--only', `'${name.replaceAll("'", String.raw`'\''`)}'`);
  if (isWhole) words.push('--all');
  return words.join(' ');
}

/**
 * @param {number} count
 * @param {Time[]} times
 */
function longest(count, times) {
  const rows = times.sort((a, b) => b.ms - a.ms).slice(0, count);
  return rows.map(({ ms, what }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${what}\n`).join('');
}
