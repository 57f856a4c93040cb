/** The interface's part 3: states and transitions. */

import { demand, NotObserved, type Check } from '../check.ts';
import { petsOf } from '../client.ts';
import { assertFiltered, assertKept, assertPet, findListed, STATUSES } from '../expect.ts';

export const states: readonly Check[] = [
  demand('3/status-set', 'The status can be set when an animal is created', async (client) => {
    for (const status of STATUSES) {
      const { pet } = await client.add(client.newPet({ status }));
      assertPet(pet, { status });
      await assertKept(client, pet);
    }
  }),

  demand('3/status-filter', 'The status can be used as a filter when listing', async (client) => {
    let isFound = false;
    for (const status of STATUSES) {
      const { pet } = await client.add(client.newPet({ status }));
      assertFiltered(petsOf(await client.get(`/pets?limit=100&status=${status}`)), status);
      if ((await findListed(client, pet)) !== undefined) isFound = true;
    }
    if (!isFound) throw new NotObserved('there are more pets of each status than a list shows');
  }),
];
