/** The API keys file: whatever its path leads to, reading it ends soon and takes little memory. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readApiKeysFile } from '../../src/app/read-api-keys.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const POSIX = { skip: platform() === 'win32' && 'Windows has no such files' };

test('An API keys file of up to 1 MiB is read, and a longer one refused', async (t) => {
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

test('A device is read to its end, and refused if it has none', POSIX, async () => {
  assert.equal(await readApiKeysFile('/dev/null'), '');
  await assert.rejects(readApiKeysFile('/dev/zero'), /it is longer than 1048576 bytes/);
});

test('A pipe is read to its end, whether reader or writer opens it first', POSIX, async (t) => {
  const path = join(tempDir(t), 'keys');
  execFileSync('mkfifo', [path]);
  const text = readApiKeysFile(path);
  // It waits for a writer.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const pipe = createWriteStream(path);
  pipe.write('a\n');
  await new Promise((resolve) => setTimeout(resolve, 50));
  pipe.end('b\n');
  assert.equal(await text, 'a\nb\n');
});

test('A pipe without a writer is refused after 5 s', POSIX, async (t) => {
  const path = join(tempDir(t), 'keys');
  execFileSync('mkfifo', [path]);
  await assert.rejects(readApiKeysFile(path), /^Error: it did not end within 5000 ms$/);
});
