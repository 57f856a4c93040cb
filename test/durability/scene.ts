/** A service on a data file, whose syncs can fail, and a client that keeps a ledger of its pets. */

import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { connectWire, type Outcome } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { createPet } from '../support/pets/pet-load.ts';
import { portOf, startFaulty } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';

/** How much faster the timers of a process run whose stop may take as long as the machine needs. */
export const PATIENT = 1 / 20;

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** Starts the service; `faster` is how much faster its timers run. */
export async function openScene(t: TestContext, folder: string = tempDir(t), faster = 1) {
  const dataFile = join(folder, 'pets.json');
  const { service, setFault } = startFaulty(t, dataFile, faster);
  const port = await portOf(service);
  const connection = await connectWire(port);
  const ledger = new PetLedger();
  const random = createRandom(1);
  /** Sends a create, and resolves with its outcome. */
  const create = (): Promise<Outcome> => createPet(connection, ledger, random);
  return { folder, dataFile, ledger, random, service, port, connection, create, setFault };
}
