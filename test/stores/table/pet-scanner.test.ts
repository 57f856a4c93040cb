/** The pet scanner, where its pieces end. What it takes is in commits/commit.test.ts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pet } from '../../../src/model/pet.ts';
import { formatMembers, formatPet, MAX_PET_BYTES } from '../../../src/model/pet-text.ts';
import { ScannedBytes, ScannedPets, scanPets } from '../../../src/stores/table/pet-scanner.ts';

const SEPARATOR = ',\n';
/** How many bytes the scanner copies at a time. */
const PIECE = 8 << 10;
/** One for all, as a whole file shares one. */
const run = new ScannedPets();

/** Scans from `at` on, and returns where the scan ended. */
function scan(bytes: Buffer, at = 0, scanned = new ScannedBytes(bytes)): number {
  run.length = 0;
  return scanPets(scanned, at, SEPARATOR, run);
}

const encode = (pet: Pet): Buffer => Buffer.from(formatPet(pet.id, formatMembers(pet)));

test('A longer pet than a piece is scanned only where it is covered, up to the longest', () => {
  const rest = '{"id":1,"name":"","categoryId":1}'.length;
  for (const [length, alone, covered] of [
    [PIECE, 1, 1],
    [PIECE + 1, 0, 1],
    [MAX_PET_BYTES, 0, 1],
    [MAX_PET_BYTES + 1, 0, 0],
  ] as const) {
    const bytes = Buffer.from(`{"id":1,"name":"${'n'.repeat(length - rest)}","categoryId":1} `);
    scan(bytes);
    assert.equal(run.length, alone, `${length} bytes`);
    const scanned = new ScannedBytes(bytes);
    scanned.cover(0, length);
    scan(bytes, 0, scanned);
    assert.equal(run.length, covered, `${length} bytes`);
  }
});

test('Pets are scanned wherever a piece ends, up to another separator', () => {
  const pets = Array.from({ length: 999 }, (_, index) =>
    encode({ id: BigInt(index + 1), name: 'é'.repeat(index % 97), categoryId: 7n }),
  );
  let length = 0;
  const starts = pets.map((pet) => (length += pet.length + SEPARATOR.length) - pet.length - 2);
  const bytes = Buffer.from(pets.join(SEPARATOR));
  assert.ok(bytes.length > 4 * PIECE);
  const scanned = new ScannedBytes(bytes);
  for (const first of [0, 500, 7, 998]) {
    assert.equal(scan(bytes, starts[first]!, scanned), bytes.length);
    assert.deepEqual([...run.starts.subarray(0, run.length)], starts.slice(first));
  }
  bytes[starts[600]! - 1] = 0x20;
  assert.equal(scan(bytes), starts[600]! - 2);
});
