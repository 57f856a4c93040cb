/**
 * The other tests of this folder once more, without any network except the loopback. The sample has
 * that of `dist/` alone.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isWhole } from '../support/extent.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const OWN_NAME = basename(fileURLToPath(import.meta.url));

/** The loopback of a new namespace is down. The tool that can raise it differs by system. */
const RAISE_LOOPBACK = `
ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null || perl -e '
  socket(my $socket, 2, 1, 0) or exit 1;
  ioctl($socket, 0x8914, pack("a16 s x22", "lo", 0x41)) or exit 1;
' || exit 1
exec "$@"
`;

/** Root needs no user namespace. Other users do, and not every system permits one. */
const FLAG = process.getuid?.() === 0 ? '-n' : '-rn';

test('The service and its package work without a network', async (t) => {
  if (runCutOff('true').status !== 0) return t.skip('needs unshare (Linux) and leave to use it');
  const others = readdirSync(HERE).filter((name) => /\.test\.js$/.test(name) && name !== OWN_NAME);
  assert.ok(others.length > 0);
  const files = (isWhole ? others : ['dist-alone.test.js']).map((name) => join(HERE, name));
  const script = 'console.log(Object.keys(os.networkInterfaces()).join())';
  assert.equal(runCutOff(process.execPath, '-e', script).stdout, 'lo\n');
  const args = ['--test', '--test-reporter=tap', ...files];
  const { status, stdout } = runCutOff(process.execPath, ...args);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^# (?:pass|skipped) [1-9]/m);
});

function runCutOff(...command: readonly string[]): { status: number | null; stdout: string } {
  // Otherwise the inner test runner reports to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [FLAG, 'sh', '-c', RAISE_LOOPBACK, 'sh', ...command];
  return spawnSync('unshare', args, { env, encoding: 'utf8' });
}
