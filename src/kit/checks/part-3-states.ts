/** Spec section 3: states and transitions. */

import { demand, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import { assertFiltered, assertKept, assertPet, findListed, STATUSES } from '../expect.ts';
import { petsOf } from '../test-client.ts';

export const states: readonly Check[] = [
  demand('3/status-set', 'The status can be set when an animal is created', (client) =>
    eachCase(client, STATUSES, async (own, status) => {
      const { pet } = await own.add(own.newPet({ status }));
      assertPet(pet, { status });
      await assertKept(own, pet);
    }),
  ),

  demand('3/status-filter', 'The status can be used as a filter when listing', (client) =>
    eachCase(client, STATUSES, async (own, status) => {
      const { pet } = await own.add(own.newPet({ status }));
      assertFiltered(petsOf(await own.get(`/pets?limit=100&status=${status}`)), status);
      await findListed(own, pet);
    }),
  ),
];
