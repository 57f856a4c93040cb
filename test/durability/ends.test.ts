/**
 * The end of a real process in each state of its file log: it is killed, stopped by SIGTERM, or
 * stopped while a sync hangs. Exit code 0 means that the next start, or the saved file that the log
 * names, has every acknowledged pet.
 */

import assert from 'node:assert/strict';
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../support/disk/temp-dir.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { end, logged } from '../support/process/process.ts';
import { openScene, type Scene } from './scene.ts';

/** A service with two pets in its journal. */
async function begin(t: TestContext, faster = 1): Promise<Scene> {
  const scene = await openScene(t, tempDir(t), faster);
  for (let pets = 0; pets < 2; pets += 1) assert.equal((await scene.create()).status, 201);
  return scene;
}

/** Which file has the acknowledged pets; undefined if the process said that no file has them. */
type Where = 'data file' | 'saved file' | undefined;

interface Row {
  readonly state: string;
  enter(scene: Scene): Promise<unknown>;
  /** Enters the state with a sync that hangs, or will hang at the stop. */
  hang(scene: Scene): Promise<unknown>;
  readonly where: Where;
  /** The exit code after a SIGTERM. */
  readonly stopped: number;
  /** If a sync hangs: the exit code, and what the log says of the pets. */
  readonly hung: readonly [code: number, pets: string, where: Where];
}

const ROWS: readonly Row[] = [
  {
    state: 'working',
    enter: async () => undefined,
    async hang({ dataFile, setFault, create }) {
      const sizeOf = (): number => statSync(`${dataFile}.journal`).size;
      const before = sizeOf();
      setFault('hang');
      void create();
      while (sizeOf() === before) await sleep(5);
    },
    ...{ where: 'data file', stopped: 0, hung: [1, 'unknown', 'data file'] },
  },
  {
    state: 'repairing',
    enter: repairing,
    async hang(scene) {
      await repairing(scene);
      scene.setFault('hang');
    },
    ...{ where: 'data file', stopped: 0, hung: [0, 'journal', 'data file'] },
  },
  {
    state: 'readOnly',
    async enter(scene) {
      replaceJournal(scene);
      assert.equal((await scene.create()).status, 503);
      await logged(scene.service, 'Saved all acknowledged pets');
    },
    async hang(scene) {
      scene.setFault('hang');
      replaceJournal(scene);
      await logged(scene.service, 'The store has become read-only');
    },
    ...{ where: 'saved file', stopped: 0, hung: [1, 'memory', undefined] },
  },
  {
    state: 'closing',
    enter: closing,
    hang: closing,
    // By a second signal.
    ...{ where: 'data file', stopped: 1, hung: [0, 'journal', 'data file'] },
  },
];

async function repairing({ setFault, create }: Scene): Promise<void> {
  setFault('EIO');
  assert.equal((await create()).status, 500);
  assert.equal((await create()).status, 503);
}

async function closing({ dataFile, setFault, service }: Scene): Promise<void> {
  setFault('hang');
  service.child.kill('SIGTERM');
  // On a busy machine the deadline may come first.
  const hasEnded = (): boolean => service.child.exitCode !== null;
  const isUnfinished = (): boolean =>
    readdirSync(dirname(dataFile)).some((name) => name.includes('.unfinished-'));
  while (!isUnfinished() && !hasEnded()) await sleep(5);
}

function replaceJournal({ dataFile }: Scene): void {
  writeFileSync(`${dataFile}.other`, 'a note of another program');
  renameSync(`${dataFile}.other`, `${dataFile}.journal`);
}

/** How much faster the timers of a process run that has to reach the deadlines of a stop. */
const FASTER = 20;

for (const row of ROWS) {
  test(`A process that ends while ${row.state} loses no acknowledged pet`, async (t) => {
    const signalled = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
      const scene = await begin(t);
      await row.enter(scene);
      const code = await end(scene.service, signal);
      if (signal === 'SIGTERM') assert.equal(code, row.stopped, scene.service.stderr());
      await assertAllThere(scene, row.where);
    };
    const hung = async (): Promise<void> => {
      const scene = await begin(t, FASTER);
      const { service } = scene;
      await row.hang(scene);
      if (row.state !== 'closing') service.child.kill('SIGTERM');
      const [code, pets, where] = row.hung;
      assert.equal(await service.exit(), code, service.stderr());
      const deadlineMs = pets === 'memory' ? 70_000 : 10_000;
      const ending = `"deadlineMs":${deadlineMs},"pets":"${pets}"}`;
      assert.ok(service.stderr().includes(ending), service.stderr());
      await assertAllThere(scene, where);
    };
    await Promise.all([signalled('SIGKILL'), signalled('SIGTERM'), hung()]);
  });
}

/** The file has every acknowledged pet, and at most the one in doubt in addition. */
async function assertAllThere(scene: Scene, where: Where): Promise<void> {
  if (where === undefined) return;
  const { ledger, dataFile, service } = scene;
  const [, saved] = /"Saved all acknowledged pets.*?"file":"([^"]+)"/.exec(service.stderr()) ?? [];
  if (where === 'saved file') {
    renameSync(saved ?? '', dataFile);
    rmSync(`${dataFile}.journal`);
  }
  const found = await petsAtNextStart(dataFile);
  ledger.check(found);
  assert.ok(found.length <= ledger.answered + 1, `${found.length} pets`);
}
