/** What npm test shows of passed, failed and skipped tests, from the runner's events. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './support/project.ts';

/** The end of a test, as the runner tells it. */
function result(path: string, name: string, error?: unknown, skip?: string): object {
  const file = join(ROOT, '.build', 'test', path);
  const details = { duration_ms: 1500, ...(error !== undefined && { error: { cause: error } }) };
  const type = error === undefined ? 'test:pass' : 'test:fail';
  return { type, data: { name, file, nesting: 0, details, ...(skip !== undefined && { skip }) } };
}

const drowned: Error = Object.assign(new Error('It drowned\nin bytes', { cause: 'No bank' }), {
  stack: 'Error: It drowned\n    at wire (wire/a.ts:7:1)\n    at run (node:internal/test:1:1)',
});

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

test('npm test shows each folder, a failure without the frames of Node, and what was skipped', async () => {
  const text = await report('test-reporter.mjs');
  assert.equal(
    text.replace(/in [0-9]+ s/, 'in 4 s'),
    `  config                      1.5 s  1 passed
  stores/file                 4.5 s  2 passed, 1 skipped
  wire                        3.0 s  0 passed, 1 FAILED, 1 skipped

  FAILED wire/a: A flood
    Error: It drowned
    in bytes
        at wire (wire/a.ts:7:1)
    Caused by 'No bank'
    Noted: SEED=7


Skipped, needs root:
  stores/file/lock: Another user
  wire/b: A drip
Failed:
  wire/a: A flood
    It drowned
6 tests in 4 s: 3 passed, 1 FAILED, 2 skipped
`,
  );
});

test('The matrix gets the same in one line', async () => {
  const { passed, failed, skipped, failures } = JSON.parse(await report('matrix-reporter.mjs'));
  assert.deepEqual([passed, failed, skipped], [3, 1, 2]);
  assert.equal(failures[0].cause, 'It drowned');
});

/** Resolves with the text that a reporter makes of the events. */
async function report(reporter: string): Promise<string> {
  const module = (await import(new URL(`../../scripts/${reporter}`, import.meta.url).href)) as {
    default(events: readonly object[]): AsyncIterable<string>;
  };
  let text = '';
  for await (const part of module.default(EVENTS)) text += part;
  return text;
}
