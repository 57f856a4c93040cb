/** The pets as values: what a program creates, gets and lists without HTTP. */

import assert from 'node:assert/strict';
import { constants } from 'node:buffer';
import { test } from 'node:test';
import {
  createClient,
  stringifyPet as stringifyFromClient,
} from '../../src/extras/client/client.ts';
import type { PetStore } from '../../src/core/pets/pet-store.ts';
import { InvalidPetError } from '../../src/core/pets/pet-text.ts';
import { stringifyPet } from '../../src/core/pets/pet.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { KEY, openService } from '../support/http/service.ts';

test('The app and the client take and return the same values, exact to the last digit', async (t) => {
  const service = await openService(t);
  const { app } = service;
  const client = createClient({ baseUrl: `${service.origin}/v1`, apiKey: KEY });
  for (const categoryId of [7, 7n, -0, Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n, -(2n ** 63n)]) {
    const given = { name: 'R\u0000\ud800é', categoryId, status: 'sold' } as const;
    const own = await app.pets.create(given);
    const sent = await client.createPet(given);
    assert.deepEqual(sent, { ...own, id: own.id + 1n });
    assert.deepEqual(own, { ...given, id: own.id, categoryId: BigInt(categoryId) });
    for (const id of [own.id, Number(own.id)]) {
      assert.deepEqual(await app.pets.get(id), await client.getPet(id));
      const query = { limit: 1, after: id };
      assert.deepEqual((await app.pets.list(query)).pets, (await client.listPets(query)).pets);
    }
    const text = await (await service.fetch(`/v1/pets/${own.id}`)).text();
    assert.deepEqual([stringifyPet(own), stringifyFromClient(own)], [text, text]);
  }
  const tom = await client.createPet({ name: 'Tom', categoryId: -1 });
  assert.equal(await app.pets.get(99n), undefined);
  assert.equal((await app.pets.count()).total, 13);
  assert.equal((await app.pets.list()).pets.length, 13);
  assert.deepEqual((await app.pets.list({ limit: 12 })).next, 12n);
  assert.deepEqual(await app.pets.list({ after: 12n }), { pets: [tom], next: undefined });
  assert.deepEqual(await app.pets.list({ status: 'pending' }), { pets: [], next: undefined });
});

test('all() yields every pet, also later ones, and its longest page fits in a string', async (t) => {
  const store = createMemoryStore();
  const limits = new Set<number>();
  const list: PetStore['list'] = (query) => {
    limits.add(query.limit);
    return store.list(query);
  };
  const { pets } = (await openService(t, { store: { ...store, list } })).app;
  for (let i = 0; i < 1234; i += 1) {
    await pets.create({ name: `Pet ${i}`, categoryId: 7n, ...(i % 3 === 0 && { status: 'sold' }) });
  }
  const ids: bigint[] = [];
  for await (const { id } of pets.all()) {
    ids.push(id);
    if (id === 700n) await pets.create({ name: 'Late', categoryId: 7n });
  }
  const expected = Array.from({ length: 1235 }, (_, index) => BigInt(index + 1));
  assert.deepEqual(ids, expected);
  let sold = 0;
  for await (const { status } of pets.all({ status: 'sold' })) sold += status === 'sold' ? 1 : -9;
  assert.equal(sold, 412);
  const longest = 5_242_880 + '{"id":9223372036854775807,},\n'.length;
  assert.ok(Math.max(...limits) * longest < constants.MAX_STRING_LENGTH);
});

test('An invalid call for the pets is refused with the reason', async (t) => {
  const { app } = await openService(t);
  const rex = { name: 'Rex', categoryId: 7n };
  for (const limit of [0, -1, 1.5, NaN, Infinity]) {
    await assert.rejects(app.pets.list({ limit }), RangeError);
  }
  const query = { limit: '1', status: 'lost', after: 1.5 } as object;
  await assert.rejects(app.pets.list(query), {
    name: 'RangeError',
    message:
      'limit must be an integer from 1 on, not "1"; ' +
      'status must be one of available, pending, sold, not "lost"; ' +
      'after must be a bigint or a safe integer, not 1.5',
  });
  for (const wrong of [undefined, 'Rex', null, [rex]]) {
    await assert.rejects(app.pets.create(wrong as never), /^TypeError: A pet must be an object/);
  }
  await assert.rejects(app.pets.list('sold' as never), /^TypeError: A query must be an object/);
  await assert.rejects(app.pets.all(7 as never).next(), /^TypeError: A query must be an object/);
  const { total } = await app.pets.count();
  for (const [call, message] of [
    [
      app.pets.list({ statu: 'sold' } as never),
      'A query may have limit, status, after, and no statu',
    ],
    [app.pets.all({ limit: 5 } as never).next(), 'A query of all may have status, and no limit'],
    [
      app.pets.create(rex, { idempotencykey: 'k' } as never),
      'The second argument may have idempotencyKey, and no idempotencykey',
    ],
  ] as const) {
    await assert.rejects(call, { name: 'TypeError', message });
  }
  assert.equal((await app.pets.count()).total, total);
  const range = 'must be from -9223372036854775808 to 9223372036854775807, not 9223372036854775808';
  await assert.rejects(app.pets.get(2n ** 63n), { name: 'RangeError', message: `id ${range}` });
  await assert.rejects(app.pets.create({ ...rex, categoryId: 2n ** 63n }), InvalidPetError);
  await assert.rejects(app.pets.create({ ...rex, status: 'lost' as 'sold' }), InvalidPetError);
  app.drain();
  assert.equal(await app.pets.get(1n), undefined);
});

test('An idempotency key of a program stores one pet, and never matches one of a request', async (t) => {
  const { app, origin } = await openService(t);
  const create = (name: string, idempotencyKey?: string) =>
    app.pets.create({ name, categoryId: 7n }, { idempotencyKey });
  const rex = { id: 1n, name: 'Rex', categoryId: 7n };
  for (let call = 0; call < 3; call += 1) assert.deepEqual(await create('Rex', 'k'), rex);
  await assert.rejects(create('Tom', 'k'), { name: 'KeyReusedError' });
  assert.equal((await create('Rex')).id, 2n);
  for (const key of ['', 'two words', 'x'.repeat(256), 7 as unknown as string]) {
    await assert.rejects(create('Rex', key), RangeError);
  }
  const client = createClient({ baseUrl: `${origin}/v1`, apiKey: KEY });
  const tom = await client.createPet({ name: 'Tom', categoryId: 7 }, { idempotencyKey: 'k' });
  assert.equal(tom.id, 3n);
});
