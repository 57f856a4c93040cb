/** Random requests against a service with a file store. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fuzz } from './support/http/fuzz.ts';
import { tempDir } from './support/disk/temp-dir.ts';

test('Whatever clients send, answers are whole and the store has what was answered', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  await fuzz(t, {
    options: { dataFile },
    async storedPets() {
      const stored = new Map<number, string>();
      for (const line of readFileSync(dataFile, 'latin1').split('\n')) {
        const id = /^\{"id":([0-9]+),/.exec(line)?.[1];
        if (id !== undefined) stored.set(Number(id), line.replace(/,$/, ''));
      }
      return stored;
    },
  });
});
