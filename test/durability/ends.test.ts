/**
 * How a real process ends while a call of its disk hangs, and what its last line says. What a kill
 * leaves is in test/simulation and kill.test.ts; a stop that succeeds is in restarts.test.ts, and
 * one that fails in test/process.
 */

import assert from 'node:assert/strict';
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { petsAtNextStart } from '../support/pets/next-start.ts';
import { end, logged } from '../support/process/process.ts';
import { until } from '../support/until.ts';
import { openScene, PATIENT, type Scene } from './scene.ts';

/**
 * How the process is brought into the state, and what its last line says. A disk that hangs keeps a
 * process from its end: then it kills itself.
 */
type Row = readonly [state: string, enter: (scene: Scene) => unknown, last: string];

const TIMED_OUT = '"event":"Graceful shutdown timed out","seconds":10';

const ROWS: readonly Row[] = [
  ['syncs without end', hang, `${TIMED_OUT},"where":"data file"`],
  ['saves without end', save, `${TIMED_OUT},"where":"memory"`],
  ['gets a second signal, and has no reader of its log', signalTwice, ''],
];

async function hang({ dataFile, setFault, create }: Scene): Promise<void> {
  const before = statSync(dataFile).size;
  setFault('hang');
  void create();
  await until(() => statSync(dataFile).size > before);
}

async function save({ dataFile, setFault, service }: Scene): Promise<void> {
  setFault('hang');
  writeFileSync(`${dataFile}.other`, NOTE);
  renameSync(`${dataFile}.other`, dataFile);
  await logged(service, '"The store has ended"');
}

/** The second one comes during the sync of the stop, which hangs. */
async function signalTwice({ dataFile, setFault, service }: Scene): Promise<void> {
  service.child.stderr.destroy();
  const wordOf = (): string => readFileSync(dataFile, 'latin1').split('\n', 1)[0]!;
  const before = wordOf();
  setFault('hang');
  service.child.kill('SIGINT');
  await until(() => wordOf() !== before);
}

const NOTE = 'a note of another program';
/** Only hanging calls have to reach the deadline of a stop. */
const FASTER = 20;

for (const [state, enter, last] of ROWS) {
  test(`A process that ${state} when SIGTERM comes kills itself, and loses no pet`, async (t) => {
    const scene = await openScene(t, tempDir(t), last.includes(TIMED_OUT) ? FASTER : PATIENT);
    const { service, ledger, dataFile } = scene;
    for (let count = 0; count < 2; count += 1) assert.equal((await scene.create()).status, 201);
    await enter(scene);
    assert.equal(await end(service, 'SIGTERM'), 'SIGKILL', service.stderr());
    const lines = service.stderr().trimEnd().split('\n');
    assert.ok(lines.at(-1)!.includes(last), service.stderr());
    if (last.includes('memory')) return assert.equal(readFileSync(dataFile, 'utf8'), NOTE);
    const found = await petsAtNextStart(dataFile);
    ledger.check(found);
    // At most the one in doubt in addition.
    assert.ok(found.length <= ledger.answered + 1, `${found.length} pets`);
  });
}
