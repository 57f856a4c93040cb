/** SIGTERM to the real process: each request gets its response, and the data file has each pet. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rounds } from '../support/extent.ts';
import type { Outcome } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { startLoad } from '../support/pets/pet-load.ts';
import { end, portOf, startOn } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const ROUNDS = rounds(2, 4);
const CONNECTIONS = 24;

test('SIGTERM under load cuts no response, and the data file has the acknowledged pets', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SEED=${seed}`);
  const random = createRandom(seed);
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const ledger = new PetLedger();
  const counts = new Map<Outcome['status'], number>();

  for (let round = 0; round < ROUNDS; round += 1) {
    const service = startOn(t, dataFile);
    const load = startLoad(await portOf(service), ledger, random, CONNECTIONS);
    await load.answered(100 + random.below(200));
    assert.equal(await end(service, 'SIGTERM'), 0);
    for (const outcome of await load.ended) {
      assertWhole(outcome);
      counts.set(outcome.status, (counts.get(outcome.status) ?? 0) + 1);
    }
    assert.deepEqual(readdirSync(folder).sort(), ['pets.json', 'pets.json.lock']);
    const snapshot = readFileSync(dataFile, 'utf8');
    const pets = snapshot.slice('[\n'.length, snapshot.lastIndexOf('\n]')).split(',\n');
    ledger.check(pets);
    // And no other pet.
    assert.equal(pets.length, ledger.answered);
  }
  t.diagnostic(`Outcomes: ${JSON.stringify(Object.fromEntries(counts))}`);
});

/** A 200 or 201, an Error, or no byte if the request came too late. */
function assertWhole(outcome: Outcome): void {
  if (outcome.status === 'cut') {
    assert.equal(outcome.received, '');
    return;
  }
  if (outcome.status === 200 || outcome.status === 201) return;
  const { status, body, headers } = outcome;
  assert.ok(status === 503 || status === 404, `${status}: ${body}`);
  if (status === 503) assert.ok(Number(headers.get('retry-after')) > 0);
  assert.deepEqual(Object.keys(JSON.parse(body) as object), ['code', 'message', 'status']);
}
