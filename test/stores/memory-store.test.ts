/** The memory store: its contract. The pets of a data file with which it may begin: check.script. */

import { testPetStoreContract } from '../../src/contract/pet-store-contract.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';

testPetStoreContract('The memory store', () => createMemoryStore, { isDurable: false });
