/** The file of API keys: whatever lies in its place, reading it ends soon and takes little. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readApiKeysFile } from '../../src/api-keys/read-api-keys.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const POSIX = { skip: platform() === 'win32' && 'Windows has no such files' };

test('A file of up to 1 MiB is read, and no longer one', async (t) => {
  const path = join(tempDir(t), 'keys');
  for (const text of ['', 'a\n', 'é\n'.repeat(100), 'x'.repeat(1 << 20)]) {
    writeFileSync(path, text);
    assert.equal(await readApiKeysFile(path), text);
  }
  writeFileSync(path, 'x'.repeat((1 << 20) + 1));
  await assert.rejects(readApiKeysFile(path), /^Error: it is longer than 1048576 bytes$/);
  await assert.rejects(readApiKeysFile(`${path}2`), { code: 'ENOENT' });
  mkdirSync(`${path}3`);
  await assert.rejects(readApiKeysFile(`${path}3`), { code: 'EISDIR' });
});

test('A device without an end is not read to it', POSIX, async () => {
  await assert.rejects(readApiKeysFile('/dev/zero'), /it is longer than 1048576 bytes/);
});

test('A pipe is read to its end, whoever comes first', POSIX, async (t) => {
  const path = join(tempDir(t), 'keys');
  execFileSync('mkfifo', [path]);
  const text = readApiKeysFile(path);
  // It waits for somebody to write.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const pipe = createWriteStream(path);
  pipe.write('a\n');
  await new Promise((resolve) => setTimeout(resolve, 50));
  pipe.end('b\n');
  assert.equal(await text, 'a\nb\n');
});

test(
  'A pipe that nobody writes to is given up, and does not keep the process',
  POSIX,
  async (t) => {
    const path = join(tempDir(t), 'keys');
    execFileSync('mkfifo', [path]);
    await assert.rejects(readApiKeysFile(path), /^Error: its end did not come within 5000 ms$/);
  },
);
