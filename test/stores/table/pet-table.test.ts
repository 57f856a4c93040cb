/** The pets in memory: ids with gaps, up to the greatest int64, against a plain array. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INT64_MAX } from '../../../src/core/base/int64.ts';
import { systemMemory } from '../../../src/core/base/system.ts';
import {
  PET_STATUSES,
  stringifyPet,
  type PetStatus,
  type StoredPet,
} from '../../../src/core/pets/pet.ts';
import { formatMembers, formatPet } from '../../../src/core/pets/pet-text.ts';
import type { PageQuery } from '../../../src/core/pets/pet-store.ts';
import { PetTable } from '../../../src/core/store/pet-table.ts';
import { rounds } from '../../support/extent.ts';
import { randomPet } from '../../support/pets/random-pet.ts';
import { createRandom, forAll, type Random } from '../../support/random.ts';

/** A pet, and the status that its text has. */
interface ModelPet extends StoredPet {
  readonly status: PetStatus | undefined;
}

/** How ids follow each other, as the step to the next one. */
const steps: Readonly<Record<string, (random: Random) => bigint>> = {
  'one by one': () => 1n,
  'in runs of some ten': (random) => (random.below(10) === 0 ? BigInt(2 + random.below(5)) : 1n),
  'all sparse': (random) => BigInt(2 + random.below(1000)),
  'with gaps of 2^50': (random) => (random.below(3) === 0 ? 2n ** 50n : 1n),
};

for (const [how, step] of Object.entries(steps)) {
  for (const range of ['from 1 on', 'up to 2^63 - 1']) {
    test(`A table with ids ${how}, ${range}, equals a plain array at each length`, () => {
      const random = createRandom(how.length + range.length);
      const gaps = Array.from({ length: rounds(500, 1500) }, () => step(random));
      const span = gaps.reduce((sum, gap) => sum + gap, 0n);
      const table = new PetTable();
      const model: ModelPet[] = [];
      let id = range === 'from 1 on' ? 0n : INT64_MAX - span;
      for (const gap of gaps) {
        id += gap;
        const pet = petOf(id, random.below(20), PET_STATUSES[random.below(4)]);
        table.append(pet);
        model.push(pet);
        compare(table, model, random);
      }
      assert.equal(table.length, gaps.length);
      assert.equal(table.lastId, id);
      compareAll(table, model);
    });
  }
}

test('A pet is found by the status in its text, whatever its name looks like', () => {
  forAll(rounds(500, 2000), (random) => {
    const pet = randomPet(random);
    for (const name of [pet.name, ',"status":"sold"}', `a,"status":"${pet.status}"`]) {
      const table = new PetTable();
      table.append({ id: pet.id, text: stringifyPet({ ...pet, name }) });
      const found = PET_STATUSES.filter((status) => table.list({ limit: 1, status }).text !== '[]');
      assert.deepEqual(found, pet.status === undefined ? [] : [pet.status], name);
    }
  });
});

test('A page is cached, unless it is the last one, or large; the oldest is evicted', () => {
  const table = new PetTable();
  for (let id = 1n; id <= 2000n; id += 1n) {
    table.append(petOf(id, id === 1000n ? 16_330 : id === 1001n ? 16_331 : 1, 'sold'));
  }
  const isCached = (query: PageQuery): boolean => table.list(query) === table.list(query);
  for (const [limit, after, cached] of [
    [1, 0n, true],
    // The text of this page has 16,384 characters, and that of the next one 16,385.
    [1, 999n, true],
    [1, 1000n, false],
    [1, 1999n, false],
    [200, 0n, true],
    [1000, 0n, false],
  ] as const) {
    for (const status of [undefined, 'sold'] as const) {
      assert.equal(isCached({ limit, after, status }), cached, `${limit} pets after ${after}`);
    }
  }
  const pages = Array.from({ length: 256 }, (_, first) =>
    table.list({ limit: 2, after: BigInt(first) }),
  );
  const again = (first: number): boolean =>
    table.list({ limit: 2, after: BigInt(first) }) === pages[first];
  assert.ok(pages.every((_, first) => again(first)));
  table.list({ limit: 2, after: 256n });
  assert.deepEqual([again(1), again(0), again(1)], [true, false, false]);
});

test('Adding pets takes no memory if room was reserved for them', (t) => {
  const bytes = t.mock.method(systemMemory, 'bytes');
  const uint32s = t.mock.method(systemMemory, 'uint32s');
  const requests = (): number => bytes.mock.callCount() + uint32s.mock.callCount();
  const table = new PetTable();
  const random = createRandom(11);
  let id = 0n;
  for (let round = 0; round < rounds(100, 300); round += 1) {
    const pets = Array.from({ length: 1 + random.below(200) }, () => {
      id += random.oneIn(10) ? 2n : 1n;
      const size = random.below(100) === 0 ? 200_000 : random.below(300);
      return petOf(id, size, PET_STATUSES[random.below(4)]);
    });
    table.reserve(pets);
    const before = requests();
    for (const pet of pets) table.append(pet);
    assert.equal(requests(), before);
    for (const { id, text } of pets) assert.ok(table.get(id)?.text === text);
  }
  assert.ok(requests() > 20);
});

/** A pet whose name has so many characters, of two bytes each. */
function petOf(id: bigint, length: number, status?: PetStatus): ModelPet {
  const members = formatMembers({ name: 'é'.repeat(length), categoryId: 7n, status });
  return { id, text: formatPet(id, members), status };
}

function compareAll(table: PetTable, model: readonly ModelPet[]): void {
  const ids = new Set(model.map(({ id }) => id));
  const pets = model.map(({ id, text }) => ({ id, text }));
  assert.deepEqual([...table.pets()], pets);
  for (const pet of pets) {
    const { id } = pet;
    assert.deepEqual(table.get(id), pet);
    for (const near of [id - 1n, id + 1n]) {
      assert.equal(table.get(near) !== undefined, ids.has(near));
    }
  }
}

function compare(table: PetTable, model: readonly ModelPet[], random: Random): void {
  // Often one of the first, so that a page is asked for again after the table has grown.
  const among = random.oneIn(2) ? Math.min(5, model.length) : model.length;
  const near = model[random.below(among)]!.id + BigInt(random.below(5) - 2);
  const after = random.pick([undefined, -1n, 0n, near, near, near, near, INT64_MAX]);
  const status = PET_STATUSES[random.below(6)];
  const limit = random.pick([1, 2, 3, 20, 100, 2000]);
  const matching = model.filter(
    (pet) => pet.id > (after ?? 0n) && (status === undefined || pet.status === status),
  );
  const page = matching.slice(0, limit);
  // The second time it may come from the cache.
  for (const { text, next } of [1, 2].map(() => table.list({ limit, status, after }))) {
    assert.equal(text, `[${page.map((pet) => pet.text).join(',\n')}]`);
    assert.equal(next, matching.length > limit ? page.at(-1)!.id : undefined);
  }
}
