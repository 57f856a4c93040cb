/** The real process on a disk that is full, or that must not be written to. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import type { Outcome } from '../support/http/wire.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { listAllPets } from '../support/pets/pet-load.ts';
import { assertRefused, end, portOf, startFaulty, startOn } from '../support/process/process.ts';
import { openScene, PATIENT, type Scene } from './scene.ts';

const MIB: number = 1 << 20;
const DISK_BYTES: number = 2 * MIB;

test('On a full disk creates are 503 and reads go on, until there is space again', async (t) => {
  const folder = mountTmpfs(t, DISK_BYTES);
  if (folder === undefined) return;
  const scene = await openScene(t, folder);
  const { dataFile, ledger, service, port, connection } = scene;
  ledger.maxPaddingBytes = 40_000;
  // It takes room, and is removed.
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(MIB / 2));
  assertUnavailable(await createUntilFull(scene));
  assertUnavailable(await connection.send('GET', '/readyz'));
  assert.equal((await connection.send('GET', '/livez')).status, 200);
  ledger.check(await listAllPets(port));

  rmSync(ballast);
  assert.equal((await scene.create()).status, 201);
  assert.equal((await connection.send('GET', '/readyz')).status, 200);
  assertUnavailable(await createUntilFull(scene));
  assert.ok(statSync(`${dataFile}.journal`).size > MIB);
  await end(service, 'SIGKILL');
  fill(ballast);

  const second = startFaulty(t, dataFile, PATIENT).service;
  ledger.check(await listAllPets(await portOf(second)));
  assert.match(second.stderr(), /"level":"warn".*Cannot write a new journal.*ENOSPC/);
  // The checkpoint of the stop finds no space either: the journal has every pet.
  assert.equal(await end(second, 'SIGTERM'), 0);
  assert.ok(existsSync(`${dataFile}.journal`));

  rmSync(ballast);
  ledger.check(await petsAtNextStart(dataFile));
});

test('A read-only file system is refused in one line, with exit code 1', async (t) => {
  const folder = mountTmpfs(t, MIB);
  if (folder === undefined) return;
  const text = '[{"id":1,"name":"Rex","categoryId":7}]';
  writeFileSync(join(folder, 'pets.json'), text);
  mount('-o', 'remount,ro', folder);
  await assertRefused(startOn(t, join(folder, 'pets.json')), /^petstore: .*read-only.*\n$/);
  assert.equal(readFileSync(join(folder, 'pets.json'), 'utf8'), text);
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

/** The first outcome that is not a 201. */
async function createUntilFull(scene: Scene): Promise<Outcome> {
  for (;;) {
    const outcome = await scene.create();
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
