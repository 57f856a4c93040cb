/** What npm test shows of passed, failed and skipped tests. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from './support/disk/temp-dir.ts';
import { runNode } from './support/process/process.ts';
import { ROOT } from './support/project.ts';

const TESTS = `import { test } from 'node:test';
test('A lock', (t) => t.diagnostic('SEED=7'));
test('A flood', (t) => { t.diagnostic('SEED=8'); throw new Error('It drowned', { cause: 'No bank' }); });
test('Another user', { skip: 'needs root' }, () => undefined);`;

test('npm test shows each file, what was skipped, each failure in full, and the sums', async (t) => {
  const file = join(tempDir(t), 'wire.test.mjs');
  writeFileSync(file, TESTS);
  const reporter = join(ROOT, 'scripts', 'test-reporter.mjs');
  const { code, stdout } = await runNode(['--test', `--test-reporter=${reporter}`, file]);
  assert.equal(code, 1);
  assert.match(stdout, /^\S*wire\.test\.mjs\n✖ A flood [^]*\n﹣ Another user \S+ # needs root\n/);
  assert.match(stdout, /\nℹ tests 3\n[^]*failing tests:[^]*It drowned\n +at [^]*'No bank'/);
  assert.match(stdout, /SEED=8/);
  assert.doesNotMatch(stdout, /A lock|SEED=7/);
});
