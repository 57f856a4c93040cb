/** The other tests of this folder once more, where there is no network but the loopback. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const OWN_NAME = basename(fileURLToPath(import.meta.url));

/** A new namespace has a loopback that is down; which tool can raise it differs by system. */
const RAISE_LOOPBACK = `
ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null || perl -e '
  socket(my $socket, 2, 1, 0) or exit 1;
  ioctl($socket, 0x8914, pack("a16 s x22", "lo", 0x41)) or exit 1;
' || exit 1
exec "$@"
`;

/** Root needs no user namespace; others do, and not every system lets them have one. */
const WAYS: readonly (readonly string[])[] = [['-n'], ['-rn']];

const way = WAYS.find((flags) => runCutOff(flags, ['true']).status === 0);

test('Everything that is carried works with the network cut off', async (t) => {
  if (way === undefined) return t.skip('needs unshare (Linux) and leave to use it');
  const others = readdirSync(HERE).filter((name) => /\.test\.js$/.test(name) && name !== OWN_NAME);
  assert.ok(others.length > 0);
  const files = others.map((name) => join(HERE, name));
  const { status, stdout } = runCutOff(way, [
    process.execPath,
    ...['--test', '--test-reporter=tap', ...files],
  ]);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^# pass [1-9]/m);
});

test('Cut off, only the loopback is left', async (t) => {
  if (way === undefined) return t.skip('needs unshare (Linux) and leave to use it');
  const script = 'console.log(Object.keys(os.networkInterfaces()).join())';
  assert.equal(runCutOff(way, [process.execPath, '-e', script]).stdout, 'lo\n');
  t.diagnostic(`outside: ${Object.keys(networkInterfaces()).join(', ')}`);
});

function runCutOff(
  flags: readonly string[],
  command: readonly string[],
): { status: number | null; stdout: string } {
  const env = { ...process.env };
  // Else a test runner takes itself for a part of the outer one.
  delete env['NODE_TEST_CONTEXT'];
  const args = [...flags, 'sh', '-c', RAISE_LOOPBACK, 'sh', ...command];
  const { status, stdout } = spawnSync('unshare', args, { env, encoding: 'utf8' });
  return { status, stdout };
}
