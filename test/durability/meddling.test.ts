/**
 * What another program does to the files of a service under load. It notices, acknowledges nothing
 * from then on, and overwrites nothing of others: it writes a new data file, or it saves all pets
 * to another file and ends. No acknowledged pet is lost, and no refused one appears.
 */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeDisk } from '../../src/core/store/node-disk.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { intercept } from '../support/disk/intercept.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds, SEED } from '../support/extent.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { listAllPets } from '../support/pets/pet-load.ts';
import { REX } from '../support/pets/rex.ts';
import { assertRefused, end, logged, portOf, startOn } from '../support/process/process.ts';
import { createRandom, type Random } from '../support/random.ts';
import { openScene, type Scene } from './scene.ts';

const ROUNDS = rounds(1, 4);
/** More than a tick of any file system's clock. */
const TICK_MS = 20;
/** More than a commit has: less may be overwritten by the next one, which does no harm. */
const MORE: string = ' '.repeat(1 << 20);

type Load = Awaited<ReturnType<Scene['underLoad']>>;
type Meddle = (scene: Scene, random: Random, load: Load) => unknown;

/** What is done, and whether the service goes on with all its pets, or saves them and ends. */
const MEDDLINGS: readonly (readonly [what: string, meddle: Meddle, then: 'goes on' | 'ends'])[] = [
  ['touched', ({ dataFile }) => fs.utimesSync(dataFile, 1, 1), 'goes on'],
  ['cut', cut, 'ends'],
  ['emptied', ({ dataFile }) => fs.truncateSync(dataFile), 'ends'],
  ['made longer', ({ dataFile }) => fs.appendFileSync(dataFile, MORE), 'ends'],
  ['changed by a letter', changeLetter, 'ends'],
  ['overwritten by an older copy', putOlderBack(fs.copyFileSync), 'ends'],
  ['replaced by an older copy', putOlderBack(fs.renameSync), 'ends'],
  ['removed', ({ dataFile }) => fs.rmSync(dataFile), 'goes on'],
  ['moved away', ({ dataFile }) => fs.renameSync(dataFile, `${dataFile}.bak`), 'goes on'],
  ['given a second link', ({ dataFile }) => fs.linkSync(dataFile, `${dataFile}.link`), 'goes on'],
  ['moved away with its folder, and back', moveFolder, 'goes on'],
  ['moved away with its folder, for another one', replaceFolder, 'ends'],
  ['removed with its folder', ({ folder }) => fs.rmSync(folder, { recursive: true }), 'ends'],
];

/** Not in the bracket, which the next commit overwrites. */
function cut({ dataFile }: Scene, random: Random): void {
  fs.truncateSync(dataFile, random.below(fs.statSync(dataFile).size - 2));
}

/** Behind the last commit: an edit within a tick of the clock is not noticed. */
async function changeLetter({ dataFile }: Scene, random: Random, load: Load): Promise<void> {
  load.stop();
  await load.ended;
  await sleep(TICK_MS);
  const file = fs.openSync(dataFile, 'r+');
  const at = random.below(fs.fstatSync(file).size);
  const byte = Buffer.alloc(1);
  fs.readSync(file, byte, 0, 1, at);
  byte.writeUInt8(byte.readUInt8() ^ 1);
  fs.writeSync(file, byte, 0, 1, at);
  fs.closeSync(file);
}

function putOlderBack(put: (from: string, to: string) => void): Meddle {
  return async ({ dataFile }, _random, load) => {
    fs.copyFileSync(dataFile, `${dataFile}.copy`);
    await load.answered(20);
    put(`${dataFile}.copy`, dataFile);
  };
}

async function moveFolder({ folder, service }: Scene): Promise<void> {
  fs.renameSync(folder, `${folder}-moved`);
  await logged(service, 'its folder was moved');
  fs.renameSync(`${folder}-moved`, folder);
}

function replaceFolder({ folder }: Scene): void {
  fs.renameSync(folder, `${folder}-moved`);
  fs.mkdirSync(folder);
}

