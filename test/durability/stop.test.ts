/** SIGTERM to the real process: each request gets its response, and the data file has each pet. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rounds } from '../support/extent.ts';
import { connectWire, openWire, type Outcome } from '../support/http/wire.ts';
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

test('A client that reads slowly gets all of a long response after SIGTERM', async (t) => {
  const service = startOn(t, join(tempDir(t), 'pets.json'));
  const port = await portOf(service);
  const connection = await openWire(t, port);
  // 100 of these are more than the buffers of a connection hold.
  const body = JSON.stringify({ name: 'x'.repeat(65_000), categoryId: 1 });
  for (let pet = 0; pet < 100; pet += 1) {
    assert.equal((await connection.send('POST', '/v1/pets', body)).status, 201);
  }

  const answer = connection.send('GET', '/v1/pets?limit=100');
  await connection.until((text) => text !== '');
  connection.socket.pause();
  service.child.kill('SIGTERM');
  // Once it takes no new connection it is stopping for certain.
  for (let other; (other = await connectWire(port).catch(() => undefined));) other.close();
  connection.socket.resume();
  const { status, body: pets } = whole(await answer);
  assert.equal(status, 200);
  assert.equal((JSON.parse(pets) as unknown[]).length, 100);
  assert.equal(await service.exit(), 0);
});

function whole(outcome: Outcome): Exclude<Outcome, { status: 'cut' }> {
  assert.ok(outcome.status !== 'cut', 'The connection was cut');
  return outcome;
}

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
