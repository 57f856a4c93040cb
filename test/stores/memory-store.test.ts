/** The contract of the memory store. What it reads of a data file is in check.script. */

import { testPetStoreContract } from '../../src/extras/contract/pet-store-contract.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';

testPetStoreContract('The memory store', () => createMemoryStore, { isDurable: false });