for (const [what, meddle, then] of MEDDLINGS) {
  test(`A service under load whose data file is ${what} ${then}, and no pet is lost`, async (t) => {
    const random = createRandom(SEED);
    for (let round = 0; round < ROUNDS; round += 1) {
      const scene = await openScene(t, join(tempDir(t), 'data'));
      const load = await scene.underLoad();
      await sleep(random.below(20));
      await meddle(scene, random, load);
      if (then === 'goes on') await goesOn(scene, load, round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      else await ends(t, scene, load);
    }
  });
}

async function goesOn({ service, dataFile, ledger }: Scene, load: Load, signal: NodeJS.Signals) {
  // More than were in progress meanwhile.
  await load.answered(40);
  assert.equal(await end(service, signal), signal === 'SIGTERM' ? 0 : signal, service.stderr());
  await load.ended;
  ledger.check(await petsAtNextStart(dataFile));
}

/** Does what the message of the next start says. */
async function ends(t: TestContext, scene: Scene, load: Load): Promise<void> {
  const { service, dataFile, ledger } = scene;
  assert.equal(await service.exit(), 1, service.stderr());
  await load.ended;
  const saved = scene.beside('.saved-');
  assert.ok(service.stderr().includes(`"file":"${saved}"`), service.stderr());
  const there = fs.existsSync(dataFile) ? fs.readFileSync(dataFile) : undefined;
  const line = /^petstore: Pets were saved to another file\. .* [Gg]ive the saved file .*name.*\n$/;
  await assertRefused(startOn(t, dataFile), line);
  if (there !== undefined) assert.deepEqual(fs.readFileSync(dataFile), there);
  fs.renameSync(saved, dataFile);
  ledger.check(await petsAtNextStart(dataFile));
}

test('A link that a backup made is not written to by the next start', async (t) => {
  const scene = await openScene(t);
  const load = await scene.underLoad();
  const link = join(tempDir(t), 'pets.json');
  fs.linkSync(scene.dataFile, link);
  await end(scene.service, 'SIGKILL');
  await load.ended;
  const before = fs.readFileSync(link);
  const second = startOn(t, scene.dataFile);
  scene.ledger.check(await listAllPets(await portOf(second)));
  assert.notEqual(fs.statSync(scene.dataFile).ino, fs.statSync(link).ino);
  assert.equal(await end(second, 'SIGTERM'), 0);
  assert.deepEqual(fs.readFileSync(link), before);
  scene.ledger.check(await petsAtNextStart(link));
});

test('A second process is refused, also while the first one is halted, and by another name', async (t) => {
  const scene = await openScene(t);
  const load = await scene.underLoad();
  const link = join(scene.folder, 'link.json');
  fs.linkSync(scene.dataFile, link);
  fs.symlinkSync(scene.dataFile, join(scene.folder, 'symbolic.json'));
  const refused = /^petstore: \S+\.json is in use already: another process has locked it\n$/;
  for (const signal of ['SIGCONT', 'SIGSTOP'] as const) {
    scene.service.child.kill(signal);
    for (const name of ['pets.json', 'link.json', 'symbolic.json']) {
      await assertRefused(startOn(t, join(scene.folder, name)), refused);
    }
  }
  // Another process gets a file of its own, if the first one's is removed.
  fs.rmSync(scene.dataFile);
  const second = await openScene(t, scene.folder);
  assert.equal((await second.create()).status, 201);
  scene.service.child.kill('SIGCONT');
  assert.equal(await scene.service.exit(), 1);
  await load.ended;
  const saved = scene.beside('.saved-');
  assert.equal((await second.create()).status, 201);
  assert.equal(await end(second.service, 'SIGTERM'), 0);
  await assertRefused(startOn(t, scene.dataFile), /^petstore: .* has 2 pets, .*\n$/);
  scene.ledger.check(await petsAtNextStart(saved));
  fs.rmSync(saved);
  second.ledger.check(await petsAtNextStart(scene.dataFile));
});

/** What another program does to the file right behind a write, before the store asks anything. */
const BEHIND_WRITES: readonly (readonly [what: string, meddle: (path: string) => void])[] = [
  ['cut', (path) => fs.truncateSync(path, fs.statSync(path).size - 5)],
  ['made longer', (path) => fs.appendFileSync(path, 'x')],
];

for (const [what, meddle] of BEHIND_WRITES) {
  test(`A file that is ${what} between a write and its fstat is noticed`, async (t) => {
    const path = join(tempDir(t), 'pets.json');
    let isDue = false;
    const disk = intercept(nodeDisk, ({ operation }, args, proceed) => {
      const result = proceed(...args);
      if (operation === 'writeNow' && isDue) meddle(path);
      return result;
    });
    const store = await openFileStore({ path, disk });
    await store.create(REX);
    isDue = true;
    await assert.rejects(store.create(REX), { name: 'OutcomeUnknownError' });
    await store.lost;
    assert.equal(store.durability(), 'saved file');
    await assert.rejects(store.close(), /\.saved-\S+ has all 1 acknowledged pets/);
  });
}
