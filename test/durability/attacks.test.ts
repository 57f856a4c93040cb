/**
 * What an operator, an editor or a second process can do to the files of a real service at work:
 * nothing that was answered is lost, nothing that was refused appears, no id is given out twice.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openConnection, type Outcome } from '../support/connection.ts';
import { PetLedger } from '../support/pet-ledger.ts';
import { listAllPets, startLoad } from '../support/pet-load.ts';
import { assertRefused, end, KEY, portOf, startOn, type Process } from '../support/process.ts';
import { createRandom } from '../support/random.ts';
import { runScript } from '../support/run-script.ts';
import { tempDir } from '../support/temp-dir.ts';

const random = createRandom(1);
const CONNECTIONS = 6;

/** A service under load, of which some hundred creates were answered. */
interface Scene {
  readonly folder: string;
  readonly dataFile: string;
  readonly journal: string;
  readonly ledger: PetLedger;
  readonly service: Process;
  readonly port: number;
  /** Resolves when so many more were answered, or the service is gone. */
  answered(pets: number): Promise<void>;
  /** Kills the service, and waits for the load to end. */
  kill(): Promise<readonly Outcome[]>;
}

async function underLoad(t: TestContext): Promise<Scene> {
  const folder = join(tempDir(t), 'data');
  const dataFile = join(folder, 'pets.json');
  const service = startOn(t, dataFile);
  const port = await portOf(service);
  const ledger = new PetLedger();
  const load = startLoad(port, ledger, random, CONNECTIONS);
  await load.answered(200);
  return {
    folder,
    dataFile,
    journal: `${dataFile}.journal`,
    ledger,
    service,
    port,
    answered: (pets) => load.answered(pets),
    async kill() {
      await end(service, 'SIGKILL');
      return load.ended;
    },
  };
}

/** Starts another service on the same file, and holds all its pets against the ledger. */
async function assertAllThere(t: TestContext, { dataFile, ledger }: Scene): Promise<Process> {
  const service = startOn(t, dataFile);
  ledger.check(await listAllPets(await portOf(service)));
  return service;
}

for (const [what, spoil] of [
  ['removed', (lock: string) => rmSync(lock)],
  ['replaced', (lock: string) => renameNew(lock, '')],
] as const) {
  test(`The lock is ${what} and a second process starts: the first one stores no more`, async (t) => {
    const scene = await underLoad(t);
    spoil(`${scene.dataFile}.lock`);
    const second = await assertAllThere(t, scene);
    const answer = await createPet(scene.port);
    assert.equal(answer.status, 503);
    assert.match(scene.service.stderr(), /No pets are stored any more: restart the service/);
    assert.match(scene.service.stderr(), /The lock file was (removed|replaced)/);
    // The load on the first one goes on, and its ledger has the pets of both.
    const load = startLoad(await portOf(second), scene.ledger, random, CONNECTIONS);
    await load.answered(200);
    await scene.kill();
    assert.equal(await end(second, 'SIGTERM'), 0);
    await load.ended;
    await assertAllThere(t, scene);
  });
}

test('A first process that lost its lock leaves the files alone when it stops', async (t) => {
  const scene = await underLoad(t);
  rmSync(`${scene.dataFile}.lock`);
  const second = startOn(t, scene.dataFile);
  await portOf(second);
  const before = readdirSync(scene.folder).map((name) => statSync(join(scene.folder, name)).ino);
  assert.equal(await end(scene.service, 'SIGTERM'), 0);
  const after = readdirSync(scene.folder).map((name) => statSync(join(scene.folder, name)).ino);
  assert.deepEqual(after, before);
  scene.ledger.check(await listAllPets(await portOf(second)));
});

test('The journal is removed under load: its pets go into a new snapshot, then kill -9', async (t) => {
  const scene = await underLoad(t);
  rmSync(scene.journal);
  await scene.answered(200);
  await scene.kill();
  assert.equal(existsSync(scene.journal), true, 'a new one was begun');
  await assertAllThere(t, scene);
});

for (const name of ['pets.json', 'pets.json.journal']) {
  test(`An editor saves ${name} under load: what was answered is saved beside it`, async (t) => {
    const scene = await underLoad(t);
    const file = join(scene.folder, name);
    const theirs = readFileSync(file);
    renameNew(file, theirs);
    // The snapshot is looked at before it would be replaced, which a missing journal brings about.
    if (name === 'pets.json') rmSync(scene.journal);
    await logged(scene.service, /All pets that were answered are in a file of their own/);
    assert.equal((await createPet(scene.port)).status, 503);
    const saved = readdirSync(scene.folder).find((entry) => entry.startsWith('pets.json.saved-'));
    assert.ok(saved !== undefined);
    await scene.kill();
    assert.deepEqual(readFileSync(file), theirs);
    assert.match(scene.service.stderr(), new RegExp(saved));
    const other = join(scene.folder, 'restored', 'pets.json');
    mkdirSync(dirname(other));
    copyFileSync(join(scene.folder, saved), other);
    await assertAllThere(t, { ...scene, dataFile: other });
  });
}

for (const [what, spoil] of [
  ['moved', (folder: string) => renameSync(folder, `${folder}-moved`)],
  ['deleted', (folder: string) => rmSync(folder, { recursive: true })],
] as const) {
  test(`The folder is ${what} under load: no more pets are stored, wherever it is`, async (t) => {
    const scene = await underLoad(t);
    spoil(scene.folder);
    assert.equal((await createPet(scene.port)).status, 503);
    const saved = await listAllPets(scene.port);
    scene.ledger.check(saved);
    await scene.kill();
    assert.equal(existsSync(scene.folder), false);
    if (what === 'moved') {
      await assertAllThere(t, { ...scene, dataFile: `${scene.folder}-moved/pets.json` });
    }
  });
}

