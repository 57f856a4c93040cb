/** Spec section 4.3: GET /pets/{petId}, getPet, deprecated. */

import assert from 'node:assert/strict';
import { demand, NotObserved, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import {
  assertGetPetStatus,
  assertLists,
  assertPet,
  assertRefused,
  LOST_ID,
  STATUSES,
} from '../expect.ts';
import { fieldsOf } from '../test-client.ts';

/** Values at which a conversion to int64 may fail. */
const NO_IDS = ['abc', '1.5', '-', 'null', '9223372036854775808', '9'.repeat(40), '%F0%9F%90%95'];

/** Text that a lenient conversion ignores after the digits. */
const TAILS = ['abc', 'x', '.5', ',1', '%20x', 'e'];

export const getPet: readonly Check[] = [
  demand('4.3/found', 'GET /pets/{petId} is 200 and the Pet when the animal is found', (client) =>
    eachCase(client, [undefined, ...STATUSES], async (own, status) => {
      const { id, pet } = await own.add(own.newPet({ status }));
      const response = await own.get(`/pets/${id}`);
      assertGetPetStatus(response, 200);
      if (response.status !== 200) throw new NotObserved('getPet is removed');
      const { name, categoryId } = pet;
      assertPet(fieldsOf(response), { id, name, categoryId, status: pet['status'] });
    }),
  ),

  demand('4.3/not-found', 'It is 404 when the animal cannot be found', (client) =>
    eachCase(client, [LOST_ID, 2n ** 62n + 1n, 2n ** 61n + 3n], async (own, petId) => {
      assertGetPetStatus(await own.get(`/pets/${petId}`), 404);
    }),
  ),

  demand('4.3/no-id', 'A petId that is not an int64 is refused without a failure', (client) =>
    eachCase(client, NO_IDS, async (own, petId) => {
      assertRefused(await own.get(`/pets/${petId}`));
    }),
  ),

  demand('4.3/whole-id', 'A petId that only begins with an id is not that id', async (client) => {
    const { id } = await client.add(client.newPet());
    const found = await client.get(`/pets/${id}`);
    if (found.status !== 200) throw new NotObserved('the pet cannot be got by its id');
    await eachCase(client, TAILS, async (own, tail) => {
      const { status } = await own.get(`/pets/${id}${tail}`);
      assert.notEqual(status, 200, 'the status');
    });
  }),

  demand('4.3/replacement', 'The replacement is GET /pets with the status filter', (client) =>
    eachCase(client, STATUSES, assertLists),
  ),
];
