/**
 * The other tests of this folder once more, without any network except the loopback. The sample has
 * that of `dist/` alone.
 */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isWhole } from '../support/extent.ts';
import { run } from '../support/process/program.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));

/** Root needs no user namespace. Other users do, and not every system permits one. */
const FLAG = process.getuid?.() === 0 ? '-n' : '-rn';

test('The service and its package work without a network', async (t) => {
  // The loopback of a new namespace is down.
  const lines = 'ip link set lo up && exec "$@"';
  const runCutOff = (...command: readonly string[]) =>
    run('unshare', [FLAG, 'sh', '-c', lines, 'sh', process.execPath, ...command]);
  const script = 'console.log(Object.keys(os.networkInterfaces()).join())';
  const { status, text } = runCutOff('--eval', script);
  if (status !== 0) return t.skip('needs unshare and ip (Linux), and leave to use them');
  assert.equal(text, 'lo\n');
  const others = readdirSync(HERE).filter((name) => /^(?!no-network).*\.test\.js$/.test(name));
  const files = (isWhole ? others : ['dist-alone.test.js']).map((name) => join(HERE, name));
  const result = runCutOff('--test', '--test-reporter=tap', ...files);
  assert.equal(result.status, 0, result.text);
  assert.match(result.text, /^# (?:pass|skipped) [1-9]/m);
});
