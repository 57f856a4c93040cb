/** The etcd store on a simulated etcd keeps the contract of PetStore. */

import { testPetStoreContract } from '../../../src/contract/pet-store-contract.ts';
import { simulatedCalls } from '../../support/etcd/simulated-calls.ts';
import { openInitialized } from '../../support/etcd/initialized-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';

const endpoints = ['http://127.0.0.1:2379'];

testPetStoreContract(
  'The etcd store on a simulated etcd',
  () => {
    const etcd = new SimulatedEtcd();
    return () => openInitialized({ endpoints, calls: simulatedCalls(etcd) });
  },
  { isDurable: true },
);
