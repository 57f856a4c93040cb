/** Spec section 8: limits. */

import assert from 'node:assert/strict';
import { demand, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import { assertLength, isRefused, LONGEST_LIST, STATUSES } from '../expect.ts';
import { petsOf } from '../test-client.ts';

const OUTSIDE = ['101', '1000', '2147483648', '18446744073709551617', '0', '-1', '', 'all', '1e9'];

export const limits: readonly Check[] = [
  demand('8/limit', 'limit is from 1 to 100', async (client) => {
    await client.havePets(101);
    await eachCase(client, [1, 2, 19, 21, 99, 100], (own, limit) =>
      assertLength(own, `?limit=${limit}`, limit),
    );
  }),

  demand('8/default', 'The default of limit is 20', (client) =>
    eachCase(client, STATUSES, async (own, status) => {
      await own.havePets(21, status);
      await assertLength(own, `?status=${status}`, 20);
    }),
  ),

  demand(
    '8/never-more',
    'A list never has more than 100 animals, whatever is asked',
    async (client) => {
      await client.havePets(101);
      await eachCase(client, OUTSIDE, async (own, limit) => {
        const response = await own.get(`/pets?limit=${limit}`);
        // The specification does not say if the limit is refused or changed.
        if (isRefused(response.status)) return;
        const { length } = petsOf(response);
        assert.ok(length <= LONGEST_LIST, `expected at most 100 pets, not ${length}`);
      });
    },
  ),
];
