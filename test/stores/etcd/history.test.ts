/** The history of the random test finds each violation, and no other. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History, type SeenPet } from '../../support/etcd/history.ts';

/** The pets of a log: one for each letter, with the ids 1, 2, 3; a dash leaves out an id. */
const logOf = (letters: string, after = 0): readonly SeenPet[] =>
  [...letters].map((name, i) => ({ id: after + i + 1, name })).filter(({ name }) => name !== '-');

/** A page after an id, with a pet for each letter, of a call that began when `lastId` was known. */
const listed =
  (after: number, limit: number, letters: string, lastId: number) =>
  (history: History): void =>
    history.listed({ after, limit, lastId }, logOf(letters, after));

const refuse = (history: History): void => {
  history.sent('c');
  history.refused('c');
};

/** The pet a was created before b was sent; the call that is added ends while b is in progress. */
const CASES: readonly (readonly [
  what: string,
  add: (history: History) => void,
  log: string,
  violation?: RegExp,
])[] = [
  ['a pet in progress that is stored', () => undefined, 'ab'],
  ['a pet in progress that is not stored', () => undefined, 'a'],
  ['a page that begins before a create', listed(0, 9, '', 0), 'a'],
  ['a page during a create that does not find it', listed(0, 9, 'a', 1), 'ab'],
  ['a page during a create that finds it', listed(1, 1, 'b', 1), 'ab'],
  ['a full page that ends before a pet', listed(0, 1, 'a', 2), 'ab'],
  ['an empty page after the last pet', listed(2, 9, '', 1), 'ab'],
  ['a page after a create that does not find it', listed(0, 9, '', 1), 'ab', /not linearizable/],
  [
    'a pet that was sent after a longer log',
    (h) => h.created({ id: 1, name: 'b' }),
    'ba',
    /linear/,
  ],
  ['a page with another pet', listed(0, 9, 'b', 1), 'ab', /not linearizable: b is 1/],
  ['a page that leaves out a pet', listed(0, 9, '-b', 1), 'ab', /the pet 2 instead of 1/],
  ['a pet that is lost', () => undefined, '', /a was seen as 1/],
  ['a gap', () => undefined, 'a-b', /a gap before 3/],
  ['a pet that is stored twice', () => undefined, 'aba', /a was seen as 1 and as 3/],
  ['a pet that was never sent', () => undefined, 'abc', /c was never sent/],
  ['a pet that was refused', refuse, 'abc', /c was refused/],
];

for (const [what, add, log, violation] of CASES) {
  test(`A history with ${what} is ${violation === undefined ? 'valid' : 'a violation'}`, () => {
    const history = new History();
    history.sent('a');
    history.created({ id: 1, name: 'a' });
    history.sent('b');
    add(history);
    if (violation === undefined) history.check(logOf(log));
    else assert.throws(() => history.check(logOf(log)), violation);
  });
}
