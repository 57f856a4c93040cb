/** Creates with an idempotency key, as far as creates.script does not show them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/core/base/system.ts';
import type { StoredPet } from '../../src/core/pets/pet.ts';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
} from '../../src/core/pets/pet-store.ts';
import { formatMembers } from '../../src/core/pets/pet-text.ts';
import { CommitQueue } from '../../src/core/store/commit-queue.ts';
import { KeyedCreates } from '../../src/core/store/keyed-creates.ts';
import { IdempotencyKeys } from '../../src/core/store/idempotency-keys.ts';
import { PetTable } from '../../src/core/store/pet-table.ts';
import { petText, REX } from '../support/pets/rex.ts';
import { requestKey } from '../support/pets/request-keys.ts';

const KEY = requestKey(1);

/** Keyed creates, and a function that stores the key as a commit in doubt may do. */
function start() {
  const queue = new CommitQueue(() => Promise.resolve([]), 1);
  const tables = { pets: new PetTable(), keys: new IdempotencyKeys(systemClock) };
  const keyed = new KeyedCreates(tables, () => undefined, queue);
  const store = (): void => {
    tables.pets.append({ id: 1n, text: petText(1) });
    tables.keys.add(KEY, 1n, Infinity);
  };
  return { keyed, store };
}

for (const error of [new StoreUnavailableError('refused'), new OutcomeUnknownError('unknown')]) {
  test(`A create is a replay if its key was stored while it was ${error.message}`, async () => {
    const { keyed, store } = start();
    const create = async (): Promise<StoredPet> => {
      store();
      throw error;
    };
    const { pet, isReplayed } = await keyed.createOnce(formatMembers(REX), KEY, create);
    assert.deepEqual([pet.id, isReplayed], [1n, true]);
    const other = formatMembers({ ...REX, name: 'Tom' });
    await assert.rejects(keyed.createOnce(other, KEY, create), KeyReusedError);
  });
}
