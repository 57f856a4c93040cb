/**
 * Clients with idempotency keys while the real process ends many times: each client sends a pet
 * until it gets a response, over connections that break, and then the next pet. Each pet is stored
 * exactly once.
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounds } from '../support/extent.ts';
import { listAllPets } from '../support/pets/pet-load.ts';
import { end, KEY, portOf, startOn } from '../support/process/process.ts';
import { createRandom, type Random } from '../support/random.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

/** ROUNDS=300 for a long run. */
const ROUNDS = Number(process.env['ROUNDS'] ?? rounds(4, 25));
const CLIENTS = 8;

test('Each pet that a client sends again with its key is stored once, however the process ends', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SEED=${seed}`);
  const random = createRandom(seed);
  const dataFile = join(tempDir(t), 'pets.json');
  const shop = new Shop(random);
  const clients = Array.from({ length: CLIENTS }, (_, number) => shop.runClient(number));

  for (let round = 0; round < ROUNDS; round += 1) {
    const service = startOn(t, dataFile);
    shop.port = await portOf(service);
    await shop.answers(random.below(100));
    // In some rounds the process is killed during its last checkpoint.
    const isClean = random.oneIn(3);
    if (random.oneIn(2)) service.child.kill('SIGTERM');
    if (!isClean) {
      await sleep(random.below(15));
      service.child.kill('SIGKILL');
    } else {
      service.child.kill('SIGTERM');
    }
    await service.exit();
  }

  const last = startOn(t, dataFile);
  shop.port = await portOf(last);
  shop.isClosing = true;
  await Promise.all(clients);
  const names = (await listAllPets(shop.port)).map(
    (text) => (JSON.parse(text) as { name: string }).name,
  );
  assert.equal(await end(last, 'SIGTERM'), 0);
  assert.deepEqual(names.sort(), [...shop.idOf.keys()].sort());
  const { answered, replays, failures } = shop;
  t.diagnostic(`${ROUNDS} ends; ${answered} pets, ${replays} replays, ${failures} failures`);
  assert.ok(failures > 0, 'Nothing was ever sent again');
});

/** What the clients share: the current port of the service, and its responses. */
class Shop {
  port = 0;
  /** True if clients must finish the current pet, and stop. */
  isClosing = false;
  answered = 0;
  replays = 0;
  failures = 0;
  /** The id in the response for each pet, by name. */
  readonly idOf: Map<string, number> = new Map();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Resolves when so many more pets were acknowledged. */
  async answers(pets: number): Promise<void> {
    const goal = this.answered + pets;
    while (this.answered < goal) await sleep(1);
  }

  async runClient(number: number): Promise<void> {
    for (let count = 1; !this.isClosing; count += 1) {
      const name = `Pet ${number}.${count}`;
      const key = randomUUID();
      const id = await this.#sendUntilAnswered(name, key);
      this.idOf.set(name, id);
      this.answered += 1;
      // As a client that lost the response.
      if (this.#random.oneIn(4)) {
        assert.equal(await this.#sendUntilAnswered(name, key), id, `${name} has two ids`);
      }
    }
  }

  async #sendUntilAnswered(name: string, key: string): Promise<number> {
    for (;;) {
      const id = await this.#send(name, key).catch(() => undefined);
      if (id !== undefined) return id;
      this.failures += 1;
      await sleep(5 + this.#random.below(20));
    }
  }

  /** Resolves with the id of a 201, or undefined for another response. Rejects without one. */
  async #send(name: string, key: string): Promise<number | undefined> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/v1/pets`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${KEY}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      },
      body: JSON.stringify({ name, categoryId: 7 }),
      // Some abandon a request early, and send it again while the first one is in progress.
      signal: AbortSignal.timeout(this.#random.oneIn(5) ? 1 + this.#random.below(10) : 5000),
    });
    if (answer.status !== 201) return void (await answer.arrayBuffer());
    if (answer.headers.get('Idempotent-Replayed') === 'true') this.replays += 1;
    return ((await answer.json()) as { id: number }).id;
  }
}
