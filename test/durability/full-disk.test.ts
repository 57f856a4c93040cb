/** The real process on a disk that is full, or that must not be written to. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../support/disk/temp-dir.ts';
import type { RawAnswer } from '../support/http/answers.ts';
import type { Outcome } from '../support/http/wire.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { listAllPets } from '../support/pets/pet-load.ts';
import { assertRefused, end, portOf, startOn } from '../support/process/process.ts';
import { openScene, type Scene } from './scene.ts';

const MIB: number = 1 << 20;
const DISK_BYTES: number = 2 * MIB;

/** A service on its own file system, or undefined, and the test is skipped, without one. */
async function begin(t: TestContext): Promise<(Scene & { readonly ballast: string }) | undefined> {
  const folder = mountTmpfs(t, DISK_BYTES);
  if (folder === undefined) return undefined;
  // The ballast takes room, and is removed.
  return { ...(await openScene(t, folder)), ballast: join(folder, 'ballast') };
}

test('On a full disk creates are 503 and reads go on, until there is space again', async (t) => {
  const scene = await begin(t);
  if (scene === undefined) return;
  const { dataFile, ballast, ledger, service, port, connection } = scene;
  writeFileSync(ballast, Buffer.alloc(MIB / 2));
  assertUnavailable(await createUntilFull(scene));
  assertUnavailable(await connection.send('GET', '/readyz'));
  assert.equal((await connection.send('GET', '/livez')).status, 200);
  ledger.check(await listAllPets(port));

  rmSync(ballast);
  assert.equal((await create(scene)).status, 201);
  assert.equal((await connection.send('GET', '/readyz')).status, 200);
  assertUnavailable(await createUntilFull(scene));
  assert.ok(statSync(`${dataFile}.journal`).size > MIB);
  await end(service, 'SIGKILL');
  fill(ballast);

  const second = startOn(t, dataFile);
  ledger.check(await listAllPets(await portOf(second)));
  assert.match(second.stderr(), /"level":"warn".*Cannot write a new journal.*ENOSPC/);
  // The checkpoint of the stop finds no space either: the journal has every pet.
  assert.equal(await end(second, 'SIGTERM'), 0);
  assert.ok(existsSync(`${dataFile}.journal`));

  rmSync(ballast);
  ledger.check(await petsAtNextStart(dataFile));
});

test('After a failed sync with little room, creates work as soon as there is more', async (t) => {
  const scene = await begin(t);
  if (scene === undefined) return;
  const { folder, dataFile, ballast, ledger, service, connection, setFault } = scene;
  for (let pets = 0; pets < 20; pets += 1) await create(scene);
  fill(ballast);
  // Room for the pet, and not for a copy of the journal.
  truncateSync(ballast, statSync(ballast).size - (16 << 10));
  setFault('EIO');
  assert.equal((await create(scene, 10)).status, 500);
  setFault('none');
  const { bavail } = statfsSync(folder);
  // The second try finds too little room.
  while (!(await create(scene, 10)).body.includes('bytes are needed')) await sleep(50);
  assert.ok(statfsSync(folder).bavail >= bavail, 'Nothing is filled by a try');
  rmSync(ballast);
  while ((await connection.send('GET', '/readyz')).status !== 200) await sleep(50);
  assert.equal((await create(scene)).status, 201);
  await end(service, 'SIGKILL');
  ledger.check(await petsAtNextStart(dataFile));
});

test('A read-only file system is refused in one line, with exit code 1', async (t) => {
  const folder = mountTmpfs(t, MIB);
  if (folder === undefined) return;
  const text = '[{"id":1,"name":"Rex","categoryId":7}]';
  writeFileSync(join(folder, 'pets.json'), text);
  mount('-o', 'remount,ro', folder);
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

/**
 * Mounts a small file system for the test, to fill it or to make it read-only; only root on Linux
 * can. Undefined, and the test is skipped, where that cannot be.
 */
function mountTmpfs(t: TestContext, sizeBytes: number): string | undefined {
  if (process.getuid?.() !== 0) {
    t.skip('needs root to mount a tmpfs');
    return undefined;
  }
  let mounted: string | undefined;
  // Before the hook that removes the folder. Lazily, since processes of the test may still end.
  t.after(() => mounted && execFileSync('umount', ['--lazy', mounted]));
  const path = join(tempDir(t), 'tmpfs');
  mkdirSync(path);
  try {
    mount('-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', path);
    mounted = path;
  } catch (error) {
    t.skip(`cannot mount a tmpfs: ${(error as Error).message.trim()}`);
  }
  return mounted;
}

function mount(...args: readonly string[]): void {
  execFileSync('mount', args, { stdio: 'pipe' });
}

async function create(scene: Scene, maxPaddingBytes = 40_000): Promise<RawAnswer> {
  scene.ledger.maxPaddingBytes = maxPaddingBytes;
  const outcome = await scene.create();
  assert.ok(outcome.status !== 'cut');
  return outcome;
}

/** The first outcome that is not a 201. */
async function createUntilFull(scene: Scene): Promise<Outcome> {
  for (;;) {
    const outcome = await create(scene);
    if (outcome.status !== 201) return outcome;
  }
}

/** Takes all the space that is left: the write before the one that fails is short. */
function fill(path: string): void {
  assert.throws(() => appendFileSync(path, Buffer.alloc(DISK_BYTES)), { code: 'ENOSPC' });
}

function assertUnavailable(outcome: Outcome): void {
  assert.ok(outcome.status === 503, `${outcome.status}`);
  assert.ok(Number(outcome.headers.get('retry-after')) > 0);
  const { message, ...rest } = JSON.parse(outcome.body) as { message: string };
  assert.deepEqual(rest, { code: 'unavailable', status: 503 });
  assert.match(message, /ENOSPC/);
}
