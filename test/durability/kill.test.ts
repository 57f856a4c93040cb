/**
 * kill -9 of the real process, under load and at any time: no acknowledged or seen pet is lost, and
 * a pet that a client sends again with its key is stored once.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CASE, caseOf, rounds } from '../support/extent.ts';
import { connectWire } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { createPet, listAllPets, startLoad } from '../support/pets/pet-load.ts';
import { end, portOf, runScript, startOn } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const ROUNDS = rounds(3, 25);
const CONNECTIONS = 6;

test('Each pet that was acknowledged or seen, or sent again, is stored once after many kill -9', async (t) => {
  // The same seed makes the same choices again, but not at the same moments.
  const seed = Number(CASE ?? Date.now() % 1_000_000);
  t.diagnostic(caseOf(seed));
  const random = createRandom(seed);
  const dataFile = join(tempDir(t), 'pets.json');
  const ledger = new PetLedger();
  let sentAgain = 0;

  for (let round = 0; round < ROUNDS; round += 1) {
    if (random.oneIn(3)) {
      // While it reads its file, or makes it durable.
      const starting = startOn(t, dataFile);
      await sleep(random.below(200));
      await end(starting, 'SIGKILL');
    }
    const service = startOn(t, dataFile);
    const port = await portOf(service);
    ledger.check(await listAllPets(port));
    const load = startLoad(port, ledger, random, CONNECTIONS, true);
    await load.answered(random.below(400));
    let last: Promise<unknown> | undefined;
    if (round === 0) {
      // At least this create gets no response, and is sent again.
      service.child.kill('SIGSTOP');
      last = createPet(await connectWire(port), ledger, random, true);
    }
    // In some rounds the process is killed during its stop.
    if (random.oneIn(3)) service.child.kill('SIGTERM');
    await sleep(random.below(20));
    await end(service, 'SIGKILL');
    await Promise.all([load.ended, last]);
    sentAgain += ledger.unanswered.length;
  }

  const last = startOn(t, dataFile);
  const port = await portOf(last);
  const load = startLoad(port, ledger, random, CONNECTIONS, true);
  await load.answered(ledger.unanswered.length + CONNECTIONS);
  load.stop();
  await load.ended;
  const pets = await listAllPets(port);
  ledger.check(pets);
  await end(last, 'SIGKILL');
  assert.ok(sentAgain > 0, 'Nothing was ever sent again');
  const { code, stdout } = await runScript('start.mjs', ['check-data', dataFile]);
  assert.equal(code, 0);
  const found = Number(/: ([0-9]+) pets, /.exec(stdout)?.[1]);
  assert.ok(found >= pets.length && found <= ledger.sent, stdout);
  t.diagnostic(
    `${ROUNDS} rounds; pets sent ${ledger.sent}, answered ${ledger.answered}, there ${found}; ` +
      `${sentAgain} sent again`,
  );
});
