/**
 * Every check of the kit, against the service with the memory store. The store already has pets,
 * more of each status than a list shows.
 */

import { STATUSES } from '../../src/kit/expect.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { testOwnService } from './own-service.ts';

const PETS_OF_EACH = 101;

const store = createMemoryStore();
for (const status of [undefined, ...STATUSES]) {
  const older = { name: 'An older pet', categoryId: 5n };
  const pet = status === undefined ? older : { ...older, status };
  for (let i = 0; i < PETS_OF_EACH; i += 1) await store.create(pet);
}
await testOwnService({ store });
