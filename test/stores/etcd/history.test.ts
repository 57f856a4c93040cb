/** The history of the random test finds each violation, and no other. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History, type SeenPet } from '../../support/etcd/history.ts';

const a = { id: 1, name: 'a' } as const;
const b = { id: 2, name: 'b' } as const;

/** The pets of a log: one for each letter, with the ids 1, 2, 3; a dash leaves out an id. */
const logOf = (letters: string): readonly SeenPet[] =>
  [...letters].map((name, i) => ({ id: i + 1, name })).filter(({ name }) => name !== '-');

/** A page of at most `limit` pets after `after`, at a time. */
const listed =
  (after: number, limit: number, pets: readonly SeenPet[], startedAt: number, endedAt = 8) =>
  (history: History): void =>
    history.listed({ after, limit }, pets, startedAt, endedAt);

const nothing = (): void => undefined;

/** The pet a was created from 1 to 2, and b from 3 to 6. */
const CASES: readonly (readonly [
  what: string,
  add: (history: History) => void,
  log: string,
  violation?: RegExp,
])[] = [
  ['two pets that were created', nothing, 'ab'],
  ['a read during a create that does not find it', listed(1, 1, [], 4, 5), 'ab'],
  ['a read during a create that finds it', listed(1, 1, [b], 4, 5), 'ab'],
  ['a page during a create that ends before it', listed(0, 9, [a], 5), 'ab'],
  ['a full page that ends before a pet', listed(0, 1, [a], 7), 'ab'],
  ['an empty page after the last pet', listed(2, 9, [], 7), 'ab'],
  ['a read after a create that does not find it', listed(0, 1, [], 4, 5), 'ab', /linear/],
  ['a page after a create that ends before it', listed(0, 9, [a], 7), 'ab', /linear/],
  ['a pet that is read before it was sent', listed(1, 1, [b], 1, 2.5), 'ab', /linear/],
  [
    'a read that finds less than one before it',
    (h) => {
      listed(1, 1, [b], 4, 4.5)(h);
      listed(1, 1, [], 4.7, 5)(h);
    },
    'ab',
    /linear/,
  ],
  ['a page with another pet', listed(0, 9, [a, { ...b, name: 'x' }], 7), 'ab', /x was seen as 2/],
  ['a page that leaves out a pet', listed(0, 9, [b], 7), 'ab', /the pet 2 instead of 1/],
  ['a pet that is lost', nothing, 'a', /b was seen as 2/],
  ['a pet under another id', nothing, 'ba', /was seen as/],
  ['a gap', nothing, 'a-b', /a gap before 3/],
  ['a pet that is stored twice', nothing, 'aba', /a is stored twice/],
  ['a pet that was never sent', nothing, 'abc', /c was never sent/],
  [
    'a pet that was refused',
    (h) => {
      h.sent('c', 7);
      h.refused('c');
    },
    'abc',
    /c was refused/,
  ],
  ['two ids for a pet', (h) => h.created({ ...b, id: 3 }, 4, 5), 'ab', /b was seen as 2 and as 3/],
];

for (const [what, add, log, violation] of CASES) {
  test(`A history with ${what} is ${violation === undefined ? 'valid' : 'a violation'}`, () => {
    const history = new History();
    history.sent('a', 0);
    history.sent('b', 3);
    history.created(a, 1, 2);
    history.created(b, 3, 6);
    add(history);
    if (violation === undefined) history.check(logOf(log));
    else assert.throws(() => history.check(logOf(log)), violation);
  });
}
