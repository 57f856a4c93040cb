/** The pet scanner: it takes the canonical form only, and never differs from parsePet. */

import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import type { Pet, PetStatus } from '../../../src/model/pet.ts';
import { formatMembers, formatPet, MAX_PET_BYTES, parsePet } from '../../../src/model/pet-text.ts';
import { ScannedBytes, ScannedPets, scanPets } from '../../../src/stores/table/pet-scanner.ts';
import { forAll, mutate, randomText } from '../../support/random.ts';
import { randomPet, randomPetText } from '../../support/pets/random-pet.ts';

test('Every pet that the service writes is scanned, except for the longest integers and an escape', () => {
  let scanned = 0;
  forAll(10_000, (random) => {
    const pet = randomPet(random);
    const bytes = encode(pet);
    const isShort = pet.id < 10n ** 15n && digitsOf(pet.categoryId) <= 18;
    const found = scan(bytes, 0);
    assert.equal(found !== undefined, isShort && !bytes.includes('\\'), bytes.toString());
    if (found === undefined) return;
    scanned += 1;
    assert.deepEqual(found, { id: Number(pet.id), status: pet.status, end: bytes.length });
  });
  assert.ok(scanned > 1000, `Only ${scanned} were scanned`);
});

test('A longer pet than a piece is scanned only where it is covered, up to the longest', () => {
  const rest = '{"id":1,"name":"","categoryId":1}'.length;
  for (const [length, alone, covered] of [
    [PIECE, true, true],
    [PIECE + 1, false, true],
    [MAX_PET_BYTES, false, true],
    [MAX_PET_BYTES + 1, false, false],
  ] as const) {
    const text = `{"id":1,"name":"${'n'.repeat(length - rest)}","categoryId":1}`;
    const bytes = Buffer.from(text);
    assert.equal(scan(bytes, 0) !== undefined, alone, `${length} bytes`);
    const scanned = new ScannedBytes(bytes);
    scanned.cover(0, length);
    run.length = 0;
    scanPets(scanned, 0, SEPARATOR, run);
    assert.equal(run.length === 1, covered, `${length} bytes`);
  }
});

test('Pets are scanned wherever a piece ends, forwards and back', () => {
  const pets = Array.from({ length: 999 }, (_, index) =>
    encode({ id: BigInt(index + 1), name: 'é'.repeat(index % 97), categoryId: 7n }),
  );
  const starts: number[] = [];
  let length = 0;
  for (const pet of pets) {
    starts.push(length);
    length += pet.length + SEPARATOR.length;
  }
  const bytes = Buffer.from(pets.join(SEPARATOR));
  assert.ok(bytes.length > 4 * PIECE);
  const scanned = new ScannedBytes(bytes);
  for (const first of [0, 500, 7, 998]) {
    run.length = 0;
    assert.equal(scanPets(scanned, starts[first]!, SEPARATOR, run), bytes.length);
    assert.deepEqual([...run.starts.subarray(0, run.length)], starts.slice(first));
  }
});

test('parsePet reads each scanned pet as the same pet', () => {
  let scanned = 0;
  let refused = 0;
  forAll(40_000, (random) => {
    const pet = randomPet(random);
    const id = BigInt.asUintN(40, pet.id) + 1n;
    const name = random.oneIn(4) ? pet.name : 'aé€😀'.slice(random.below(4));
    const short = { ...pet, id, name };
    const written = random.oneIn(10) ? Buffer.from(randomPetText(random, short)) : encode(short);
    const before = Buffer.from(randomText(random, 3));
    const bytes = Buffer.concat([before, mutate(random, written), Buffer.from(',\n')]);
    if (!isUtf8(bytes)) return;
    const found = scan(bytes, before.length);
    if (found === undefined) {
      refused += 1;
      return;
    }
    scanned += 1;
    const read = parsePet(bytes.toString('utf8', before.length, found.end));
    assert.deepEqual({ id: Number(read.id), status: read.status, end: found.end }, found);
    // To the byte: what is scanned is copied as it is, and must be what would have been written.
    assert.deepEqual(encode(read), bytes.subarray(before.length, found.end), bytes.toString());
  });
  assert.ok(scanned > 2000 && refused > 3000, `${scanned} scanned, ${refused} refused`);
});

test('The scanner reads nothing beyond the bytes, whether their last pet is complete or cut off', () => {
  let scanned = 0;
  forAll(2000, (random) => {
    const pet = encode({ ...randomPet(random), id: 7n });
    const bytes = Buffer.concat([pet, REST]);
    for (let length = 0; length <= bytes.length; length += 1) {
      run.length = 0;
      scanPets(new ScannedBytes(bytes.subarray(0, length)), 0, SEPARATOR, run);
      if (run.length === 0) continue;
      scanned += 1;
      assert.equal(run.ends[0], pet.length);
    }
  });
  assert.ok(scanned > 2000, `Only ${scanned} were scanned`);
});

test('A scan ends at another separator, and before a pet in another form', () => {
  const pets = [1n, 2n, 3n, 4n].map((id) => encode({ id, name: 'a', categoryId: 7n }).toString());
  const lengthOf = (text: string): number => {
    run.length = 0;
    scanPets(new ScannedBytes(padded(Buffer.from(text))), 0, SEPARATOR, run);
    return run.length;
  };
  assert.equal(lengthOf(pets.join(',\n')), 4);
  assert.equal(lengthOf(`${pets[0]},\n${pets[1]}, \n${pets[2]}`), 2);
  assert.equal(lengthOf(`${pets[0]},\n{"id": 2}`), 1);
  assert.equal(lengthOf(` ${pets[0]}`), 0);
});

const SEPARATOR = ',\n';
/** How many bytes the scanner copies at a time. */
const PIECE = 8 << 10;
const REST: Buffer = Buffer.from('x'.repeat(64));

/** One for all, as a whole file shares one. */
const run = new ScannedPets();

interface ScannedPet {
  readonly id: number;
  readonly status: PetStatus | undefined;
  readonly end: number;
}

/** What was scanned at `at`, as if the bytes went on. */
function scan(bytes: Buffer, at: number): ScannedPet | undefined {
  run.length = 0;
  scanPets(new ScannedBytes(padded(bytes)), at, SEPARATOR, run);
  return run.length === 0
    ? undefined
    : { id: run.ids[0]!, status: run.statuses[0], end: run.ends[0]! };
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, REST]);
}

function encode(pet: Pet): Buffer {
  return Buffer.from(formatPet(pet.id, formatMembers(pet)));
}

function digitsOf(value: bigint): number {
  return String(value).replace('-', '').length;
}
