/** A service on a data file, whose syncs can fail, and a client that keeps a ledger of its pets. */

import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { connectWire, type Outcome, type Wire } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { createPet } from '../support/pets/pet-load.ts';
import { portOf, startFaulty, type Process, type SyncFault } from '../support/process/process.ts';
import { createRandom, type Random } from '../support/random.ts';

export interface Scene {
  readonly folder: string;
  readonly dataFile: string;
  readonly ledger: PetLedger;
  readonly random: Random;
  readonly service: Process;
  readonly port: number;
  readonly connection: Wire;
  /** Sends a create, and resolves with its outcome. */
  create(maxPaddingBytes?: number): Promise<Outcome>;
  setFault(fault: SyncFault): void;
}

/** Starts the service; `faster` is how much faster its timers run. */
export async function openScene(
  t: TestContext,
  folder: string = tempDir(t),
  faster = 1,
): Promise<Scene> {
  const dataFile = join(folder, 'pets.json');
  const { service, setFault } = startFaulty(t, dataFile, faster);
  const port = await portOf(service);
  const connection = await connectWire(port);
  const ledger = new PetLedger();
  const random = createRandom(1);
  const create: Scene['create'] = (max) => createPet(connection, ledger, random, max);
  return { folder, dataFile, ledger, random, service, port, connection, create, setFault };
}
