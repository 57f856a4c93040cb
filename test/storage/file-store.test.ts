/** The file store: what every PetStore does, on real files, and its own manners when it opens. */

import { join } from 'node:path';
import { openFileStore } from '../../src/storage/file-store.ts';
import { testPetStoreContract } from '../support/pet-store-contract.ts';
import { tempDir } from '../support/temp-dir.ts';

testPetStoreContract(
  'The file store',
  (t) => {
    const path = join(tempDir(t), 'pets.json');
    return () => openFileStore({ path });
  },
  { isDurable: true },
);
