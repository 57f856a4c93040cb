/** The process: what its user sees of it, from the outside. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startProcess } from './support/process.ts';
import { tempDir } from './support/temp-dir.ts';

test('A pet is still there after kill -9 and a restart', async (t) => {
  const args = ['--port', '0', '--data-file', join(tempDir(t), 'pets.json')];
  const env = { PETSTORE_API_KEYS: 'k' };
  const headers = { Authorization: 'Bearer k' };

  const first = startProcess(args, env);
  t.after(() => first.child.kill('SIGKILL'));
  const body = '{"name":"Rex","categoryId":7}';
  const added = await fetch(`${await first.ready()}/v1/pets`, { method: 'POST', headers, body: Buffer.from(body) });
  assert.equal(added.status, 201);
  first.child.kill('SIGKILL');
  assert.equal(await first.exit(), 'SIGKILL');

  const second = startProcess(args, env);
  t.after(() => second.child.kill('SIGKILL'));
  const found = await fetch(`${await second.ready()}/v1/pets/1`, { headers });
  assert.equal(await found.text(), '{"id":1,"name":"Rex","categoryId":7}');
  second.child.kill('SIGTERM');
  assert.equal(await second.exit(), 0);
});
