/**
 * A real process that is stopped by SIGTERM in each state of its file log, also while a sync hangs.
 * Exit code 0 means that the next start, or the saved file that the log names, has every
 * acknowledged pet.
 */

import assert from 'node:assert/strict';
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../support/disk/temp-dir.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { logged } from '../support/process/process.ts';
import { openScene, type Scene } from './scene.ts';

/** How the process is brought into the state, its exit code, and what its log says of the pets. */
type Row = readonly [
  state: string,
  enter: (scene: Scene) => unknown,
  code: number,
  pets?: 'unknown' | 'journal' | 'memory',
];

const ROWS: readonly Row[] = [
  ['the sync of a commit hangs', hangInCommit, 1, 'unknown'],
  ['the sync of its close hangs', ({ setFault }) => setFault('hang'), 0, 'journal'],
  ['it closes already', closeOnce, 1],
  ['it repairs its journal', repair, 0],
  ['it repairs its journal, and a sync hangs', hangInRepair, 0, 'journal'],
  ['it is read-only', save, 0],
  ['it is read-only, and a sync hangs', hangInSave, 1, 'memory'],
];

async function hangInCommit({ dataFile, setFault, create }: Scene): Promise<void> {
  const sizeOf = (): number => statSync(`${dataFile}.journal`).size;
  const before = sizeOf();
  setFault('hang');
  void create();
  while (sizeOf() === before) await sleep(5);
}

async function closeOnce({ dataFile, setFault, service }: Scene): Promise<void> {
  setFault('hang');
  service.child.kill('SIGTERM');
  // On a busy machine the deadline may come first.
  const hasEnded = (): boolean => service.child.exitCode !== null;
  const isUnfinished = (): boolean =>
    readdirSync(dirname(dataFile)).some((name) => name.includes('.unfinished-'));
  while (!isUnfinished() && !hasEnded()) await sleep(5);
}

async function repair({ setFault, create }: Scene): Promise<void> {
  setFault('EIO');
  assert.equal((await create()).status, 500);
  assert.equal((await create()).status, 503);
}

async function hangInRepair(scene: Scene): Promise<void> {
  await repair(scene);
  scene.setFault('hang');
}

async function save(scene: Scene): Promise<void> {
  replaceJournal(scene);
  await logged(scene.service, 'Saved all acknowledged pets');
  assert.equal((await scene.create()).status, 503);
}

async function hangInSave(scene: Scene): Promise<void> {
  scene.setFault('hang');
  replaceJournal(scene);
  await logged(scene.service, 'The store has become read-only');
}

function replaceJournal({ dataFile }: Scene): void {
  writeFileSync(`${dataFile}.other`, 'a note of another program');
  renameSync(`${dataFile}.other`, `${dataFile}.journal`);
}

/** How much faster the timers of the process run, which has to reach the deadlines of a stop. */
const FASTER = 20;

for (const [state, enter, code, pets] of ROWS) {
  test(`A process that is stopped while ${state} ends with ${code}, and loses no pet`, async (t) => {
    const scene = await openScene(t, tempDir(t), FASTER);
    const { service, ledger, dataFile } = scene;
    for (let count = 0; count < 2; count += 1) assert.equal((await scene.create()).status, 201);
    await enter(scene);
    service.child.kill('SIGTERM');
    assert.equal(await service.exit(), code, service.stderr());
    const deadlineMs = pets === 'memory' ? 70_000 : 10_000;
    const ending = pets === undefined ? '' : `"deadlineMs":${deadlineMs},"pets":"${pets}"}`;
    assert.ok(service.stderr().includes(ending), service.stderr());
    // The process has said that no file has them.
    if (pets === 'memory') return;
    const [, saved] =
      /"Saved all acknowledged pets.*?"file":"([^"]+)"/.exec(service.stderr()) ?? [];
    if (saved !== undefined) {
      renameSync(saved, dataFile);
      rmSync(`${dataFile}.journal`);
    }
    const found = await petsAtNextStart(dataFile);
    ledger.check(found);
    // At most the one in doubt in addition.
    assert.ok(found.length <= ledger.answered + 1, `${found.length} pets`);
  });
}
