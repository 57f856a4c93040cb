/** The command check-data: what it prints. What it finds in damaged files is in check.script. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { journalLines, petText, REX, dataFileId } from '../../support/disk/journal-text.ts';
import { runScript } from '../../support/process/process.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';

const DATA_FILE = `[${petText(1)}]`;
/** The header and three commits of a journal after it. */
const LINES = journalLines(dataFileId(DATA_FILE, 1), [[REX], [REX], [REX]]);
const JOURNAL = Buffer.concat(LINES);

test('The command prints one line for each part of a report, or why it fails', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const assertPrints = async (text: string, of: string = path): Promise<void> => {
    const { code, stdout, stderr } = await runScript('start.mjs', ['check-data', of]);
    assert.equal(`${code} ${stdout}${stderr}`, text);
  };
  const store = await openFileStore({ path });
  for (const number of [1, 2]) await store.createOnce(REX, requestKey(number));
  await store.close();
  await assertPrints(`0 ${path}: 2 pets, the greatest id is 2\n2 idempotency keys\n`);
  const unchecked =
    'The data file has no checksum line: a changed letter in it would not be noticed\n';
  writeFileSync(path, readFileSync(path, 'latin1').replace('Rex', 'Tom').trimEnd());
  await assertPrints(
    `0 ${path}: 2 pets, the greatest id is 2\n2 idempotency keys belong to pets that are missing ` +
      `or different, and will be forgotten\n${unchecked}`,
  );
  writeFileSync(path, DATA_FILE);
  writeFileSync(`${path}.journal`, JOURNAL.subarray(0, -5));
  await assertPrints(
    `0 ${path}: 3 pets, the greatest id is 3, 2 of them in the journal only\n${unchecked}` +
      `${LINES[3]!.length - 5} bytes at the journal's end are a commit that is not complete\n`,
  );
  for (const file of [path, `${path}.journal`]) rmSync(file);
  const none = join(path, 'none');
  await assertPrints(`1 petstore: There is no data file ${none}\n`, none);
  const folder = dirname(path);
  await assertPrints(`1 petstore: ${folder} is a directory, not a regular file\n`, folder);
});
