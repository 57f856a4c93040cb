/**
 * The history that the random test holds answers against: it finds each thing that can be wrong.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../support/etcd/history.ts';

const a = { id: 1, name: 'a' } as const;
const b = { id: 2, name: 'b' } as const;

/** Both were sent at 0; a was created from 1 to 2, and b from 3 to 6. */
function twoCreated(): History {
  const history = new History();
  history.sent('a', 0);
  history.sent('b', 3);
  history.created(a, 1, 2);
  history.created(b, 3, 6);
  return history;
}

const CASES: readonly (readonly [
  what: string,
  add: (history: History) => void,
  pets: readonly { readonly id: number; readonly name: string }[],
  violation: RegExp | undefined,
])[] = [
  ['two pets that were created', () => undefined, [a, b], undefined],
  [
    'a read beside a create that does not find it',
    (h) => h.got(2, undefined, 4, 5),
    [a, b],
    undefined,
  ],
  ['a read beside a create that finds it', (h) => h.got(2, b, 4, 5), [a, b], undefined],
  [
    'a read after a create that does not find it',
    (h) => h.got(1, undefined, 4, 5),
    [a, b],
    /linear/,
  ],
  [
    'a page after a create that ends before it',
    (h) => h.listed({ after: 0, limit: 9 }, [a], 7, 8),
    [a, b],
    /linear/,
  ],
  [
    'a page beside a create that ends before it',
    (h) => h.listed({ after: 0, limit: 9 }, [a], 5, 8),
    [a, b],
    undefined,
  ],
  [
    'a full page that ends before it',
    (h) => h.listed({ after: 0, limit: 1 }, [a], 7, 8),
    [a, b],
    undefined,
  ],
  [
    'an empty page after the last',
    (h) => h.listed({ after: 2, limit: 9 }, [], 7, 8),
    [a, b],
    undefined,
  ],
  ['a pet that is read before it was sent', (h) => h.got(2, b, 1, 2.5), [a, b], /linear/],
  [
    'a read that goes back behind another read',
    (h) => {
      h.got(2, b, 4, 4.5);
      h.got(2, undefined, 4.7, 5);
    },
    [a, b],
    /linear/,
  ],
  [
    'a page with another pet',
    (h) => h.listed({ after: 0, limit: 9 }, [a, { ...b, name: 'x' }], 7, 8),
    [a, b],
    /another pet 2/,
  ],
  ['a pet that is lost', () => undefined, [a], /b was acknowledged as 2/],
  [
    'a pet under another id',
    () => undefined,
    [
      { id: 1, name: 'b' },
      { id: 2, name: 'a' },
    ],
    /acknowledged as/,
  ],
  ['a gap', () => undefined, [a, { id: 3, name: 'b' }], /a gap before 3/],
  ['a pet that is there twice', () => undefined, [a, b, { id: 3, name: 'a' }], /a is stored twice/],
  ['a pet that nobody sent', () => undefined, [a, b, { id: 3, name: 'c' }], /c was never sent/],
  [
    'a pet that was refused',
    (h) => {
      h.sent('c', 7);
      h.refused('c');
    },
    [a, b, { id: 3, name: 'c' }],
    /c was refused/,
  ],
  [
    'a pet that was created under two ids',
    (h) => h.created({ ...b, id: 3 }, 4, 5),
    [a, b],
    /b was created as 2 and as 3/,
  ],
];

for (const [what, add, pets, violation] of CASES) {
  test(`A history with ${what} is ${violation === undefined ? 'right' : 'wrong'}`, () => {
    const history = twoCreated();
    add(history);
    if (violation === undefined) history.check(pets);
    else assert.throws(() => history.check(pets), violation);
  });
}
