/** SIGHUP: API keys are read again, at any time, or the terminal of the process was closed. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  end,
  listPets,
  logged,
  metricOf,
  SERVER_JS,
  startFor,
} from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const hasPython =
  spawnSync('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode']).status === 0;
const PTY = { skip: !hasPython && 'Only python3, from 3.9 on, makes a terminal here' };

test('Without an API keys file and a terminal, SIGHUP changes nothing', async (t) => {
  const service = startFor(t, ['--port', '0', '--memory']);
  const url = await service.ready();
  service.child.kill('SIGHUP');
  await logged(service, '"There is no API keys file to read again"');
  assert.equal((await listPets(url)).status, 200);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

test('SIGHUP reads the API keys file again, and a bad file changes nothing', async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  writeFileSync(keysFile, 'shop-1: key-old\n');
  const args = ['--port', '0', '--memory', '--api-keys-file', keysFile];
  const service = startFor(t, args, { env: { PETSTORE_API_KEYS: 'key-fixed' } });
  const url = await service.ready();
  /** What the keys open, and how often a reload failed. */
  const state = async (): Promise<readonly unknown[]> => {
    const keys = ['key-old', 'key-new', 'key-fixed'];
    const lists = await Promise.all(keys.map((key) => listPets(url, key)));
    const failures = metricOf(url, 'petstore_api_key_reload_failures_total', 'key-fixed');
    return [...lists.map(({ status }) => status), await failures];
  };
  const reload = async (text: string, event: string): Promise<void> => {
    writeFileSync(keysFile, text);
    service.child.kill('SIGHUP');
    await logged(service, event);
  };
  assert.deepEqual(await state(), [200, 401, 200, 0]);
  await reload('shop-2: key-new\n', '"Read the API keys again"');
  assert.deepEqual(await state(), [401, 200, 200, 0]);
  await reload('shop-2: key-new\nshop-2: key-old\n', '"Kept the API keys in force"');
  const mistake = `line 2 of --api-keys-file (${keysFile}) repeats the name of line 1`;
  assert.ok(service.stderr().includes(mistake));
  assert.deepEqual(await state(), [401, 200, 200, 1]);

  // The service waits for a writer of the pipe, and serves and stops meanwhile.
  rmSync(keysFile);
  execFileSync('mkfifo', [keysFile]);
  service.child.kill('SIGHUP');
  assert.deepEqual(await state(), [401, 200, 200, 1]);
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.doesNotMatch(service.stdout() + service.stderr(), /key-/);
});

test('A SIGHUP while the configuration is read reloads the API keys after it', async (t) => {
  const keysFile = join(tempDir(t), 'keys');
  execFileSync('mkfifo', [keysFile]);
  const args = ['--memory', '--port', '0', '--api-keys-file', keysFile];
  const service = startFor(t, args, { env: {} });
  // It opens as soon as the service reads the pipe.
  const pipe = await open(keysFile, 'w');
  service.child.kill('SIGHUP');
  writeFileSync(`${keysFile}.new`, 'new-key\n');
  renameSync(`${keysFile}.new`, keysFile);
  await pipe.writeFile('old-key\n');
  await pipe.close();
  const url = await service.ready();
  await logged(service, '"Read the API keys again"');
  assert.equal((await listPets(url, 'old-key')).status, 401);
  assert.equal((await listPets(url, 'new-key')).status, 200);
  assert.equal(await end(service, 'SIGTERM'), 0);
});

/** Which stream is left on the terminal, and what the other two are numbered. */
const STREAMS = [
  ['standard input', '1 2'],
  ['standard output', '0 2'],
  ['standard error', '0 1'],
] as const;

for (const [left, redirected] of STREAMS) {
  const name = `A service with its ${left} on a terminal that is closed stops cleanly`;
  test(name, PTY, async (t) => {
    const folder = tempDir(t);
    const [keysFile, log] = [join(folder, 'keys'), join(folder, 'log')];
    writeFileSync(keysFile, 'a-key\n');
    const service = [SERVER_JS, '--memory', '--port', '0', '--api-keys-file', keysFile];
    const args = ['-c', TERMINAL, log, redirected, process.execPath, ...service];
    const { stdout } = spawnSync('python3', args, { encoding: 'utf8', timeout: 60_000 });
    // Node 20 itself crashes (SIGSEGV, SIGABRT) at its exit if its terminal is gone; newer ones do
    // not.
    const code = process.versions.node.startsWith('20.') ? '(0|-6|-11)' : '0';
    assert.match(stdout, new RegExp(`^exit code ${code}\n$`));
    // A log on the terminal ends with the terminal.
    if (!redirected.endsWith('2')) return;
    assert.match(readFileSync(log, 'utf8'), /"Stopping","signal":"SIGHUP"[^]*"Stopped"/);
  });
}

/**
 * Runs a command on its own terminal, with some streams in a log, and closes the terminal after the
 * service has read its keys again.
 */
const TERMINAL = `
import os, pty, select, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
pid, terminal = pty.fork()
if pid == 0:
    for stream in sys.argv[2].split():
        os.dup2(log, int(stream))
    os.execv(sys.argv[3], sys.argv[3:])
def wait_for(text):
    while text not in open(sys.argv[1]).read():
        if select.select([terminal], [], [], 0.02)[0]:
            os.write(log, os.read(terminal, 65536))
wait_for('"Started"')
os.kill(pid, signal.SIGHUP)
wait_for('Read the API keys again')
os.close(terminal)
# A shell sends a signal of its own, and so the service gets more than one.
for _ in range(20):
    os.kill(pid, signal.SIGHUP)
    time.sleep(0.01)
_, status = os.waitpid(pid, 0)
print('exit code', os.waitstatus_to_exitcode(status))
`;
