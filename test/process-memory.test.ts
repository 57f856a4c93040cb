/** The process with `--memory`: it stores no pets, and reads a named data file at its start. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from './support/disk/temp-dir.ts';
import { end, KEY, startProcess } from './support/process/process.ts';

test('--memory starts with the pets of a data file, and does not change the file', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const data = '[{"id":5,"name":"Old","categoryId":1}]';
  writeFileSync(dataFile, data);
  const args = ['--port', '0', '--memory', '--data-file', dataFile];
  const service = startProcess(args, { PETSTORE_API_KEYS: KEY });
  t.after(() => end(service, 'SIGKILL'));
  const url = `${await service.ready()}/v1/pets`;
  assert.match(service.stdout(), /keeps its pets in memory only, until it ends; it began with/);
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  const body = '{"name":"New","categoryId":1}';
  assert.match(await (await fetch(url, { method: 'POST', body, headers })).text(), /"id":6/);
  assert.match(await (await fetch(url, { headers })).text(), /Old[^]*New/);
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.equal(readFileSync(dataFile, 'utf8'), data);
  assert.deepEqual(readdirSync(folder), ['pets.json']);
});
