/** Three creates with one key at the same time: how each ends, by how those that are tried end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredPet } from '../../../src/model/pet.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/model/pet-store.ts';
import { InvalidPetError } from '../../../src/model/pet-text.ts';
import { IdempotentCreates } from '../../../src/stores/idempotent-creates.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

const REX = { name: 'Rex', categoryId: 7n };
const PET: StoredPet = { ...REX, id: 1n, text: '{"id":1,"name":"Rex","categoryId":7}' };
const ERRORS = {
  refused: new StoreUnavailableError('full'),
  invalid: new InvalidPetError('no pet'),
  unknown: new OutcomeUnknownError('nobody knows'),
} as const;
type End = keyof typeof ERRORS | 'stored';

const ROWS: readonly (readonly [tried: readonly End[], ends: readonly End[]])[] = [
  [['stored'], ['stored', 'stored', 'stored']],
  [
    ['refused', 'stored'],
    ['refused', 'stored', 'stored'],
  ],
  [
    ['refused', 'refused'],
    ['refused', 'refused', 'refused'],
  ],
  [
    ['invalid', 'invalid', 'stored'],
    ['invalid', 'invalid', 'stored'],
  ],
  [['unknown'], ['unknown', 'unknown', 'unknown']],
];

for (const [tried, ends] of ROWS) {
  test(`If those that are tried end ${tried.join(', ')}, the three end ${ends.join(', ')}`, async () => {
    let stored: StoredPet | undefined;
    let tries = 0;
    let held = 0;
    const creates = new IdempotentCreates({
      find: () => stored,
      async create() {
        const end = tried[tries++]!;
        await new Promise((resolve) => setImmediate(resolve));
        if (end !== 'stored') throw ERRORS[end];
        return (stored = PET);
      },
      hold: () => ((held += 1), () => (held -= 1)),
    });
    const all = [1, 2, 3].map(() => creates.create(REX, requestKey(1)));
    assert.equal(held, 2);
    const expected = ends.map((end) => (end === 'stored' ? PET : ERRORS[end]));
    const found = all.map((one) =>
      one.then(
        ({ pet }) => pet,
        (error: unknown) => error,
      ),
    );
    assert.deepEqual(await Promise.all(found), expected);
    assert.deepEqual([tries, held], [tried.length, 0]);
  });
}
