/** The store on node:sqlite that src/README.md shows: it keeps the contract of PetStore. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type * as Contract from '../../src/contract/pet-store-contract.ts';
import type { PetStore } from '../../src/model/pet-store.ts';
import { ROOT } from '../support/process/carry.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

interface SqliteStoreModule {
  openSqliteStore(path: string): PetStore;
}

const CONTRACT = pathToFileURL(join(ROOT, 'dist', 'contract', 'pet-store-contract.js')).href;
const readme = readFileSync(join(ROOT, 'src', 'README.md'), 'utf8');
const program = /^```js\n(\/\/ sqlite-store\.mjs\n[^]*?)^```$/m.exec(readme)?.[1] ?? '';

if (isBuiltin('node:sqlite')) {
  const folder = tempDir({ after });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'petstore'), 'dir');
  const file = join(folder, 'sqlite-store.mjs');
  // The contract commits thousands of times, and asks nothing of a power failure.
  assert.ok(program.includes('synchronous = FULL'));
  writeFileSync(file, program.replace('synchronous = FULL', 'synchronous = OFF'));
  const { openSqliteStore } = (await import(pathToFileURL(file).href)) as SqliteStoreModule;
  // Of the package that the program imports, since its errors are recognized by their class.
  const { testPetStoreContract } = (await import(CONTRACT)) as typeof Contract;
  let count = 0;
  const newStorage = () => {
    const path = join(folder, `pets-${(count += 1)}.db`);
    return () => openSqliteStore(path);
  };
  testPetStoreContract('The store on node:sqlite', newStorage, { isDurable: true });
} else {
  const skip = 'This Node has no node:sqlite: it comes with 22.13';
  test('The store on node:sqlite keeps the contract of PetStore', { skip }, () => undefined);
}
