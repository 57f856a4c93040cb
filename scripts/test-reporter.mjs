/**
 * The output of npm test: a line for each folder of tests when it is finished, and at the end which
 * tests were skipped and why, the failures in full, as Node's own reporter `spec` shows them, and
 * the sums.
 *
 * The notes of a test file (a seed, what was sent) are shown if it has a failure. What a test file
 * writes is shown immediately.
 */

import { basename, dirname, join, relative, resolve } from 'node:path';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('../.build/test', import.meta.url));
const NAME_COLUMNS = 24;

export default async function* report(events) {
  const startedAt = performance.now();
  const failures = [];
  /** The names of tests by the reason, and what files noted by their names. */
  const [skipped, notes] = [new Map(), new Map()];
  const all = newPart('');
  let part = newPart('');
  for await (const event of events) {
    const { type, data = {} } = event;
    const { file, name, message, skip = false, details, nesting } = data;
    // A sum that a file writes itself, as the simulation does.
    if (type === 'test:stdout') yield message.replace(/^(?=.)/gm, '  ');
    if (message !== undefined && file !== undefined) append(notes, nameOf(file), message);
    if (!['test:pass', 'test:fail'].includes(type) || details.type === 'suite') continue;
    // A file that crashed has its path as name.
    const path = nameOf(file ?? name);
    const folder = folderOf(path, part.name);
    if (folder !== part.name) {
      yield lineOf(part);
      part = newPart(folder);
    }
    const outcome = skip !== false ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    for (const counts of [part, all]) counts[outcome] += 1;
    // The time of a nested test is part of the outer test's.
    if (nesting === 0) part.seconds += details.duration_ms / 1000;
    if (outcome === 'skipped') append(skipped, skip || 'no reason is given', `${path}: ${name}`);
    if (outcome !== 'failed') continue;
    failures.push(event);
    yield `  FAILED ${path}: ${name}\n`;
  }
  yield `${lineOf(part)}\n`;
  for (const [reason, names] of skipped) yield `Skipped, ${reason}:\n  ${names.join('\n  ')}\n`;
  if (failures.length > 0) yield await failuresText(failures);
  for (const path of new Set(failures.map(({ data }) => nameOf(data.file ?? data.name)))) {
    for (const note of notes.get(path) ?? []) yield `${path} noted: ${note.trimEnd()}\n`;
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  yield `${all.passed + all.failed + all.skipped} tests in ${seconds} s: ${countsText(all)}\n`;
}

function newPart(name) {
  return { name, seconds: 0, passed: 0, failed: 0, skipped: 0 };
}

function append(map, key, value) {
  map.set(key, [...(map.get(key) ?? []), value]);
}

/** Returns `stores/file/lock`, for example, for the path of a test file. */
function nameOf(file) {
  const path = relative(TESTS, resolve(file));
  return join(dirname(path), basename(path, '.test.js')).replaceAll('\\', '/');
}

/**
 * Returns the folder of a test, such as `stores/file`, or its file if it is in no folder. Tests
 * that src declares, such as the contract of a store, belong to the folder that is running.
 */
function folderOf(path, running) {
  const folder = dirname(path);
  if (folder.startsWith('..')) return running;
  return folder === '.' ? path : folder;
}

function lineOf({ name, seconds, ...counts }) {
  if (name === '') return '';
  const time = seconds.toFixed(1).padStart(7);
  return `  ${name.padEnd(NAME_COLUMNS)}${time} s  ${countsText(counts)}\n`;
}

function countsText({ passed, failed, skipped }) {
  const counts = [`${passed} passed`];
  if (failed > 0) counts.push(`${failed} FAILED`);
  if (skipped > 0) counts.push(`${skipped} skipped`);
  return counts.join(', ');
}

/** The list that `spec` writes at its end; Node 20 also shows each failure when it comes. */
async function failuresText(failures) {
  const reporter = new spec();
  for (const failure of failures) reporter.write(failure);
  const text = (await reporter.end().toArray()).join('');
  return `\n${text.slice(text.lastIndexOf('failing tests:'))}`;
}
