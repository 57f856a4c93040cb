/** A commit's text: its form to the byte, that no other is taken for one, and the fast path. */

import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import { INT64_MAX } from '../../../src/base/int64.ts';
import {
  createCommit,
  decodeCommit,
  encodeCommit,
  scanCommit,
} from '../../../src/stores/commit.ts';
import { ScannedPets } from '../../../src/stores/table/pet-scanner.ts';
import { EXPIRES_AT, pendingPet } from '../../support/disk/journal-text.ts';
import { rounds } from '../../support/extent.ts';
import { forAll, mutate } from '../../support/random.ts';
import { randomNewPet } from '../../support/pets/random-pet.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

const rex = pendingPet({ name: 'Rex', categoryId: 7n });
const tom = pendingPet({ name: 'Töm', categoryId: -1n, status: 'sold' });

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
  assert.deepEqual(scanAll(KEYED_TEXT, 7n), { lastId: 9n, keys: commit.keys });
});

test('A text is read back as the commit that was written, whatever the clock says', () => {
  for (const [after, timeOfDay] of [
    [0n, -8.64e15],
    [9n, -1],
    [2n ** 53n, 0],
    [INT64_MAX - 2n, 8.64e15],
  ] as const) {
    const odd = pendingPet({ name: '\0\ud800\u2028"\\', categoryId: INT64_MAX });
    const commit = createCommit(after, [odd, { ...tom, key: KEY }], timeOfDay);
    assert.deepEqual(decodeCommit(Buffer.from(encodeCommit(commit))), commit);
  }
});

test('A name with the escapes that an earlier edition kept is read as it is written now', () => {
  const old = '{"id":8,"name":"\\u0052\\/\\ud83d\\ude00\\u001F","categoryId":7}';
  const now = '{"id":8,"name":"R/😀\\u001f","categoryId":7}';
  const commit = decodeCommit(Buffer.from(`{"after":7,"pets":[${old}]}`));
  assert.deepEqual(commit?.pets, [{ id: 8n, text: now, status: undefined }]);
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
  test(`A text ${what} is not a commit to the scanner or to the parser`, () => {
    assert.equal(decodeCommit(Buffer.from(text)), undefined);
    assert.equal(scan(text, 7n), undefined);
  });
}

test('A pet that is written in another way is left to the parser', () => {
  assert.equal(scan(`{"after":7,"pets":[${PET}]}`, 7n), 8n);
  const spaced = Array.from(PET.matchAll(/(?<=[{,:])|(?=[,:}])/g), ({ index }) => {
    return [PET, `${PET.slice(0, index)} ${PET.slice(index)}`] as const;
  });
  for (const [part, other] of [
    ...spaced,
    ...[':08,', ':8.0,', ':-8,'].map((id) => [':8,', id] as const),
    ...[':07}', ':-0}', ':7e0}', ':-07}'].map((id) => [':7}', id] as const),
    ...['\\u0052ex', 'Rex\\n', 'R\n'].map((name) => ['Rex', name] as const),
  ]) {
    assert.equal(scan(`{"after":7,"pets":[${PET.replace(part, other)}]}`, 7n), undefined, other);
  }
});

test('What the store writes is scanned, without long integers and escapes, as the parser reads it', () => {
  const counts = { written: 0, mutated: 0, refused: 0 };
  forAll(rounds(20_000, 40_000), (random) => {
    const after = random.oneIn(4) ? 10n ** 15n - BigInt(random.below(9)) : BigInt(random.below(99));
    const newPets = Array.from({ length: 1 + random.below(3) }, () => {
      const newPet = randomNewPet(random);
      const key = random.oneIn(3) ? requestKey(random.below(1000)) : undefined;
      const plain = { ...newPet, name: 'aé€😀'.slice(random.below(4)) };
      return pendingPet(random.oneIn(8) ? newPet : plain, key);
    });
    const text = encodeCommit(createCommit(after, newPets, EXPIRES_AT));
    const isWritten = random.oneIn(4);
    // Most changes are in the last pet.
    const at = random.oneIn(4) ? 0 : text.lastIndexOf('{"id"');
    const [start, end] = [text.slice(0, at), text.slice(at)].map((part) => Buffer.from(part));
    const bytes = Buffer.concat([start!, isWritten ? end! : mutate(random, end!)]);
    if (!isUtf8(bytes)) return;
    const found = scanAll(bytes, after);
    if (isWritten) {
      const isLong = /"id":[0-9]{16}|"categoryId":-?[0-9]{19}|\\/.test(text);
      assert.equal(found === undefined, isLong, text);
    }
    counts[isWritten ? 'written' : found === undefined ? 'refused' : 'mutated'] += 1;
    if (found === undefined) return;
    const commit = decodeCommit(bytes);
    assert.equal(commit?.after, after, bytes.toString());
    assert.deepEqual(found, { lastId: after + BigInt(commit.pets.length), keys: commit.keys });
    // To the byte: what is scanned is copied as it is, and must be what would have been written.
    const pets = Array.from({ length: run.length }, (_, i) => {
      const text = bytes.toString('utf8', run.starts[i], run.ends[i]);
      return { id: BigInt(run.ids[i]!), text, status: run.statuses[i] };
    });
    assert.deepEqual(pets, commit.pets);
  });
  assert.ok(Math.min(...Object.values(counts)) > 500, JSON.stringify(counts));
});

const run = new ScannedPets();

function scan(text: string | Buffer, after: bigint): bigint | undefined {
  return scanAll(text, after)?.lastId;
}

/** What the fast path says of a text with more bytes behind it. */
function scanAll(text: string | Buffer, after: bigint): ReturnType<typeof scanCommit> {
  const bytes = Buffer.from(text as string);
  return scanCommit(`${bytes.toString('latin1')}]}\0`, 0, bytes.length, after, run);
}
