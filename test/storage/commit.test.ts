/** A commit's line: its form to the byte, and that no other is taken for one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { textOf } from '../../src/base/byte-string.ts';
import { INT64_MAX } from '../../src/base/int64.ts';
import { encodeNewPet, encodeNewPetText } from '../../src/model/encoded-pet.ts';
import { decodeCommit, encodeCommit } from '../../src/storage/commit.ts';
import { eachBitFlip } from '../support/bit-flips.ts';

const rex = encodeNewPet({ name: 'Rex', categoryId: 7n });
const tom = encodeNewPet({ name: 'Töm', categoryId: -1n, status: 'sold' });

/** The CRC-32 of the text behind the space was worked out by another program. */
const LINE =
  'ca79ee17 {"after":7,"pets":[{"id":8,"name":"Rex","categoryId":7},' +
  '{"id":9,"name":"Töm","categoryId":-1,"status":"sold"}]}\n';

test('A commit is its CRC-32, a space and one JSON object, in one line', () => {
  const { line, pets } = encodeCommit(7n, [rex, tom]);
  assert.equal(`${line}`, LINE);
  assert.deepEqual(
    pets.map(({ id, pet, status }) => ({ id, text: textOf(pet), status })),
    [
      { id: 8n, text: '{"id":8,"name":"Rex","categoryId":7}', status: undefined },
      { id: 9n, text: '{"id":9,"name":"Töm","categoryId":-1,"status":"sold"}', status: 'sold' },
    ],
  );
});

test('A CRC with zeros at its front keeps them', () => {
  for (let after = 0n; after < 1000n; after += 1n) {
    const { line } = encodeCommit(after, [rex]);
    if (line[0] === 0x30) return assert.ok(decodeCommit(line.subarray(0, -1)));
  }
  return assert.fail('No CRC of a thousand begins with a zero');
});

test('A line is read back as the commit that was written', () => {
  for (const after of [0n, 9n, 2n ** 53n, INT64_MAX - 2n]) {
    const name = '"\\u0000\\ud800\u2028"';
    const odd = encodeNewPetText(Buffer.from(`{"name":${name},"categoryId":1e2}`));
    const { line, pets } = encodeCommit(after, [odd, tom]);
    const commit = decodeCommit(line.subarray(0, -1));
    assert.equal(commit?.after, after);
    assert.deepEqual(
      commit.pets.map(({ id, pet, status }) => ({ id, text: textOf(pet), status })),
      pets.map(({ id, pet, status }) => ({ id, text: textOf(pet), status })),
    );
  }
});

test('No line with one bit flipped is a commit', async () => {
  const line = encodeCommit(7n, [rex, tom]).line.subarray(0, -1);
  await eachBitFlip(line, (flipped) => assert.equal(decodeCommit(flipped), undefined));
  assert.ok(decodeCommit(line));
});

test('No part of a line is a commit', () => {
  const line = encodeCommit(7n, [rex, tom]).line.subarray(0, -1);
  for (let end = 0; end < line.length; end += 1) {
    assert.equal(decodeCommit(line.subarray(0, end)), undefined, `${end} bytes`);
  }
});

const PET = '{"id":8,"name":"Rex","categoryId":7}';
const wrongTexts: Readonly<Record<string, string>> = {
  'of another shape': '[]',
  'without pets': '{"after":7,"pets":[]}',
  'with an id too great': `{"after":6,"pets":[${PET}]}`,
  'with an id too small': `{"after":8,"pets":[${PET}]}`,
  'with an id twice': `{"after":7,"pets":[${PET},${PET}]}`,
  'with a comma too many': `{"after":7,"pets":[${PET},]}`,
  'with something at its end': `{"after":7,"pets":[${PET}]} `,
  'without its last bracket': `{"after":7,"pets":[${PET}]`,
  'with a pet that lacks its name': '{"after":7,"pets":[{"id":8,"categoryId":7}]}',
  'with a pet that has a field too many':
    '{"after":7,"pets":[{"id":8,"name":"","categoryId":7,"a":1}]}',
  'with a negative id before it': `{"after":-1,"pets":[{"id":0,"name":"","categoryId":7}]}`,
};

for (const [what, text] of Object.entries(wrongTexts)) {
  test(`A line ${what} is no commit, though its CRC is right`, () => {
    assert.equal(decodeCommit(sealed(text)), undefined);
  });
}

test('Such a line is one when all is right', () => {
  assert.equal(decodeCommit(sealed(`{"after":7,"pets":[${PET}]}`))?.pets.length, 1);
});

function sealed(text: string): Buffer {
  return Buffer.from(`${crc32(text).toString(16).padStart(8, '0')} ${text}`);
}
