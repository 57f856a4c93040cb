/** Idempotency keys in a journal: the example of the page, and how many a start reads. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { systemMemory } from '../../../src/base/memory.ts';
import { createCommit, encodeCommit, encodeKeysLine } from '../../../src/stores/commit.ts';
import { headerText } from '../../../src/stores/file/journal-line.ts';
import { readJournal } from '../../../src/stores/file/journal-reader.ts';
import { MAX_IDEMPOTENCY_KEYS } from '../../../src/stores/table/idempotency-keys.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import {
  EXPIRES_AT,
  linesOf,
  pendingPet,
  REX,
  snapshotId,
} from '../../support/disk/journal-text.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

test('The examples of the page are what the store writes', () => {
  // The compiled tests are in .build/test.
  const path = new URL('../../../../src/stores/file/README.md', import.meta.url);
  const page = readFileSync(path, 'utf8');
  const array = /^\[\n\{[^\]]*\n\]/m.exec(page)![0];
  const [key, expiresAt] = ['9f86d081884c7d659a2feaa0c55ad015', 1795305600000];
  const lines = linesOf([
    headerText({ crc: crc32(array), lastId: 2n }),
    encodeKeysLine([{ key, id: 1n, expiresAt }]),
    '{"after":2,"pets":[{"id":3,"name":"Kit","categoryId":1}]}',
  ]);
  assert.ok(page.includes(`\n${lines.join('')}`), lines.join(''));
});

test('A start reads the newest 100,000 keys of a journal', async () => {
  const perCommit = 10_000;
  const commits = 11;
  const snapshot = snapshotId('[]', 0);
  const texts = Array.from({ length: commits }, (_, commit) => {
    const after = commit * perCommit;
    const pets = Array.from({ length: perCommit }, (_, i) =>
      pendingPet(REX, requestKey(after + i + 1)),
    );
    return encodeCommit(createCommit(BigInt(after), pets, EXPIRES_AT));
  });
  const journal = Buffer.concat(linesOf([headerText(snapshot), ...texts]));
  const disk = createMemoryDisk({ j: journal });
  const pets = new PetTable();
  const file = await disk.open('j', 'read');
  const { keys } = await readJournal('j', file, snapshot, pets, systemMemory);
  assert.equal(pets.length, commits * perCommit);
  assert.equal(keys.length, MAX_IDEMPOTENCY_KEYS);
  assert.equal(keys[0]?.id, BigInt(commits * perCommit - MAX_IDEMPOTENCY_KEYS + 1));
  assert.equal(keys.at(-1)?.key, requestKey(commits * perCommit));
});
