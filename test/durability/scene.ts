/** A service on a data file, whose syncs can fail, and a client that keeps a ledger of its pets. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { connectWire, type Outcome } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { createPet, startLoad } from '../support/pets/pet-load.ts';
import { portOf, startFaulty } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';

/** How much faster the timers of a process run whose stop may take as long as the machine needs. */
export const PATIENT = 1 / 20;

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
    ...{ folder, dataFile, ledger, random, service, port, connection, setFault },
    /** Sends a create, and resolves with its outcome. */
    create: (): Promise<Outcome> => createPet(connection, ledger, random),
    /** Starts clients that create and read, and resolves when some creates were acknowledged. */
    async underLoad() {
      const load = startLoad(port, ledger, random, CREATORS);
      await load.answered(40);
      return load;
    },
    /** The only file with this ending beside the data file. */
    beside(ending: string): string {
      const [name = '', ...others] = readdirSync(folder).filter((one) => one.includes(ending));
      assert.ok(name !== '' && others.length === 0, readdirSync(folder).join());
      return join(folder, name);
    },
  };
}

const CREATORS = 6;
