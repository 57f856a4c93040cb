/** The file store: the contract of a PetStore on real files, and a script for each state. */

import { join } from 'node:path';
import { testPetStoreContract } from '../../../src/extras/contract/pet-store-contract.ts';
import { openFileStore } from '../../../src/core/store/file-store.ts';
import { begin } from '../../support/disk/store-script.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { testScript } from '../../support/script.ts';

testPetStoreContract(
  'The file store',
  (t) => {
    const path = join(tempDir(t), 'pets.json');
    return () => openFileStore({ path });
  },
  { isDurable: true },
);

for (const name of ['working', 'repairing', 'ended', 'closed', 'start', 'creates', 'upgrade']) {
  testScript(`stores/file/${name}.script`, begin);
}
