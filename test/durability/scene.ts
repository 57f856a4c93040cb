/** A service on a data file, whose syncs can fail, and a client that keeps a ledger of its pets. */

import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { connectWire, type Outcome } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { createPet } from '../support/pets/pet-load.ts';
import { portOf, startFaulty } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** Starts the service; `faster` is how much faster its clock runs. */
export async function openScene(t: TestContext, folder: string = tempDir(t), faster = 1) {
  const dataFile = join(folder, 'pets.json');
  const { service, setFault } = startFaulty(t, dataFile, faster);
  const port = await portOf(service);
  const connection = await connectWire(port);
  t.after(() => connection.close());
  const ledger = new PetLedger();
  const random = createRandom(1);
  return {
    ...{ folder, dataFile, ledger, random, service, port, setFault },
    /** Sends a create, and resolves with its outcome. */
    create: (): Promise<Outcome> => createPet(connection, ledger, random),
  };
}
