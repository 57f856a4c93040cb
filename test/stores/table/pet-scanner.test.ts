/** The pet scanner, where its pets end. What it takes is in commits/commit.test.ts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pet } from '../../../src/model/pet.ts';
import { formatMembers, formatPet, MAX_PET_BYTES } from '../../../src/model/pet-text.ts';
import { ScannedPets, scanPets } from '../../../src/stores/table/pet-scanner.ts';

const SEPARATOR = ',\n';
/** One for all, as a whole file shares one. */
const run = new ScannedPets();

/** Scans from `at` on, and returns where the scan ended. */
function scan(bytes: Buffer, at = 0): number {
  return scanPets(bytes.toString('latin1'), at, SEPARATOR, run);
}

const encode = (pet: Pet): Buffer => Buffer.from(formatPet(pet.id, formatMembers(pet)));

test('A pet is scanned up to the longest', () => {
  const rest = '{"id":1,"name":"","categoryId":1}'.length;
  for (const [length, count] of [
    [MAX_PET_BYTES, 1],
    [MAX_PET_BYTES + 1, 0],
  ] as const) {
    scan(Buffer.from(`{"id":1,"name":"${'n'.repeat(length - rest)}","categoryId":1} `));
    assert.equal(run.length, count, `${length} bytes`);
  }
});

test('Pets are scanned from any of them on, up to another separator', () => {
  const pets = Array.from({ length: 999 }, (_, index) =>
    encode({ id: BigInt(index + 1), name: 'é'.repeat(index % 97), categoryId: 7n }),
  );
  let length = 0;
  const starts = pets.map((pet) => (length += pet.length + SEPARATOR.length) - pet.length - 2);
  const bytes = Buffer.from(pets.join(SEPARATOR));
  for (const first of [0, 500, 7, 998]) {
    assert.equal(scan(bytes, starts[first]!), bytes.length);
    assert.deepEqual([...run.starts.subarray(0, run.length)], starts.slice(first));
  }
  bytes[starts[600]! - 1] = 0x20;
  assert.equal(scan(bytes), starts[600]! - 2);
});
