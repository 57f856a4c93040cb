/**
 * A service that is stopped and started again under load: each request that was sent before has a
 * response, each response is complete, and the data file has each acknowledged pet. A supervisor
 * keeps the socket, so that no connection is refused either. A request that is sent while the
 * service stops may come too late: how long a service waits for one is in test/wire.
 */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { CASE, caseOf, rounds } from '../support/extent.ts';
import { connectWire, type Outcome } from '../support/http/wire.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { startLoad } from '../support/pets/pet-load.ts';
import { end, FAULTY_CALLS, KEY, type Process } from '../support/process/process.ts';
import { openSupervisor } from '../support/process/supervisor.ts';
import { createRandom } from '../support/random.ts';
import { PATIENT } from './scene.ts';

const RESTARTS = rounds(2, 12);
const CREATORS = 12;

/** The timers of the services, as of PATIENT ones. */
const FASTER = String(PATIENT);

const seed = Number(CASE ?? Date.now() % 1_000_000);

test(`${RESTARTS} restarts on an inherited socket refuse no request, and leave no earlier one without a response`, async (t) => {
  t.diagnostic(caseOf(seed));
  const random = createRandom(seed);
  const supervisor = openSupervisor(t);
  const dataFile = join(tempDir(t), 'pets.json');
  const env = { PETSTORE_API_KEYS: KEY, NODE_OPTIONS: `--import=${FAULTY_CALLS}`, FASTER };
  const start = (): Process => supervisor.start(['--data-file', dataFile], env);
  const ledger = new PetLedger();
  ledger.maxPaddingBytes = 10;
  let service = start();
  await service.ready();
  const load = startLoad(supervisor.port, ledger, random, CREATORS);
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await load.answered(100 + random.below(200));
    load.stopping(true);
    assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
    const connection = await connectWire(supervisor.port);
    const answer = connection.send('GET', '/v1/pets');
    service = start();
    await service.ready();
    // Not 503, as from a service that is starting.
    assert.equal((await answer).status, 200);
    connection.close();
    load.stopping(false);
  }
  load.stop();
  const unanswered = assertWhole(await load.ended);
  assert.equal(load.lost(), 0);
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.deepEqual(readdirSync(dirname(dataFile)), ['pets.json']);
  const pets = await petsAtNextStart(dataFile);
  ledger.check(pets);
  assert.ok(pets.length <= ledger.answered + unanswered, `${pets.length} pets`);
});

/**
 * Each outcome is a 200 or 201, an Error, or a connection that ended without a byte. Returns how
 * many requests got none.
 */
function assertWhole(outcomes: readonly Outcome[]): number {
  for (const outcome of outcomes) {
    if (outcome.status === 'cut') assert.equal(outcome.received, '');
    else if (outcome.status !== 200 && outcome.status !== 201) {
      const { status, body, headers } = outcome;
      assert.ok(status === 503 || status === 404, `${status}: ${body}`);
      if (status === 503) assert.ok(Number(headers.get('retry-after')) > 0);
      assert.deepEqual(Object.keys(JSON.parse(body) as object), ['code', 'message', 'status']);
    }
  }
  return outcomes.filter(({ status }) => status === 'cut').length;
}
