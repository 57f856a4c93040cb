/** What npm test shows of passed, failed and skipped tests, from the runner's events. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from './support/disk/temp-dir.ts';
import { ROOT } from './support/project.ts';

/** The end of a test, as the runner tells it. */
function result(path: string, name: string, error?: string, skip?: string): object {
  const file = join(ROOT, '.build', 'test', path);
  const details = { duration_ms: 1500, ...(error !== undefined && { error: { cause: error } }) };
  const type = error === undefined ? 'test:pass' : 'test:fail';
  return { type, data: { name, file, nesting: 0, details, ...(skip !== undefined && { skip }) } };
}

const EVENTS: readonly object[] = [
  result('config.test.js', 'A setting'),
  result('stores/file/lock.test.js', 'A lock'),
  result('../src/contract/contract.js', 'A store keeps its pets'),
  result('stores/file/lock.test.js', 'Another user', undefined, 'needs root'),
  {
    type: 'test:diagnostic',
    data: { message: 'SEED=7', file: join(ROOT, '.build/test/wire/a.test.js') },
  },
  result('wire/a.test.js', 'A flood', 'It drowned\nin bytes'),
  result('wire/b.test.js', 'A drip', undefined, 'needs root'),
  { type: 'test:diagnostic', data: { message: 'duration_ms 1' } },
];

test('A line for each folder, a failure in full, and at the end what was skipped and why', () => {
  assert.equal(
    run('test-reporter.mjs').replace(/in [0-9]+ s/, 'in 4 s'),
    `  config                      1.5 s  1 passed
  stores/file                 4.5 s  2 passed, 1 skipped
  wire                        3.0 s  0 passed, 1 FAILED, 1 skipped

  FAILED wire/a: A flood
    'It drowned\\nin bytes'
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

test('A failure shows what differs and where, without the lists and the frames of Node', (t) => {
  const file = join(tempDir(t), 'lists.test.mjs');
  writeFileSync(
    file,
    `import assert from 'node:assert/strict';
    import { test } from 'node:test';
    test('Two lists are equal', () => {
      const list = Array.from({ length: 400 }, (_, i) => 'entry ' + i);
      assert.deepEqual(list, list.with(200, 'another'));
    });`,
  );
  const args = ['--test', '--test-reporter', './scripts/test-reporter.mjs', file];
  const { stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', env: {} });
  const lines = stdout.split('\n');
  assert.ok(lines.length < 45, stdout);
  for (const part of ["'another'", "'entry 200'", 'lists.test.mjs:5:']) {
    assert.ok(stdout.includes(part), `${part} is missing in ${stdout}`);
  }
  for (const part of ['node:internal', 'generatedMessage', "'entry 300'"]) {
    assert.ok(!stdout.includes(part), `${part} is in ${stdout}`);
  }
});

test('The matrix gets the same in one line', () => {
  const { passed, failed, skipped, failures } = JSON.parse(run('matrix-reporter.mjs'));
  assert.deepEqual([passed, failed, skipped], [3, 1, 2]);
  assert.equal(failures[0].cause, 'It drowned');
});

function run(reporter: string): string {
  const script = `const { default: report } = await import('./scripts/${reporter}');
    for await (const text of report(${JSON.stringify(EVENTS)})) process.stdout.write(text);`;
  const args = ['--input-type=module', '--eval', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout;
}
