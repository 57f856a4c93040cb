/**
 * The output of npm test: a line for each folder of tests when it is finished, with its failures;
 * and at the end the sums, the failures by name, and which tests were skipped and why.
 *
 * The notes of a test file (a seed, what was sent) are shown if it has a failure. What a test file
 * writes is shown immediately.
 */

import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { causeOf, readResult } from './test-result.mjs';

const TESTS = fileURLToPath(new URL('../.build/test', import.meta.url));
const NAME_COLUMNS = 24;

export default async function* report(events) {
  const startedAt = performance.now();
  const all = [];
  /** By file. */
  const notes = new Map();
  let folder = { name: '', results: [] };
  for await (const event of events) {
    const { file, message } = event.data ?? {};
    // A sum that a file writes itself, as the simulation does.
    if (event.type === 'test:stdout') yield message.replace(/^(?=.)/gm, '  ');
    if (message !== undefined && file !== undefined) {
      // An event of output has the file's path as it was given, and a result the absolute one.
      const path = resolve(file);
      notes.set(path, [...(notes.get(path) ?? []), message.trimEnd()]);
    }
    const result = readResult(event);
    if (result === undefined) continue;
    all.push(result);
    const name = folderOf(result) ?? folder.name;
    if (name !== folder.name) {
      yield folderText(folder, notes);
      folder = { name, results: [] };
    }
    folder.results.push(result);
  }
  yield folderText(folder, notes);
  yield closingText(all, (performance.now() - startedAt) / 1000);
}

/**
 * Returns the folder of a test, such as `stores/file`, or its file if it is in no folder. Returns
 * undefined for tests that src declares, such as the contract of a store: they belong to the folder
 * that is running.
 */
function folderOf(result) {
  const folder = dirname(fileOf(result));
  if (folder.startsWith('..')) return undefined;
  return folder === '.' ? fileOf(result) : folder;
}

/** Returns `stores/file/lock`, for example. The result of a crashed file has its path as name. */
function fileOf({ file, name }) {
  const path = relative(TESTS, resolve(file ?? name)).replaceAll('\\', '/');
  return join(dirname(path), basename(path, '.test.js')).replaceAll('\\', '/');
}

function folderText({ name, results }, notes) {
  if (results.length === 0) return '';
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  const line = `  ${name.padEnd(NAME_COLUMNS)}${seconds.toFixed(1).padStart(7)} s  ${countsText(results)}\n`;
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  return `${line}${failed.map((result) => failureText(result, notes)).join('')}`;
}

function countsText(results) {
  return ['passed', 'failed', 'skipped']
    .map((outcome) => [results.filter((result) => result.outcome === outcome).length, outcome])
    .filter(([count, outcome]) => count > 0 || outcome === 'passed')
    .map(([count, outcome]) => (outcome === 'failed' ? `${count} FAILED` : `${count} ${outcome}`))
    .join(', ');
}

function failureText(result, notes) {
  const noted = notes.get(resolve(result.file ?? result.name)) ?? [];
  const text = [errorText(result.error), ...noted.map((note) => `Noted: ${note}`)].join('\n');
  return `\n  FAILED ${fileOf(result)}: ${result.name}\n${text.replace(/^/gm, '    ')}\n\n`;
}

/** The message, which shows what differs, and the lines of the stack that are not Node's own. */
function errorText(error) {
  if (error?.stack === undefined) return inspect(error);
  const { name, message, stack, cause } = error;
  const frames = stack.split('\n').filter((line) => /^ +at (?!.*\bnode:)/.test(line));
  const causes = cause === undefined ? [] : [`Caused by ${errorText(cause)}`];
  return [`${name}: ${message}`, ...frames, ...causes].join('\n');
}

function closingText(results, seconds) {
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  const skipped = results.filter(({ outcome }) => outcome === 'skipped');
  const reasons = [...new Set(skipped.map(({ reason }) => reason))];
  const named = (result) => `${fileOf(result)}: ${result.name}`;
  const lines = [
    '',
    ...reasons.flatMap((reason) => [
      `Skipped, ${reason}:`,
      ...skipped.filter((result) => result.reason === reason).map((result) => `  ${named(result)}`),
    ]),
    ...(failed.length > 0 ? ['Failed:'] : []),
    ...failed.flatMap((result) => [`  ${named(result)}`, `    ${causeOf(result)}`]),
    `${results.length} tests in ${Math.round(seconds)} s: ${countsText(results)}`,
  ];
  return `${lines.join('\n')}\n`;
}
