/**
 * A service that is stopped and started again under load: no connection is reset, each response is
 * complete, and the data file has each acknowledged pet. On a socket that a supervisor keeps, no
 * connection is refused either.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { connectWire, type Outcome } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { REFUSED, startLoad } from '../support/pets/pet-load.ts';
import { end, portOf, startFor, type Process } from '../support/process/process.ts';
import { openSupervisor } from '../support/process/supervisor.ts';
import { createRandom } from '../support/random.ts';

const RESTARTS = rounds(3, 12);
const CREATORS = 12;

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

test('SIGTERM under load resets no connection, and the data file has the pets', async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const random = createRandom(seed);
  const dataFile = join(tempDir(t), 'pets.json');
  const ledger = shortLedger();
  const outcomes: Outcome[] = [];
  for (let round = 0; round < RESTARTS; round += 1) {
    const service = startFor(t, ['--port', '0', '--data-file', dataFile]);
    const port = await portOf(service);
    const load = startLoad(port, ledger, random, CREATORS);
    await load.answered(100 + random.below(200));
    assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
    outcomes.push(...(await load.ended));
    // On a busy machine a request may take longer than the service waits: one of each connection.
    const unanswered = assertWhole(outcomes, ['', REFUSED]);
    assert.ok(unanswered <= CREATORS * (round + 1), `${unanswered} without a response`);
    assertStored(dataFile, ledger, unanswered);
  }
});

test(`${RESTARTS} restarts on an inherited socket refuse and reset no request`, async (t) => {
  t.diagnostic(`SEED=${seed}`);
  const random = createRandom(seed);
  const supervisor = openSupervisor(t);
  const dataFile = join(tempDir(t), 'pets.json');
  const start = (): Process => supervisor.start(['--data-file', dataFile]);
  const ledger = shortLedger();
  let service = start();
  await service.ready();
  const load = startLoad(supervisor.port, ledger, random, CREATORS);
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await load.answered(100 + random.below(200));
    assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
    const connection = await connectWire(supervisor.port);
    const answer = connection.send('GET', '/v1/pets');
    service = start();
    await service.ready();
    // Not 503, as from a service that is starting.
    assert.equal((await answer).status, 200);
    connection.close();
  }
  load.stop();
  const unanswered = assertWhole(await load.ended, ['']);
  assert.ok(unanswered <= CREATORS * RESTARTS, `${unanswered} without a response`);
  assert.equal(await end(service, 'SIGTERM'), 0);
  assertStored(dataFile, ledger, unanswered);
});

/** A ledger of short pets: a client that reads long ones may send too late for a stop. */
function shortLedger(): PetLedger {
  const ledger = new PetLedger();
  ledger.maxPaddingBytes = 10;
  return ledger;
}

/**
 * Each outcome is a 200 or 201, an Error, or a connection that ended with one of these texts.
 * Returns how many requests got no byte.
 */
function assertWhole(outcomes: readonly Outcome[], ends: readonly string[]): number {
  for (const outcome of outcomes) {
    if (outcome.status === 'cut') assert.ok(ends.includes(outcome.received), outcome.received);
    else if (outcome.status !== 200 && outcome.status !== 201) {
      const { status, body, headers } = outcome;
      assert.ok(status === 503 || status === 404, `${status}: ${body}`);
      if (status === 503) assert.ok(Number(headers.get('retry-after')) > 0);
      assert.deepEqual(Object.keys(JSON.parse(body) as object), ['code', 'message', 'status']);
    }
  }
  return outcomes.filter((outcome) => outcome.status === 'cut' && outcome.received === '').length;
}

/** The data file has the acknowledged pets, and no others but those without a response. */
function assertStored(dataFile: string, ledger: PetLedger, unanswered: number): void {
  assert.deepEqual(readdirSync(dirname(dataFile)), ['pets.json']);
  const lines = readFileSync(dataFile, 'utf8').split('\n').slice(1, -2);
  const pets = lines.map((line) => line.replace(/^,/, '').trimEnd());
  ledger.check(pets);
  assert.ok(pets.length <= ledger.answered + unanswered, `${pets.length} pets`);
}
