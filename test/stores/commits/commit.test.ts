/** A commit's text: its form to the byte, that no other is taken for one, and the fast way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../../../src/base/byte-string.ts';
import { INT64_MAX } from '../../../src/base/int64.ts';
import { encodeNewPet, encodeNewPetText } from '../../../src/model/encoded-pet.ts';
import { createCommit, decodeCommit, encodeCommit } from '../../../src/stores/commits/commit.ts';
import { scanCommit } from '../../../src/stores/commits/commit-scanner.ts';
import { PetRun, scannedBytes } from '../../../src/stores/table/pet-scanner.ts';
import { forAll, mutate } from '../../support/random.ts';
import { randomNewPet, randomPetText } from '../../support/random-pet.ts';

const rex = encodeNewPet({ name: 'Rex', categoryId: 7n });
const tom = encodeNewPet({ name: 'Töm', categoryId: -1n, status: 'sold' });

const TEXT =
  '{"after":7,"pets":[{"id":8,"name":"Rex","categoryId":7},' +
  '{"id":9,"name":"Töm","categoryId":-1,"status":"sold"}]}';

test('A commit is one JSON object, with the last id before it and its pets', () => {
  const commit = createCommit(7n, [rex, tom]);
  assert.equal(textOf(encodeCommit(commit)), TEXT);
  assert.deepEqual(
    commit.pets.map(({ id, pet, status }) => ({ id, text: textOf(pet), status })),
    [
      { id: 8n, text: '{"id":8,"name":"Rex","categoryId":7}', status: undefined },
      { id: 9n, text: '{"id":9,"name":"Töm","categoryId":-1,"status":"sold"}', status: 'sold' },
    ],
  );
});

test('A text is read back as the commit that was written', () => {
  for (const after of [0n, 9n, 2n ** 53n, INT64_MAX - 2n]) {
    const name = '"\\u0000\\ud800\u2028"';
    const odd = encodeNewPetText(Buffer.from(`{"name":${name},"categoryId":1e2}`));
    const commit = createCommit(after, [odd, tom]);
    assert.deepEqual(decodeCommit(Buffer.from(encodeCommit(commit), 'latin1')), commit);
  }
});

test('No part of a text is a commit', () => {
  const bytes = Buffer.from(TEXT);
  for (let end = 0; end < bytes.length; end += 1) {
    assert.equal(decodeCommit(bytes.subarray(0, end)), undefined, `${end} bytes`);
  }
});

const PET = '{"id":8,"name":"Rex","categoryId":7}';
const wrongTexts: Readonly<Record<string, string>> = {
  'of another shape': '[]',
  'without pets': '{"after":7,"pets":[]}',
  'with an id too great': `{"after":6,"pets":[${PET}]}`,
  'with an id too small': `{"after":8,"pets":[${PET}]}`,
  'with an id twice': `{"after":7,"pets":[${PET},${PET}]}`,
  'with a comma too many': `{"after":7,"pets":[${PET},]}`,
  'with something at its end': `{"after":7,"pets":[${PET}]} `,
  'without its last bracket': `{"after":7,"pets":[${PET}]`,
  'with a pet that lacks its name': '{"after":7,"pets":[{"id":8,"categoryId":7}]}',
  'with a pet that has a field too many':
    '{"after":7,"pets":[{"id":8,"name":"","categoryId":7,"a":1}]}',
  'with a pet that has a key twice':
    '{"after":7,"pets":[{"id":8,"name":"","name":"","categoryId":7}]}',
  'with a negative id before it': `{"after":-1,"pets":[{"id":0,"name":"","categoryId":7}]}`,
};

for (const [what, text] of Object.entries(wrongTexts)) {
  test(`A text ${what} is no commit, to either way of reading`, () => {
    assert.equal(decodeCommit(Buffer.from(text)), undefined);
    assert.equal(scan(text, 7n), undefined);
  });
}

test('The fast way takes what the store writes, and then agrees with the other', () => {
  let scanned = 0;
  forAll(20_000, (random) => {
    const after = BigInt(random.below(1000));
    const newPets = Array.from({ length: 1 + random.below(3) }, () => {
      return encodeNewPetText(
        Buffer.from(randomPetText(random, randomNewPet(random), { withKeysTwice: true })),
      );
    });
    const written = Buffer.from(encodeCommit(createCommit(after, newPets)), 'latin1');
    const bytes = random.oneIn(2) ? mutate(random, written) : written;
    const lastId = scan(bytes, after);
    if (lastId === undefined) return;
    scanned += 1;
    const commit = decodeCommit(bytes);
    assert.ok(commit !== undefined, bytes.toString());
    assert.equal(commit.after, after);
    assert.equal(lastId, after + BigInt(commit.pets.length));
    const texts = Array.from({ length: run.length }, (_, i) =>
      bytes.toString('latin1', run.starts[i], run.ends[i]),
    );
    assert.deepEqual(
      texts,
      commit.pets.map(({ pet }) => pet),
    );
  });
  assert.ok(scanned > 5000, `Only ${scanned} were scanned`);
});

test('A commit that follows another id is left to the other way', () => {
  assert.equal(scan(TEXT, 7n), 9n);
  assert.equal(scan(TEXT, 6n), undefined);
  assert.equal(run.length, 0);
});

const run = new PetRun();

/** What the fast way says of a text with more bytes behind it. */
function scan(text: string | Buffer, after: bigint): bigint | undefined {
  const bytes = Buffer.from(text as string);
  run.length = 0;
  const padded = Buffer.concat([bytes, Buffer.alloc(64)]);
  return scanCommit(scannedBytes(padded), 0, bytes.length, after, run);
}
