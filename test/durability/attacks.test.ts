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
import { connectWire, type Outcome } from '../support/http/wire.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { listAllPets, startLoad } from '../support/pets/pet-load.ts';
import { assertRefused, end, portOf, startOn, type Process } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';
import { runScript } from '../support/process/run-script.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

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
  test(`The lock is ${what} and a second process starts: the first one ends with 1`, async (t) => {
    const scene = await underLoad(t);
    spoil(`${scene.dataFile}.lock`);
    assert.equal(await exitOf(scene.service), 1);
    assert.match(scene.service.stderr(), /The store has become read-only/);
    assert.match(scene.service.stderr(), /The lock file was (removed|replaced)/);
    await scene.kill();
    const second = await assertAllThere(t, scene);
    const load = startLoad(await portOf(second), scene.ledger, random, CONNECTIONS);
    await load.answered(200);
    assert.equal(await end(second, 'SIGTERM'), 0);
    await load.ended;
    await assertAllThere(t, scene);
  });
}

test('A process that is stopped, loses its lock and goes on leaves the files to the next', async (t) => {
  const scene = await underLoad(t);
  scene.service.child.kill('SIGSTOP');
  rmSync(`${scene.dataFile}.lock`);
  const second = startOn(t, scene.dataFile);
  await portOf(second);
  const files = ['pets.json', 'pets.json.journal', 'pets.json.lock'];
  const stateOf = (): unknown => files.map((name) => statSync(join(scene.folder, name)).ino);
  const before = stateOf();
  scene.service.child.kill('SIGCONT');
  assert.equal(await exitOf(scene.service), 1);
  assert.deepEqual(stateOf(), before);
  await scene.kill();
  scene.ledger.check(await listAllPets(await portOf(second)));
});

test('rm -rf of the folder, then SIGTERM: the pets are in a saved file that the log names', async (t) => {
  const scene = await underLoad(t);
  // As a stop that comes before anything was noticed.
  scene.service.child.kill('SIGSTOP');
  rmSync(scene.folder, { recursive: true });
  scene.service.child.kill('SIGTERM');
  scene.service.child.kill('SIGCONT');
  const code = await exitOf(scene.service);
  // 1 if the loss was noticed before the signal.
  assert.ok(code === 0 || code === 1, `${code}`);
  await scene.kill();
  const saved = readdirSync(scene.folder).filter((name) => name.startsWith('pets.json.saved-'));
  assert.equal(saved.length, 1);
  assert.ok(scene.service.stderr().includes(saved[0]!));
  await assertRefused(startOn(t, scene.dataFile), /rename it to the data file/);
  renameSync(join(scene.folder, saved[0]!), scene.dataFile);
  await assertAllThere(t, scene);
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
    const theirs = name === 'pets.json' ? Buffer.from('[ ]\n') : readFileSync(file);
    renameNew(file, theirs);
    // The snapshot is looked at before it would be replaced, which a missing journal brings about.
    if (name === 'pets.json') rmSync(scene.journal);
    await logged(scene.service, /Saved all acknowledged pets to a separate file/);
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
  test(`The folder is ${what} under load: the process saves the pets, and ends with 1`, async (t) => {
    const scene = await underLoad(t);
    spoil(scene.folder);
    assert.equal(await exitOf(scene.service), 1);
    await scene.kill();
    const [saved] = readdirSync(scene.folder);
    const copy = join(scene.folder, 'copy', 'pets.json');
    mkdirSync(dirname(copy));
    copyFileSync(join(scene.folder, saved!), copy);
    await assertAllThere(t, { ...scene, dataFile: copy });
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
  const connection = await connectWire(port);
  const answer = await connection.send('POST', '/v1/pets', '{"name":"Rex","categoryId":7}');
  connection.close();
  return answer;
}

/** Resolves with the exit code when the process has ended by itself. */
async function exitOf({ child }: Process): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
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