test("A snapshot of another lineage beside production's journal is refused", async (t) => {
  const scene = await underLoad(t);
  await scene.kill();
  const staging = await underLoad(t);
  await end(staging.service, 'SIGTERM');
  const theirs = readFileSync(staging.dataFile);
  copyFileSync(staging.dataFile, scene.dataFile);
  const journal = readFileSync(scene.journal);
  await assertRefused(
    startOn(t, scene.dataFile),
    /^petstore: .*pets\.json\.journal .*left as it is\. .+\n$/,
  );
  assert.deepEqual(readFileSync(scene.dataFile), theirs);
  assert.deepEqual(readFileSync(scene.journal), journal);
});

for (const [what, byte] of [
  ['0xFF', 0xff],
  ['text', 0x41],
] as const) {
  test(`The last 2 KB of a journal overwritten with ${what} are refused, not dropped`, async (t) => {
    const scene = await underLoad(t);
    await scene.kill();
    const bytes = readFileSync(scene.journal);
    writeFileSync(scene.journal, Buffer.from(bytes).fill(byte, bytes.length - 2048));
    const damaged = readFileSync(scene.journal);
    const refused = startOn(t, scene.dataFile);
    await assertRefused(
      refused,
      /^petstore: .*pets\.json\.journal is damaged at byte \d+, line \d+: /,
    );
    assert.deepEqual(readFileSync(scene.journal), damaged);
    const { code, stderr } = await runScript('check-data.mjs', [scene.dataFile]);
    assert.equal(code, 1);
    assert.equal(`petstore: ${stderr}`, refused.stderr());
  });
}

test('Behind a journal that was cut off in its last line, all that was answered is there', async (t) => {
  const scene = await underLoad(t);
  await scene.kill();
  // A line of a create that never got an answer.
  appendFileSync(scene.journal, '91dc63af 0000');
  const service = await assertAllThere(t, scene);
  assert.match(service.stderr(), /13/);
});

test('A back-up of hard links made at work can be served, and is not written to', async (t) => {
  const scene = await underLoad(t);
  const backup = join(scene.folder, 'backup');
  mkdirSync(backup);
  for (const name of ['pets.json.journal', 'pets.json']) {
    linkSync(join(scene.folder, name), join(backup, name));
  }
  await scene.answered(100);
  await scene.kill();
  const before = readFileSync(join(backup, 'pets.json.journal'));
  const service = await assertAllThere(t, scene);
  assert.equal((await createPet(await portOf(service))).status, 201);
  assert.deepEqual(readFileSync(join(backup, 'pets.json.journal')), before);
  await end(service, 'SIGKILL');
  await assertAllThere(t, { ...scene, dataFile: join(backup, 'pets.json') });
});

test('A data file that may only be read is served, stored to, and started from again', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  writeFileSync(dataFile, '[]');
  chmodSync(dataFile, 0o444);
  for (let pets = 1; pets <= 3; pets += 1) {
    const service = startOn(t, dataFile);
    const port = await portOf(service);
    assert.equal((await createPet(port)).status, 201);
    assert.equal((await listAllPets(port)).length, pets);
    await end(service, pets === 1 ? 'SIGKILL' : 'SIGTERM');
  }
  assert.equal(statSync(dataFile).mode & 0o777, 0o444);
});

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

test(
  'What root makes belongs to the owner of the data file, else of its folder',
  {
    skip: isRoot ? false : 'only root can give files away',
  },
  async (t) => {
    const folder = tempDir(t);
    chownSync(folder, NOBODY, NOBODY);
    const service = startOn(t, join(folder, 'pets.json'));
    assert.equal((await createPet(await portOf(service))).status, 201);
    const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
    assert.deepEqual(owners, [NOBODY, NOBODY, NOBODY]);
    await end(service, 'SIGTERM');
    assert.equal(statSync(join(folder, 'pets.json')).uid, NOBODY);
  },
);

test('A journal that was emptied is a first write that was cut off: the snapshot is served', async (t) => {
  const folder = tempDir(t);
  const dataFile = join(folder, 'pets.json');
  const first = startOn(t, dataFile);
  assert.equal((await createPet(await portOf(first))).status, 201);
  await end(first, 'SIGTERM');
  writeFileSync(`${dataFile}.journal`, '');
  truncateSync(`${dataFile}.journal`, 4096);
  const service = startOn(t, dataFile);
  assert.equal((await listAllPets(await portOf(service))).length, 1);
});

async function createPet(port: number): Promise<Outcome> {
  const connection = await openConnection(port, KEY);
  assert.ok(connection !== undefined);
  const answer = await connection.send('POST', '/v1/pets', '{"name":"Rex","categoryId":7}');
  connection.close();
  return answer;
}

/** Waits until the log of the service has it. */
async function logged(service: Process, line: RegExp): Promise<void> {
  while (!line.test(service.stderr())) await once(service.child.stderr!, 'data');
}

/** Puts a new file in the place of another, as an editor does. */
function renameNew(path: string, content: string | Buffer): void {
  writeFileSync(`${path}~`, content);
  renameSync(`${path}~`, path);
}
