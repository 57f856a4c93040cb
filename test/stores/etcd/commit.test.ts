/** The text of a commit in etcd: its form to the byte, and that no other is taken for one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INT64_MAX } from '../../../src/core/base/int64.ts';
import {
  createCommit,
  decodeCommit,
  encodeCommit,
  fittingCreate,
} from '../../../src/extras/etcd/commit.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

/** When the keys of these commits are forgotten. */
const EXPIRES_AT = Date.UTC(2100, 0);

const rex = fittingCreate({ name: 'Rex', categoryId: 7n });
const tom = fittingCreate({ name: 'Töm', categoryId: -1n, status: 'sold' });

const TEXT =
  '{"after":7,"pets":[{"id":8,"name":"Rex","categoryId":7},' +
  '{"id":9,"name":"Töm","categoryId":-1,"status":"sold"}]}';

const KEY = requestKey(1);
const KEYED_TEXT = TEXT.replace(/\}$/, `,"keys":[["${KEY}",9,${EXPIRES_AT}]]}`);

test('A commit is one JSON object, with the last id before it, its pets, and the keys of some', () => {
  const commit = createCommit(7n, [rex, { ...tom, key: KEY }], EXPIRES_AT);
  assert.deepEqual(commit.keys, [{ key: KEY, id: 9n, expiresAt: EXPIRES_AT }]);
  assert.equal(encodeCommit(commit), KEYED_TEXT);
  assert.deepEqual(decodeCommit(Buffer.from(KEYED_TEXT)), commit);
});

test('A text is read back as the commit that was written, whatever the clock says', () => {
  for (const [after, timeOfDay] of [
    [0n, -8.64e15],
    [9n, -1],
    [2n ** 53n, 0],
    [INT64_MAX - 2n, 8.64e15],
  ] as const) {
    const odd = fittingCreate({ name: '\0\ud800\u2028"\\', categoryId: INT64_MAX });
    const commit = createCommit(after, [odd, { ...tom, key: KEY }], timeOfDay);
    assert.deepEqual(decodeCommit(Buffer.from(encodeCommit(commit))), commit);
  }
});

test('The longest pet that fits has 1 MiB and 1,024 bytes without its id', () => {
  const around = '"name":"","categoryId":7'.length;
  const pet = (bytes: number) => ({ name: 'R'.repeat(bytes - around), categoryId: 7n });
  const longest = (1 << 20) + 1024;
  assert.equal(fittingCreate(pet(longest)).members.length, longest);
  assert.throws(() => fittingCreate(pet(longest + 1)), { name: 'InvalidPetError' });
});

test('A name with the escapes that an earlier edition kept is read as it is written now', () => {
  const old = '{"id":8,"name":"\\u0052\\/\\ud83d\\ude00\\u001F","categoryId":7}';
  const now = '{"id":8,"name":"R/😀\\u001f","categoryId":7}';
  const commit = decodeCommit(Buffer.from(`{"after":7,"pets":[${old}]}`));
  assert.deepEqual(commit?.pets, [{ id: 8n, text: now }]);
});

const PET = '{"id":8,"name":"Rex","categoryId":7}';
const wrongTexts: Readonly<Record<string, string>> = {
  'of another shape': '[]',
  'without pets': '{"after":7,"pets":[]}',
  'with an id too small': `{"after":8,"pets":[${PET}]}`,
  'with an id twice': `{"after":7,"pets":[${PET},${PET}]}`,
  'with a comma too many': `{"after":7,"pets":[${PET},]}`,
  'with something at its end': `{"after":7,"pets":[${PET}]} `,
  'without its last bracket': `{"after":7,"pets":[${PET}]`,
  'with a pet that lacks its name': '{"after":7,"pets":[{"id":8,"categoryId":7}]}',
  'with a pet that has a field too many':
    '{"after":7,"pets":[{"id":8,"name":"","categoryId":7,"a":1}]}',
  'with an empty list of keys': `{"after":7,"pets":[${PET}],"keys":[]}`,
  'with a key of 31 digits': keyed(`["${KEY.slice(1)}",8,1]`),
  'with a key in capital letters': keyed(`["${KEY.toUpperCase()}",8,1]`),
  'with the key of a pet before it': keyed(`["${KEY}",7,1]`),
  'with the key of a pet behind it': keyed(`["${KEY}",9,1]`),
  'with two keys for a pet': keyed(`["${KEY}",8,1],["${requestKey(2)}",8,1]`),
  'with a key that never expires': keyed(`["${KEY}",8]`),
  'with a comma too many behind a key': keyed(`["${KEY}",8,1],`),
  'with the keys twice': keyed(`["${KEY}",8,1]],"keys":[["${KEY}",8,1]`),
  'with a zero before its number': `{"after":07,"pets":[${PET}]}`,
  'with a negative id before it': `{"after":-1,"pets":[{"id":0,"name":"","categoryId":7}]}`,
};

function keyed(list: string): string {
  return `{"after":7,"pets":[${PET}],"keys":[${list}]}`;
}

for (const [what, text] of Object.entries(wrongTexts)) {
  test(`A text ${what} is not a commit`, () => {
    assert.equal(decodeCommit(Buffer.from(text)), undefined);
  });
}
