/** Many processes, one data file: one of them has it, whatever became of the one before. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { connectWire } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { createPet, listAllPets } from '../support/pets/pet-load.ts';
import { assertRefused, portOf, startOn, type Process } from '../support/process/process.ts';
import { createRandom, type Random } from '../support/random.ts';

const STARTERS = rounds(4, 8);
const REFUSAL = /^petstore: .*pets\.json is in use already.*\n$/;

test('One of many processes that start together serves, also right after kill -9', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const ledger = new PetLedger();
  const random = createRandom(1);
  let holder: Process | undefined;
  for (let round = 0; round < rounds(2, 3); round += 1) {
    holder?.child.kill('SIGKILL');
    const starters = Array.from({ length: STARTERS }, () => startOn(t, dataFile));
    const starts = await Promise.allSettled(starters.map((starter) => starter.ready()));
    const serving = starters.filter((_, index) => starts[index]?.status === 'fulfilled');
    assert.equal(serving.length, 1);
    holder = serving[0]!;
    for (const starter of starters) {
      if (starter !== holder) await assertRefused(starter, REFUSAL);
    }
    const port = await portOf(holder);
    ledger.check(await listAllPets(port));
    await create(port, ledger, random);
    assert.equal(holder.child.exitCode, null);
  }
});

async function create(port: number, ledger: PetLedger, random: Random): Promise<void> {
  const connection = await connectWire(port);
  assert.equal((await createPet(connection, ledger, random)).status, 201);
  connection.close();
}
