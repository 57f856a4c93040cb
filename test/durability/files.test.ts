/** The files of a real process: what it keeps of them, and what it clears away. */

import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectWire } from '../support/http/wire.ts';
import { end, portOf, startOn } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const PET = '{"name":"Rex","categoryId":7}';

for (const mode of [0o600, 0o640, 0o666]) {
  test(`A data file of mode ${mode.toString(8)} keeps it across a checkpoint`, async (t) => {
    const dataFile = join(tempDir(t), 'pets.json');
    writeFileSync(dataFile, '[]');
    chmodSync(dataFile, mode);
    const before = statSync(dataFile);
    const service = startOn(t, dataFile);
    await createPet(await portOf(service));
    assert.equal(await end(service, 'SIGTERM'), 0);
    const after = statSync(dataFile);
    assert.equal(after.mode & 0o7777, mode);
    // It is another file, so the mode did not just stay.
    assert.notEqual(after.ino, before.ino);
    assert.ok(readFileSync(dataFile, 'utf8').includes('Rex'));
  });
}

test('A checkpoint that was cut off is cleared away at the next start', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const text = '[{"id":1,"name":"Rex","categoryId":7}]';
  writeFileSync(dataFile, text);
  writeFileSync(`${dataFile}.tmp`, '[\n{"id":1,"name":"R');
  await portOf(startOn(t, dataFile));
  assert.deepEqual(readdirSync(folder).sort(), ['pets.json', 'pets.json.lock']);
  assert.equal(readFileSync(dataFile, 'utf8'), text);
});

async function createPet(port: number): Promise<void> {
  const connection = await connectWire(port);
  assert.equal((await connection.send('POST', '/v1/pets', PET)).status, 201);
  connection.close();
}
