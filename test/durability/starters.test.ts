/** Many processes, one data file: one of them has it, whatever became of the one before. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectWire } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { listAllPets } from '../support/pets/pet-load.ts';
import { assertRefused, end, portOf, startOn, type Process } from '../support/process/process.ts';
import { createRandom, type Random } from '../support/random.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const STARTERS = 8;
const REFUSAL = /^petstore: .*pets\.json is in use already.*\n$/;

test('Of eight that start at once one serves, right after kill -9 of the last, too', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const ledger = new PetLedger();
  const random = createRandom(1);
  let holder: Process | undefined;
  for (let round = 0; round < 3; round += 1) {
    holder?.child.kill('SIGKILL');
    const starters = Array.from({ length: STARTERS }, () => startOn(t, dataFile));
    const isServing = await Promise.all(
      starters.map((starter) => starter.ready().then(isTrue, isFalse)),
    );
    const serving = starters.filter((_, index) => isServing[index]);
    assert.equal(serving.length, 1);
    holder = serving[0]!;
    for (const starter of starters) {
      if (starter !== holder) await assertRefused(starter, REFUSAL);
    }
    const port = await portOf(holder);
    ledger.check(await listAllPets(port));
    await createPet(port, ledger, random);
    assert.equal(holder.child.exitCode, null);
  }
});

test('A process that is halted keeps its data file, until it is killed', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const ledger = new PetLedger();
  const halted = startOn(t, dataFile);
  await createPet(await portOf(halted), ledger, createRandom(1));
  halted.child.kill('SIGSTOP');
  await assertRefused(startOn(t, dataFile), REFUSAL);

  assert.equal(await end(halted, 'SIGKILL'), 'SIGKILL');
  ledger.check(await listAllPets(await portOf(startOn(t, dataFile))));
});

test('A halted process goes on where it was, a refused starter in between or not', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const ledger = new PetLedger();
  const random = createRandom(1);
  const halted = startOn(t, dataFile);
  const port = await portOf(halted);
  await createPet(port, ledger, random);
  halted.child.kill('SIGSTOP');
  await assertRefused(startOn(t, dataFile), REFUSAL);
  halted.child.kill('SIGCONT');
  await createPet(port, ledger, random);
  ledger.check(await listAllPets(port));
  assert.equal(await end(halted, 'SIGTERM'), 0);
});

test('A lock file that was left behind, whatever is in it, does not matter', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  writeFileSync(`${dataFile}.lock`, '1\n', { mode: 0o400 });
  const service = startOn(t, dataFile);
  await portOf(service);
  await assertRefused(startOn(t, dataFile), REFUSAL);
  // What is in it is the holder, for people.
  assert.equal(readFileSync(`${dataFile}.lock`, 'utf8'), `process ${service.child.pid}\n`);
});

test('The lock is on the file that a symbolic link leads to', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const links = ['a', 'b'].map((name) => join(folder, name, 'link.json'));
  mkdirSync(join(folder, 'a'));
  mkdirSync(join(folder, 'b'));
  // A link to the file, and a link to that link; the file itself is not there yet.
  symlinkSync(dataFile, links[0]!);
  symlinkSync(links[0]!, links[1]!);

  const ledger = new PetLedger();
  const first = startOn(t, links[0]!);
  await createPet(await portOf(first), ledger, createRandom(1));
  for (const other of [links[0]!, links[1]!, dataFile]) {
    await assertRefused(startOn(t, other), REFUSAL);
  }
  await end(first, 'SIGKILL');
  ledger.check(await listAllPets(await portOf(startOn(t, links[1]!))));
});

const isTrue = (): boolean => true;
const isFalse = (): boolean => false;

async function createPet(port: number, ledger: PetLedger, random: Random): Promise<void> {
  const connection = await connectWire(port);
  const body = ledger.newPet(random);
  const answer = await connection.send('POST', '/v1/pets', body);
  assert.equal(answer.status, 201);
  ledger.addAnswer(answer, body);
  connection.close();
}
