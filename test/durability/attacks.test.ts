/**
 * What an operator or a second process can do to the files of a running service: no
 * acknowledged pet is lost, no refused one appears, and no id is given twice.
 */

import assert from 'node:assert/strict';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { listAllPets, startLoad } from '../support/pets/pet-load.ts';
import { assertRefused, end, logged, portOf, startOn } from '../support/process/process.ts';
import { openScene, PATIENT, type Scene } from './scene.ts';

const CONNECTIONS = 6;

/** A service under load, which has acknowledged 60 creates. */
async function underLoad(t: TestContext) {
  const scene = await openScene(t, join(tempDir(t), 'data'));
  const { service, port, ledger, random } = scene;
  const load = startLoad(port, ledger, random, CONNECTIONS);
  await load.answered(60);
  /** Kills the service, and waits for the load to end. */
  const kill = async (): Promise<void> => {
    await end(service, 'SIGKILL');
    await load.ended;
  };
  return { ...scene, load, kill };
}

/** Compares the pets that a start finds in the file with the ledger. */
async function assertAllThere({ ledger, dataFile }: Scene, file = dataFile): Promise<void> {
  ledger.check(await petsAtNextStart(file));
}

function savedIn(folder: string): string {
  const [saved = '', ...others] = readdirSync(folder).filter((name) => name.includes('.saved-'));
  assert.deepEqual(others, []);
  return saved;
}

test('A halted process that has lost its lock leaves the files to the next one', async (t) => {
  const scene = await underLoad(t);
  scene.service.child.kill('SIGSTOP');
  // It keeps its data file until then.
  await assertRefused(startOn(t, scene.dataFile), /^petstore: .*pets\.json is in use already.*\n$/);
  rmSync(`${scene.dataFile}.lock`);
  const second = startOn(t, scene.dataFile);
  await portOf(second);
  const files = ['pets.json', 'pets.json.journal', 'pets.json.lock'];
  const stateOf = (): unknown => files.map((name) => statSync(join(scene.folder, name)).ino);
  const before = stateOf();
  scene.service.child.kill('SIGCONT');
  assert.equal(await scene.service.exit(), 1);
  assert.match(scene.service.stderr(), /The store has become read-only/);
  assert.match(scene.service.stderr(), /The lock file was replaced/);
  assert.deepEqual(stateOf(), before);
  await scene.kill();
  scene.ledger.check(await listAllPets(await portOf(second)));
});

test('After rm -rf of the folder and SIGTERM the pets are in a saved file', async (t) => {
  const scene = await underLoad(t);
  // As a stop that comes before the loss is noticed.
  scene.service.child.kill('SIGSTOP');
  rmSync(scene.folder, { recursive: true });
  scene.service.child.kill('SIGTERM');
  scene.service.child.kill('SIGCONT');
  const code = await scene.service.exit();
  // 1 if the loss was noticed before the signal.
  assert.ok(code === 0 || code === 1, `${code}`);
  await scene.kill();
  const saved = savedIn(scene.folder);
  assert.ok(scene.service.stderr().includes(saved));
  await assert.rejects(petsAtNextStart(scene.dataFile), /rename it to the data file/);
  renameSync(join(scene.folder, saved), scene.dataFile);
  await assertAllThere(scene);
});

for (const ending of ['SIGKILL', 'SIGTERM'] as const) {
  test(`A data file that is edited, then ${ending}: the next start names the saved file first`, async (t) => {
    const faster = ending === 'SIGTERM' ? PATIENT : 1;
    const scene = await openScene(t, tempDir(t), faster);
    const { folder, dataFile, service, ledger, port, create } = scene;
    for (let pets = 0; pets < 5; pets += 1) assert.equal((await create()).status, 201);
    // SIGTERM comes before the service can notice.
    if (ending === 'SIGTERM') service.child.kill('SIGSTOP');
    // In its place: it has as many bytes as before.
    writeFileSync(dataFile, readFileSync(dataFile, 'latin1').replaceAll('\t', ' '));
    if (ending === 'SIGKILL') {
      // No client creates.
      await logged(service, 'Saved all acknowledged pets');
      ledger.check(await listAllPets(port));
      assert.equal((await create()).status, 503);
    }
    service.child.kill(ending);
    service.child.kill('SIGCONT');
    assert.equal(await service.exit(), ending === 'SIGTERM' ? 0 : ending);
    const saved = savedIn(folder);
    const line = new RegExp(`^petstore: \\S+/${saved} has [^]*rename it to the data file[^]*\\n$`);
    // Before anything else that is wrong, and each time.
    for (let start = 0; start < 2; start += 1) await assertRefused(startOn(t, dataFile), line);
    renameSync(join(folder, saved), dataFile);
    rmSync(`${dataFile}.journal`, { force: true });
    await assertAllThere(scene);
  });
}

test('A backup of hard links has all pets of its time, and is not written to', async (t) => {
  const scene = await underLoad(t);
  const backup = join(scene.folder, 'backup');
  mkdirSync(backup);
  const [, linked] = ['pets.json', 'pets.json.journal'].map((name) => {
    linkSync(join(scene.folder, name), join(backup, name));
    return join(backup, name);
  });
  // As cp -al does.
  const lock = join(backup, 'pets.json.lock');
  linkSync(`${scene.dataFile}.lock`, lock);
  const inUse =
    /^petstore: \S+ is in use already: .* It has another link, such as that of a backup/;
  await assertRefused(startOn(t, join(backup, 'pets.json')), inUse);
  rmSync(lock);
  await scene.load.answered(50);
  await scene.kill();
  const before = readFileSync(linked!);
  await assertAllThere(scene);
  assert.deepEqual(readFileSync(linked!), before);
  await assertAllThere(scene, join(backup, 'pets.json'));
});
