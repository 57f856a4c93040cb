/** What npm test shows of passed, failed and skipped tests, from the runner's events. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './support/project.ts';

/** The end of a test, as the runner tells it. */
function result(path: string, name: string, error?: unknown, skip?: string): object {
  const file = join(ROOT, '.build', 'test', path);
  const details = {
    duration_ms: 1500,
    ...(error !== undefined && { error: { code: 'ERR_TEST_FAILURE', cause: error } }),
  };
  const type = error === undefined ? 'test:pass' : 'test:fail';
  return { type, data: { name, file, nesting: 0, details, ...(skip !== undefined && { skip }) } };
}

const drowned = new Error('It drowned', { cause: 'No bank' });

const EVENTS: readonly object[] = [
  result('config.test.js', 'A setting'),
  result('stores/file/lock.test.js', 'A lock'),
  result('../src/contract/contract.js', 'A store keeps its pets'),
  result('stores/file/lock.test.js', 'Another user', undefined, 'needs root'),
  {
    type: 'test:diagnostic',
    data: { message: 'SEED=7', file: join(ROOT, '.build/test/wire/a.test.js') },
  },
  result('wire/a.test.js', 'A flood', drowned),
  result('wire/b.test.js', 'A drip', undefined, 'needs root'),
  { type: 'test:diagnostic', data: { message: 'duration_ms 1' } },
];

test('npm test shows each folder, what was skipped, and at the end each failure in full', async () => {
  const text = (await report(EVENTS)).replace(/in [0-9]+ s/, 'in 4 s');
  const [, before = '', failures = '', after = ''] =
    /^([^]*)failing tests:([^]*?)(wire\/a noted[^]*)$/.exec(text) ?? [];
  assert.equal(
    before,
    `  config                      1.5 s  1 passed
  stores/file                 4.5 s  2 passed, 1 skipped
  FAILED wire/a: A flood
  wire                        3.0 s  0 passed, 1 FAILED, 1 skipped

Skipped, needs root:
  stores/file/lock: Another user
  wire/b: A drip

`,
  );
  assert.match(failures, /A flood \(1500ms\)\s+Error: It drowned\n {6}at [^]*\[cause\]: 'No bank'/);
  assert.equal(after, 'wire/a noted: SEED=7\n6 tests in 4 s: 3 passed, 1 FAILED, 2 skipped\n');
});

test('npm test shows a file that crashed, with what it wrote', async () => {
  const file = join(ROOT, '.build', 'test', 'fuzz.test.js');
  const text = await report([
    { type: 'test:stderr', data: { file, message: 'Cannot find it\n' } },
    result('fuzz.test.js', file, 'test failed'),
  ]);
  assert.match(text, /^ {2}FAILED fuzz: [^]*'test failed'[^]*\nfuzz noted: Cannot find it\n/);
});

/** Resolves with the text that the reporter makes of the events. */
async function report(events: readonly object[]): Promise<string> {
  const path = new URL('../../scripts/test-reporter.mjs', import.meta.url).href;
  const module = (await import(path)) as {
    default(events: readonly object[]): AsyncIterable<string>;
  };
  let text = '';
  for await (const part of module.default(events)) text += part;
  return text;
}
