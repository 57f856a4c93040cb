/** What clients see of a problem with the files: enough to act on, and no path of the machine. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

test('If another program has replaced the data file, 503 and /readyz name no path', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const service = await openService(t, { dataFile });
  assert.equal((await service.post({ name: 'Rex', categoryId: 1 })).status, 201);
  rmSync(`${dataFile}.journal`);
  writeFileSync(dataFile, '[{"id":1,"name":"Foreign","categoryId":7,"status":"sold"}]');
  const refused = await service.post({ name: 'Tom', categoryId: 1 });
  assert.equal(refused.status, 503);
  const ready = await service.fetch('/readyz');
  assert.equal(ready.status, 503);
  for (const response of [refused, ready]) {
    const body = await response.text();
    assert.match(body, /data file/);
    assert.ok(!body.includes(folder), body);
  }
});
