/** The memory store: what every PetStore does, and no more. */

import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { testPetStoreContract } from '../../src/contract/pet-store-contract.ts';

testPetStoreContract('The memory store', () => createMemoryStore, { isDurable: false });
