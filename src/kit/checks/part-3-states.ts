/** Spec section 3: states and transitions. */

import { demand, type Check } from '../check.ts';
import { eachCase } from '../each-case.ts';
import { assertAdds, assertLists, STATUSES } from '../expect.ts';

export const states: readonly Check[] = [
  demand('3/status-set', 'The status can be set when an animal is created', (client) =>
    eachCase(client, STATUSES, assertAdds),
  ),

  demand('3/status-filter', 'The status can be used as a filter when listing', (client) =>
    eachCase(client, STATUSES, assertLists),
  ),
];
