/**
 * The end of a real process while its file log repairs, or a sync hangs: it is killed, or stopped
 * by SIGTERM. Exit code 0 means that the next start has every acknowledged pet.
 */

import assert from 'node:assert/strict';
import { readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { end, logged } from '../support/process/process.ts';
import { until } from '../support/until.ts';
import { openScene, PATIENT, type Scene } from './scene.ts';

/**
 * How the process is brought into the state; its exit code after a SIGTERM, or how it is killed;
 * and what its log says of the pets if it reaches the deadline.
 */
type Row = readonly [
  state: string,
  enter: (scene: Scene) => unknown,
  code: 0 | 1 | 'SIGKILL',
  pets?: 'unknown' | 'journal' | 'memory',
];

const ROWS: readonly Row[] = [
  ['syncing a commit without end', hangInCommit, 1, 'unknown'],
  ['repairing', repair, 'SIGKILL'],
  ['repairing', repair, 0],
  ['repairing without end', hangInRepair, 0, 'journal'],
  ['saving without end', hangInSave, 1, 'memory'],
  ['closing', close, 'SIGKILL'],
  // By a second signal.
  ['closing', close, 1],
  ['working, and its close has no end', ({ setFault }) => setFault('hang'), 0, 'journal'],
];

async function hangInCommit({ dataFile, setFault, create }: Scene): Promise<void> {
  const sizeOf = (): number => statSync(`${dataFile}.journal`).size;
  const before = sizeOf();
  setFault('hang');
  void create();
  await until(() => sizeOf() > before);
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

async function hangInSave(scene: Scene): Promise<void> {
  scene.setFault('hang');
  writeFileSync(`${scene.dataFile}.other`, 'a note of another program');
  renameSync(`${scene.dataFile}.other`, `${scene.dataFile}.journal`);
  await logged(scene.service, 'The store has become read-only');
}

async function close({ dataFile, setFault, service }: Scene): Promise<void> {
  setFault('hang');
  service.child.kill('SIGTERM');
  await until(() => readdirSync(dirname(dataFile)).some((name) => name.includes('.unfinished-')));
}

/** How much faster the timers of a process run that has to reach the deadlines of a stop. */
const FASTER = 20;

for (const [state, enter, code, pets] of ROWS) {
  test(`A process that ends with ${code} while ${state} loses no acknowledged pet`, async (t) => {
    const scene = await openScene(t, tempDir(t), pets === undefined ? PATIENT : FASTER);
    const { service, ledger, dataFile } = scene;
    for (let count = 0; count < 2; count += 1) assert.equal((await scene.create()).status, 201);
    await enter(scene);
    const ended = await end(service, code === 'SIGKILL' ? code : 'SIGTERM');
    assert.equal(ended, code, service.stderr());
    const deadlineMs = pets === 'memory' ? 70_000 : 10_000;
    const ending = pets === undefined ? '' : `"deadlineMs":${deadlineMs},"pets":"${pets}"}`;
    assert.ok(service.stderr().includes(ending), service.stderr());
    // The process has said that no file has them.
    if (pets === 'memory') return;
    const found = await petsAtNextStart(dataFile);
    ledger.check(found);
    // At most the one in doubt in addition.
    assert.ok(found.length <= ledger.answered + 1, `${found.length} pets`);
  });
}
