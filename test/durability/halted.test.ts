/**
 * A second process at the data file of one that is halted. What other programs do to the files is
 * in test/simulation/meddling.ts; what a real file system says then, in real-disk.test.ts.
 */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { startLoad } from '../support/pets/pet-load.ts';
import { assertRefused, end, startOn } from '../support/process/process.ts';
import { openScene } from './scene.ts';

test('A halted process keeps its lock, and another one gets a file of its own if that is removed', async (t) => {
  const { folder, dataFile, service, port, ledger, random } = await openScene(t);
  const load = startLoad(port, ledger, random);
  await load.answered(40);
  service.child.kill('SIGSTOP');
  const refused =
    /^petstore: \S+\.json is in use already: another process, or another app of this one, has locked it\n$/;
  await assertRefused(startOn(t, dataFile), refused);
  fs.rmSync(dataFile);
  const second = await openScene(t, folder);
  assert.equal((await second.create()).status, 201);
  service.child.kill('SIGCONT');
  assert.equal(await service.exit(), 1);
  await load.ended;
  const [saved = '', ...others] = fs.readdirSync(folder).filter((name) => /\.saved-/.test(name));
  assert.deepEqual(others, []);
  assert.equal((await second.create()).status, 201);
  assert.equal(await end(second.service, 'SIGTERM'), 0);
  await assertRefused(startOn(t, dataFile), /^petstore: .* has 2 pets, .*\n$/);
  ledger.check(await petsAtNextStart(join(folder, saved)));
  fs.rmSync(join(folder, saved));
  second.ledger.check(await petsAtNextStart(dataFile));
});
