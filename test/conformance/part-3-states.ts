/** The interface's part 3: states and transitions. */

import assert from 'node:assert/strict';
import { checksIn, type Check } from './check.ts';
import { fieldsOf, idsOf, petsOf, type AddedPet } from './client.ts';
import { assertError } from './errors.ts';
import {
  assertFiltered,
  assertKept,
  assertListed,
  assertPet,
  listed,
  STATUSES,
} from './expectations.ts';

const { demandEach, decision, decisionEach } = checksIn('3');

export const states: readonly Check[] = [
  demandEach(
    'The status can be set when an animal is created',
    STATUSES,
    async (client, status) => {
      const { pet } = await client.add(client.newPet({ status }));
      assertPet(pet, { status });
      await assertKept(client, pet);
    },
  ),

  demandEach(
    'The status can be used as a filter when listing',
    STATUSES,
    async (client, status) => {
      const { pet } = await client.add(client.newPet({ status }));
      const pets = await listed(client, `&status=${status}`);
      assertFiltered(pets, status);
      assertListed(pets, pet);
    },
  ),

  decision('A filtered list has all animals with the status, and no other', async (client) => {
    const added: AddedPet[] = [];
    for (const status of [...STATUSES, ...STATUSES]) {
      const one = await client.add({ name: status, categoryId: 1, status });
      assert.equal(fieldsOf(await client.get(`/pets/${one.id}`))['status'], status);
      added.push(one);
    }
    for (const [index, status] of STATUSES.entries()) {
      const list = await client.listFrom(added[0]!.id, `&status=${status}`);
      assert.deepEqual(idsOf(list), [added[index]!.id, added[index + 3]!.id]);
      const statuses = petsOf(list).map((pet) => pet['status']);
      assert.deepEqual(statuses, [status, status]);
    }
  }),

  decisionEach(
    'Transitions are not shown, so no method changes an animal',
    ['PUT', 'PATCH', 'DELETE'],
    async (client, method) => {
      const newPet = { name: 'Conformance Rex', categoryId: 1, status: 'available' };
      const { id, answer } = await client.add(newPet);
      const body = JSON.stringify({ ...newPet, status: 'sold' });
      assertError(await client.send(method, `/pets/${id}`, {}, body), 'method_not_allowed');
      assert.equal((await client.get(`/pets/${id}`)).text, answer.text);
    },
  ),
];
