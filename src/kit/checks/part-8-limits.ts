/** The interface's part 8: limits. */

import assert from 'node:assert/strict';
import { demand, type Check } from '../check.ts';
import { petsOf } from '../client.ts';
import { assertLength, isRefused, LONGEST_LIST, STATUSES } from '../expect.ts';

const OUTSIDE = ['101', '1000', '2147483648', '18446744073709551617', '0', '-1', '', 'all', '1e9'];

export const limits: readonly Check[] = [
  demand('8/limit', 'limit is from 1 to 100', async (client) => {
    await client.havePets(101);
    for (const limit of [1, 2, 19, 21, 99, 100]) {
      await assertLength(client, `?limit=${limit}`, limit);
    }
  }),

  demand('8/default', 'The default of limit is 20', async (client) => {
    for (const status of STATUSES) {
      await client.havePets(21, status);
      await assertLength(client, `?status=${status}`, 20);
    }
  }),

  demand(
    '8/never-more',
    'A list never has more than 100 animals, whatever is asked',
    async (client) => {
      await client.havePets(101);
      for (const limit of OUTSIDE) {
        const response = await client.get(`/pets?limit=${limit}`);
        // Whether it is refused or changed is a gap.
        if (isRefused(response.status)) continue;
        const { length } = petsOf(response);
        assert.ok(length <= LONGEST_LIST, `limit=${limit}: expected at most 100, not ${length}`);
      }
    },
  ),
];
