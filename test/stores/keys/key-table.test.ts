/** The keys that are remembered: against a Map, through eviction, expiry and clocks that jump. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemMemory } from '../../../src/base/memory.ts';
import {
  KEY_LIFETIME_MS,
  KeyTable,
  MAX_KEYS_KEPT,
  type KeyEntry,
} from '../../../src/stores/keys/key-table.ts';
import { forAll, type Random } from '../../support/random.ts';
import { requestKey } from '../../support/request-keys.ts';

const TODAY: number = Date.UTC(2026, 10, 21);

/** A clock that a test moves: both times go on together, unless it says otherwise. */
class TestClock {
  ms = 0;
  jumpMs = 0;
  now = (): number => this.ms;
  timeOfDay = (): number => TODAY + this.ms + this.jumpMs;
}

function newTable(capacity?: number) {
  const clock = new TestClock();
  const table = new KeyTable(systemMemory, clock, capacity);
  const add = (number: number, id: number, expiresAt = clock.timeOfDay() + KEY_LIFETIME_MS): void =>
    table.add({ key: requestKey(number), id: BigInt(id), expiresAt, petCrc: id });
  return { clock, table, add, find: (number: number) => table.find(requestKey(number)) };
}

test('A key is found until 24 hours are over', () => {
  const { clock, add, find } = newTable();
  add(1, 7);
  assert.equal(find(1), 7n);
  assert.equal(find(2), undefined);
  clock.ms += KEY_LIFETIME_MS - 1;
  assert.equal(find(1), 7n);
  clock.ms += 1;
  assert.equal(find(1), undefined);
});

test('A time of day that jumps neither forgets a key nor keeps it', () => {
  for (const jumpMs of [-400 * KEY_LIFETIME_MS, 400 * KEY_LIFETIME_MS]) {
    const { clock, add, find } = newTable();
    add(1, 7);
    clock.jumpMs = jumpMs;
    clock.ms += KEY_LIFETIME_MS - 1;
    assert.equal(find(1), 7n, `${jumpMs}`);
    clock.ms += 1;
    assert.equal(find(1), undefined, `${jumpMs}`);
  }
});

test('An expiry further away than 24 hours is cut to that', () => {
  const { clock, add, find } = newTable();
  add(1, 7, TODAY + 30 * KEY_LIFETIME_MS);
  assert.equal(find(1), 7n);
  clock.ms += KEY_LIFETIME_MS;
  assert.equal(find(1), undefined);
});

test('Across restarts the time of day counts, and entries that expired are kept with the rest', () => {
  const { clock, table, add } = newTable();
  add(1, 7);
  clock.ms += KEY_LIFETIME_MS / 2;
  add(2, 8);
  const entries = [...table.entries()];
  assert.deepEqual(
    entries.map(({ id, expiresAt }) => [id, expiresAt]),
    [
      [7n, TODAY + KEY_LIFETIME_MS],
      [8n, TODAY + 1.5 * KEY_LIFETIME_MS],
    ],
  );
  const restarted = newTable();
  restarted.clock.jumpMs = KEY_LIFETIME_MS;
  for (const entry of entries) restarted.table.add(entry);
  assert.equal(restarted.find(1), undefined);
  assert.equal(restarted.find(2), 8n);
  assert.deepEqual([...restarted.table.entries()], entries);
});

test('No more than the newest 100,000 are kept; those that go before their time are counted', () => {
  const { table, add, find } = newTable();
  for (let id = 1; id <= MAX_KEYS_KEPT; id += 1) add(id, id);
  assert.equal(find(1), 1n);
  assert.equal(table.evicted, 0);
  add(MAX_KEYS_KEPT + 1, MAX_KEYS_KEPT + 1);
  assert.equal(find(1), undefined);
  assert.equal(find(2), 2n);
  assert.equal(find(MAX_KEYS_KEPT + 1), BigInt(MAX_KEYS_KEPT + 1));
  assert.equal(table.length, MAX_KEYS_KEPT);
  assert.equal(table.evicted, 1);
});

test('What had expired when it went is not counted as gone before its time', () => {
  const { clock, table, add } = newTable(2);
  add(1, 1);
  add(2, 2);
  clock.ms += KEY_LIFETIME_MS;
  add(3, 3);
  assert.equal(table.evicted, 0);
});

test('Of one key the greater id wins, and stays when the earlier entry goes', () => {
  const { clock, table, add, find } = newTable(3);
  add(1, 1);
  clock.ms += KEY_LIFETIME_MS;
  add(1, 2);
  assert.equal(find(1), 2n);
  for (const number of [3, 4]) add(number, number);
  assert.equal(find(1), 2n);
  assert.deepEqual(
    [...table.entries()].map(({ id }) => id),
    [2n, 3n, 4n],
  );
  add(5, 5);
  assert.equal(find(1), undefined);
});

test('Entries that come again, as from a journal that is read twice, change nothing', () => {
  const { table, add } = newTable();
  for (const id of [1, 2, 3]) add(id, id);
  const entries = [...table.entries()];
  for (const entry of entries) table.add(entry);
  assert.deepEqual([...table.entries()], entries);
});

test('A key costs some 50 bytes', () => {
  let bytes = 0;
  const count = <T extends { readonly byteLength: number }>(array: T): T => {
    bytes += array.byteLength;
    return array;
  };
  const memory = {
    bytes: (length: number) => count(systemMemory.bytes(length)),
    uint32s: (length: number) => count(systemMemory.uint32s(length)),
    int64s: (length: number) => count(systemMemory.int64s(length)),
  };
  const table = new KeyTable(memory, new TestClock());
  assert.equal(bytes, 0, 'Who sends no keys pays nothing');
  table.reserve();
  assert.ok(bytes / MAX_KEYS_KEPT < 50, `${bytes / MAX_KEYS_KEPT} bytes`);
});

test('With any keys, ids and times it is as a Map is, though they lie close to each other', () => {
  forAll(300, (random) => {
    const capacity = 1 + random.below(40);
    const { clock, table } = newTable(capacity);
    let model: ModelEntry[] = [];
    for (let id = 1; id <= 200; id += 1) {
      clock.ms += random.below(KEY_LIFETIME_MS / 30);
      clock.jumpMs = random.oneIn(20) ? random.below(10 ** 9) : clock.jumpMs;
      const key = crowdedKey(random);
      const expiresAt = clock.timeOfDay() + random.below(2 * KEY_LIFETIME_MS);
      table.add({ key, id: BigInt(id), expiresAt, petCrc: id });
      const lifetimeMs = Math.min(expiresAt - clock.timeOfDay(), KEY_LIFETIME_MS);
      model.push({ key, id: BigInt(id), endsAt: clock.ms + lifetimeMs });
      model = model.slice(-capacity);
      for (let i = 0; i < 5; i += 1) {
        const asked = crowdedKey(random);
        assert.equal(table.find(asked), findIn(model, asked, clock.ms));
      }
    }
    for (const { key } of model) assert.equal(table.find(key), findIn(model, key, clock.ms));
  });
});

interface ModelEntry extends Pick<KeyEntry, 'key' | 'id'> {
  readonly endsAt: number;
}

function findIn(model: readonly ModelEntry[], key: string, now: number): bigint | undefined {
  const entry = model.findLast((one) => one.key === key);
  return entry === undefined || entry.endsAt <= now ? undefined : entry.id;
}

/** One of 60 keys with 6 homes next to each other, around the end of the places and their start. */
function crowdedKey(random: Random): string {
  const home = (random.below(6) - 3) >>> 0;
  return home.toString(16).padStart(8, '0') + String(random.below(10)).repeat(24);
}
