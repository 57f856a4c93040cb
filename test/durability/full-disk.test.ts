/** The real process on a disk that is full. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { createPet, listAllPets } from '../support/pets/pet-load.ts';
import { connectWire, type Outcome } from '../support/http/wire.ts';
import { end, logged, portOf, startOn } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';
import { openScene, PATIENT } from './scene.ts';

const MIB: number = 1 << 20;
const ROUNDS = rounds(2, 8);
/** How much room each round has for its pets. */
const ROOM_BYTES: number = 64 << 10;

test('On a full disk a service starts, reads, refuses, stops, and loses no pet', async (t) => {
  const folder = mountDisk(t, 8 * MIB);
  if (folder === undefined) return;
  const dataFile = join(folder, 'pets.json');
  const ballast = join(folder, 'ballast');
  const random = createRandom(1);
  const ledger = new PetLedger();
  ledger.maxPaddingBytes = 20_000;
  for (let round = 0; round < ROUNDS; round += 1) {
    const service = startOn(t, dataFile);
    const port = await portOf(service);
    const connection = await connectWire(port);
    ledger.check(await listAllPets(port));
    if (round === 0) fill(ballast);
    else fs.truncateSync(ballast, fs.statSync(ballast).size - ROOM_BYTES);
    const sent = ledger.sent;
    let outcome: Outcome;
    do {
      outcome = await createPet(connection, ledger, random);
    } while (outcome.status === 201);
    assertNoSpace(outcome);
    assert.ok(round === 0 || ledger.sent > sent + 1, 'No room was found');
    assertNoSpace(await connection.send('GET', '/readyz'));
    assert.equal((await connection.send('GET', '/livez')).status, 200);
    const pets = await listAllPets(port);
    ledger.check(pets);
    assert.equal(JSON.parse(fs.readFileSync(dataFile, 'utf8')).length, pets.length);
    connection.close();
    const signal = random.pick(['SIGKILL', 'SIGTERM'] as const);
    assert.equal(await end(service, signal), signal === 'SIGTERM' ? 0 : signal);
  }
  ledger.check(await petsAtNextStart(dataFile));
});

test('If only memory has the pets, and room is made during a stop, it ends with 0, and they are there', async (t) => {
  const folder = mountDisk(t, 2 * MIB);
  if (folder === undefined) return;
  const scene = await openScene(t, folder, PATIENT);
  const { service, connection, dataFile, ledger } = scene;
  const ballast = join(folder, 'ballast');
  for (let pets = 0; pets < 5; pets += 1) assert.equal((await scene.create()).status, 201);
  service.child.kill('SIGSTOP');
  fs.rmSync(dataFile);
  fill(ballast);
  service.child.kill('SIGCONT');
  assert.equal((await scene.create()).status, 503);
  ledger.check(await listAllPets(scene.port));
  // The response may come before the line of the log.
  await logged(service, 'Pets cannot be stored');
  assert.match(service.stderr(), /"Pets cannot be stored","cause":"ENOSPC.*"where":"memory"/);
  const { body } = (await connection.send('GET', '/metrics')) as { body?: string };
  assert.match(body!, /^petstore_store_pets_location\{at="memory"\} 1$/m);
  const exit = end(service, 'SIGTERM');
  await logged(service, '"Stopping"');
  fs.rmSync(ballast);
  assert.equal(await exit, 0, service.stderr());
  ledger.check(await petsAtNextStart(dataFile));
});

/** Mounts a small file system for the test. Undefined, and the test is skipped, if that fails. */
function mountDisk(t: TestContext, sizeBytes: number): string | undefined {
  let mounted: string | undefined;
  // Before the hook that removes the folder. Lazily, since processes of the test may still end.
  t.after(() => mounted && execFileSync('umount', ['--lazy', mounted]));
  const path = tempDir(t);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', path], {
      stdio: 'pipe',
    });
    mounted = path;
  } catch (error) {
    t.skip(`cannot mount a tmpfs, as root on Linux can: ${(error as Error).message.trim()}`);
  }
  return mounted;
}

/** Takes all the space that is left: the write before the one that fails is short. */
function fill(path: string): void {
  const write = (): void => {
    for (;;) fs.appendFileSync(path, Buffer.alloc(MIB));
  };
  assert.throws(write, { code: 'ENOSPC' });
}

function assertNoSpace(outcome: Outcome): void {
  assert.ok(outcome.status === 503, `${outcome.status}`);
  assert.ok(Number(outcome.headers.get('retry-after')) > 0);
  const { message, ...rest } = JSON.parse(outcome.body) as { message: string };
  assert.deepEqual(rest, { code: 'unavailable', status: 503 });
  assert.match(message, /ENOSPC|The disk seems to be full/);
}
