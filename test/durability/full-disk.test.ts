/** The real process on a disk that is full, or that must not be written to. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectWire, type Outcome, type Wire } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { listAllPets } from '../support/pets/pet-load.ts';
import { assertRefused, end, KEY, portOf, startOn } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { makeReadOnly, mountTmpfs } from '../support/disk/tmpfs.ts';

const MIB: number = 1 << 20;
const DISK_BYTES: number = 3 * MIB;

test('On a full disk creates are 503 and reads go on, until there is space again', async (t) => {
  const folder = mountTmpfs(t, DISK_BYTES);
  if (folder === undefined) return;
  const dataFile = join(folder, 'pets.json');
  const ballast = join(folder, 'ballast');
  const ledger = new PetLedger();

  const first = startOn(t, dataFile);
  const port = await portOf(first);
  const connection = await connectWire(port);
  writeFileSync(ballast, Buffer.alloc(MIB / 2));
  assertUnavailable(await createUntilFull(connection, ledger));
  assertUnavailable(await connection.send('GET', '/readyz'));
  assert.equal((await connection.send('GET', '/livez')).status, 200);
  ledger.check(await listAllPets(port));

  rmSync(ballast);
  assert.equal((await create(connection, ledger)).status, 201);
  assert.equal((await connection.send('GET', '/readyz')).status, 200);
  assertUnavailable(await createUntilFull(connection, ledger));
  assert.ok(statSync(`${dataFile}.journal`).size > MIB);
  await end(first, 'SIGKILL');
  fill(ballast);

  const second = startOn(t, dataFile);
  ledger.check(await listAllPets(await portOf(second)));
  assert.match(second.stderr(), /"level":"warn".*Cannot copy the journal: syncing.*ENOSPC/);
  // Nor does the last checkpoint find space: the journal has every pet.
  assert.equal(await end(second, 'SIGTERM'), 0);
  assert.ok(existsSync(`${dataFile}.journal`));

  // Enough for all pets a second time.
  rmSync(ballast);
  const third = startOn(t, dataFile);
  ledger.check(await listAllPets(await portOf(third)));
  assert.equal(await end(third, 'SIGTERM'), 0);
});

test('Pets that are in memory only, and cannot be saved at a stop, are told of as lost', async (t) => {
  const folder = mountTmpfs(t, DISK_BYTES);
  if (folder === undefined) return;
  const dataFile = join(folder, 'pets.json');
  const ledger = new PetLedger();
  const service = startOn(t, dataFile);
  const connection = await connectWire(await portOf(service));
  assertUnavailable(await createUntilFull(connection, ledger));
  // That frees nothing: the service has the file open.
  rmSync(`${dataFile}.journal`);
  service.child.kill('SIGTERM');
  while (!/could not be saved.*ENOSPC/.test(service.stderr())) {
    await once(service.child.stderr!, 'data');
  }
  // It would try for a minute.
  assert.equal(await end(service, 'SIGTERM'), 1);
});

test('Pets that are in memory only are saved by a stop as soon as there is room', async (t) => {
  const folder = mountTmpfs(t, DISK_BYTES);
  if (folder === undefined) return;
  const dataFile = join(folder, 'pets.json');
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(2 * MIB));
  const ledger = new PetLedger();
  const service = startOn(t, dataFile);
  const connection = await connectWire(await portOf(service));
  assertUnavailable(await createUntilFull(connection, ledger));
  rmSync(`${dataFile}.journal`);
  service.child.kill('SIGTERM');
  while (!/could not be saved.*ENOSPC/.test(service.stderr())) {
    await once(service.child.stderr!, 'data');
  }
  rmSync(ballast);
  if (service.child.exitCode === null) await once(service.child, 'exit');
  assert.equal(service.child.exitCode, 0);
  const next = startOn(t, dataFile);
  ledger.check(await listAllPets(await portOf(next)));
});

test('One failed sync with little room is over as soon as there is more', async (t) => {
  const folder = mountTmpfs(t, DISK_BYTES);
  if (folder === undefined) return;
  const dataFile = join(folder, 'pets.json');
  const ballast = join(folder, 'ballast');
  const ledger = new PetLedger();
  const service = startOn(t, dataFile);
  const connection = await connectWire(await portOf(service));
  for (let pets = 0; pets < 20; pets += 1) await create(connection, ledger);
  fill(ballast);
  rmSync(`${dataFile}.journal`);
  const left = statfsSync(folder).bavail;
  while ((await connection.send('GET', '/readyz')).status !== 503) await sleep(50);
  assert.equal((await create(connection, ledger)).status, 503);
  assert.ok(statfsSync(folder).bavail >= left, 'Nothing is filled by the tries');
  rmSync(ballast);
  while ((await connection.send('GET', '/readyz')).status !== 200) await sleep(50);
  assert.equal((await create(connection, ledger)).status, 201);
  await end(service, 'SIGKILL');
  ledger.check(await listAllPets(await portOf(startOn(t, dataFile))));
});

test('Pets that are in memory only go into a file of their own where a stop cannot write the keys', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const service = startOn(t, dataFile);
  const { status } = await fetch(`http://127.0.0.1:${await portOf(service)}/v1/pets`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${KEY}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'k',
    },
    body: '{"name":"Rex","categoryId":1}',
  });
  assert.equal(status, 201);
  rmSync(`${dataFile}.journal`);
  mkdirSync(`${dataFile}.keys`);
  assert.equal(await end(service, 'SIGTERM'), 0);
  assert.match(service.stderr(), /Saved all acknowledged pets to a separate file/);
  const saved = readdirSync(folder).find((name) => name.startsWith('pets.json.saved-'));
  assert.match(readFileSync(join(folder, saved ?? ''), 'utf8'), /^\[\n\{"id":1,/);
});

test('A new data file on a full disk is refused in one line, with exit code 1', async (t) => {
  const folder = mountTmpfs(t, MIB);
  if (folder === undefined) return;
  fill(join(folder, 'ballast'));
  const dataFile = join(folder, 'pets.json');
  await assertRefused(startOn(t, dataFile), /^petstore: .*ENOSPC.*\n$/);
  assert.deepEqual([existsSync(dataFile), existsSync(`${dataFile}.tmp`)], [false, false]);
});

test('A read-only file system is refused in one line, with exit code 1', async (t) => {
  const folder = mountTmpfs(t, MIB);
  if (folder === undefined) return;
  const text = '[{"id":1,"name":"Rex","categoryId":7}]';
  writeFileSync(join(folder, 'pets.json'), text);
  makeReadOnly(folder);
  await assertRefused(startOn(t, join(folder, 'pets.json')), /^petstore: .*read-only.*\n$/);
  const below = startOn(t, join(folder, 'sub', 'pets.json'));
  await assertRefused(below, /^petstore: The folder of .* cannot be made: .*\n$/);
  assert.equal(readFileSync(join(folder, 'pets.json'), 'utf8'), text);
});

test('A folder that may not be written to is refused in one line, with exit code 1', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may write to any folder');
  const folder = tempDir(t);
  chmodSync(folder, 0o500);
  t.after(() => chmodSync(folder, 0o700));
  await assertRefused(startOn(t, join(folder, 'pets.json')), /^petstore: .*permission denied.*\n$/);
});

const random = createRandom(1);

async function create(connection: Wire, ledger: PetLedger): Promise<Outcome> {
  const body = ledger.newPet(random, 40_000);
  const outcome = await connection.send('POST', '/v1/pets', body);
  if (outcome.status === 201) ledger.addAnswer(outcome, body);
  return outcome;
}

/** The first outcome that is no 201. */
async function createUntilFull(connection: Wire, ledger: PetLedger): Promise<Outcome> {
  for (;;) {
    const outcome = await create(connection, ledger);
    if (outcome.status !== 201) return outcome;
  }
}

/** Takes all the space that is left, to the last byte. */
function fill(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let step = 1 << 16; step >= 1;) {
      try {
        writeSync(file, Buffer.alloc(step));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
        step = Math.floor(step / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}

function assertUnavailable(outcome: Outcome): void {
  assert.ok(outcome.status === 503, `${outcome.status}`);
  assert.ok(Number(outcome.headers.get('retry-after')) > 0);
  const { message, ...rest } = JSON.parse(outcome.body) as { message: string };
  assert.deepEqual(rest, { code: 'unavailable', status: 503 });
  assert.match(message, /ENOSPC/);
}
