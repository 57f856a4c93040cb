/**
 * What another program does to the files of a store on the real file system, where only the system
 * says what has changed. The store notices it, acknowledges nothing from then on, and overwrites
 * nothing of others: it writes a new data file, or it saves all pets to another file and ends. No
 * acknowledged pet is lost. What happens at each operation is in test/simulation/meddling.ts.
 */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFileStore, type FileStore } from '../../src/core/store/file-store.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { REX } from '../support/pets/rex.ts';
import { assertRefused, end, startOn } from '../support/process/process.ts';
import { until } from '../support/until.ts';
import { openScene } from './scene.ts';

/** More than a tick of any file system's clock: an edit within one is not noticed. */
const TICK_MS = 20;

/** Where the store is. `copy` is a copy of the data file, one pet older. */
interface Site {
  readonly folder: string;
  readonly path: string;
  readonly copy: string;
  readonly store: FileStore;
}

/** What is done, and whether the store goes on with all its pets, or saves them and ends. */
const MEDDLINGS: readonly (readonly [
  what: string,
  meddle: (site: Site) => unknown,
  then: 'goes on' | 'ends',
])[] = [
  ['touched', ({ path }) => fs.utimesSync(path, 1, 1), 'goes on'],
  ['cut', ({ path }) => fs.truncateSync(path, fs.statSync(path).size - 40), 'ends'],
  ['emptied', ({ path }) => fs.truncateSync(path), 'ends'],
  ['made longer', ({ path }) => fs.appendFileSync(path, ' '), 'ends'],
  ['changed by a letter', changeLetter, 'ends'],
  ['overwritten by an older copy', ({ path, copy }) => fs.copyFileSync(copy, path), 'ends'],
  ['replaced by an older copy', ({ path, copy }) => fs.renameSync(copy, path), 'ends'],
  ['removed', ({ path }) => fs.rmSync(path), 'goes on'],
  ['moved away', ({ path }) => fs.renameSync(path, `${path}.bak`), 'goes on'],
  ['given a second link', ({ path }) => fs.linkSync(path, `${path}.link`), 'goes on'],
  ['moved away with its folder, and back', moveFolder, 'goes on'],
  ['moved away with its folder, for another one', replaceFolder, 'ends'],
  ['removed with its folder', ({ folder }) => fs.rmSync(folder, { recursive: true }), 'ends'],
];

function changeLetter({ path }: Site): void {
  const file = fs.openSync(path, 'r+');
  fs.writeSync(file, 'T', fs.readFileSync(path, 'latin1').indexOf('Rex'), 'latin1');
  fs.closeSync(file);
}

async function moveFolder({ folder, store }: Site): Promise<void> {
  fs.renameSync(folder, `${folder}-moved`);
  await assert.rejects(store.create(REX), { name: 'StoreUnavailableError' });
  fs.renameSync(`${folder}-moved`, folder);
  await until(() => store.state === 'working');
}

function replaceFolder({ folder }: Site): void {
  fs.renameSync(folder, `${folder}-moved`);
  fs.mkdirSync(folder);
}

/** The content, or undefined if there is no file. */
function contentOf(path: string): string | undefined {
  return fs.existsSync(path) ? fs.readFileSync(path, 'latin1') : undefined;
}

const idsIn = (path: string): readonly number[] =>
  (JSON.parse(fs.readFileSync(path, 'utf8')) as { readonly id: number }[]).map(({ id }) => id);

for (const [what, meddle, then] of MEDDLINGS) {
  test(`A store whose data file is ${what} ${then}, and no pet is lost`, async (t) => {
    const folder = join(tempDir(t), 'data');
    const [path, copy] = [join(folder, 'pets.json'), join(folder, 'copy.json')];
    const store = await openFileStore({ path });
    await store.create(REX);
    fs.copyFileSync(path, copy);
    await store.create(REX);
    await sleep(TICK_MS);
    await meddle({ folder, path, copy, store });
    if (then === 'goes on') {
      await store.create(REX);
      // As after a kill -9.
      assert.deepEqual(idsIn(path), [1, 2, 3]);
      return store.close();
    }
    const left = contentOf(path);
    await assert.rejects(store.create(REX), { name: 'StoreUnavailableError' });
    await store.lost;
    assert.equal(store.durability(), 'saved file');
    await assert.rejects(store.close(), /\.saved-\S+ has all 2 acknowledged pets/);
    const [saved = '', ...others] = fs.readdirSync(folder).filter((name) => /saved/.test(name));
    assert.deepEqual([idsIn(join(folder, saved)), others], [[1, 2], []]);
    assert.equal(contentOf(path), left);
  });
}

test('A service under load whose data file is removed goes on, and no pet is lost', async (t) => {
  const { service, dataFile, ledger, underLoad } = await openScene(t);
  const load = await underLoad();
  fs.rmSync(dataFile);
  // More than were in progress meanwhile.
  await load.answered(40);
  assert.equal(await end(service, 'SIGKILL'), 'SIGKILL');
  await load.ended;
  ledger.check(await petsAtNextStart(dataFile));
});

test('A service under load whose data file is replaced ends, and saves its pets', async (t) => {
  const scene = await openScene(t);
  const { service, dataFile, ledger } = scene;
  const load = await scene.underLoad();
  fs.copyFileSync(dataFile, `${dataFile}.copy`);
  await load.answered(20);
  fs.renameSync(`${dataFile}.copy`, dataFile);
  assert.equal(await service.exit(), 1, service.stderr());
  await load.ended;
  const saved = scene.beside('.saved-');
  assert.ok(service.stderr().includes(`"file":"${saved}"`), service.stderr());
  for (const line of service.stderr().trim().split('\n')) JSON.parse(line);
  const there = fs.readFileSync(dataFile);
  const line = /^petstore: Pets were saved to another file\. .* give it the name.*\n$/;
  await assertRefused(startOn(t, dataFile), line);
  assert.deepEqual(fs.readFileSync(dataFile), there);
  // As the message says.
  fs.renameSync(saved, dataFile);
  ledger.check(await petsAtNextStart(dataFile));
});

test('A link that a backup made is not written to by the next start', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  const link = join(tempDir(t), 'pets.json');
  const store = await openFileStore({ path });
  await store.create(REX);
  fs.linkSync(path, link);
  await store.close();
  const before = fs.readFileSync(link);
  const next = await openFileStore({ path });
  await next.create(REX);
  await next.close();
  assert.deepEqual(fs.readFileSync(link), before);
  assert.deepEqual([idsIn(link), idsIn(path)], [[1], [1, 2]]);
});

test('A halted process keeps its lock, and another one gets a file of its own if that is removed', async (t) => {
  const scene = await openScene(t);
  const load = await scene.underLoad();
  scene.service.child.kill('SIGSTOP');
  const refused =
    /^petstore: \S+\.json is in use already: another process, or another app of this one, has locked it\n$/;
  await assertRefused(startOn(t, scene.dataFile), refused);
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
