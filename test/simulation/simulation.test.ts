/**
 * The store in a simulation: every operation fails, every moment is the last one, and whatever was
 * answered or seen is there afterwards.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import * as broken from './broken-disks.ts';
import { changeFile, syncFile, type DiskImage } from './disk-image.ts';
import {
  DATA_FILE,
  growLongJournal,
  JOURNAL,
  Life,
  liveOnLongJournal,
  liveShortly,
  type Wrap,
} from './life.ts';
import { Model, type Knowledge } from './model.ts';
import { Simulation } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';
import { plainEnds } from './survival.ts';

const KINDS: readonly Fault['kind'][] = ['EIO', 'ENOSPC', 'EROFS', 'short'];

function expectSound(t: TestContext, { cases, starts, complaints }: Simulation): void {
  t.diagnostic(`${cases} cases, ${starts} of them different`);
  assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
}

test('Nothing is lost when the process or the power ends at any operation, twice', async (t) => {
  const simulation = new Simulation(liveShortly);
  await simulation.crashEverywhere();
  expectSound(t, simulation);
});

for (const lasts of ['once', 'for ever'] as const) {
  test(`Nothing is lost when any operation fails ${lasts} and all ends later`, async (t) => {
    const simulation = new Simulation(liveShortly);
    await simulation.failEverywhere(KINDS, lasts);
    expectSound(t, simulation);
  });
}

test('Nothing is lost when the journal has room beyond its commits', async (t) => {
  // Room for some lines, so that lines both fall into it and need more.
  const simulation = new Simulation(liveShortly, { reserveBytes: 700 });
  await simulation.crashEverywhere();
  await simulation.failEverywhere(['EIO', 'short'], 'once');
  expectSound(t, simulation);
});

test('Nothing is lost when a start with a long journal ends or fails at any operation', async (t) => {
  const { image, known } = await longJournal();
  const options = { image, known, ends: plainEnds, depth: 0 };
  const simulation = new Simulation(liveOnLongJournal, options);
  await simulation.crashEverywhere();
  await simulation.failEverywhere(['EIO'], 'once');
  await simulation.failEverywhere(['ENOSPC'], 'for ever');
  expectSound(t, simulation);
});

test('A start succeeds on a full disk, be the journal short or long', async () => {
  for (const { image, known } of [await shortJournal(), await longJournal()]) {
    const fault: Fault = { at: 0, kind: 'ENOSPC', lasts: 'for ever' };
    const life = new Life({ image, model: new Model(known), fault });
    await life.start();
    assert.equal(life.startError, undefined);
    await life.create(3);
    assert.deepEqual(life.complaints, []);
    assert.equal(life.model.petCount, known.pets.length);
  }
});

test('A flipped bit in either file is refused and left as it is, or changes no pet', async () => {
  for (const complaint of await flipEveryByte((disk) => disk)) assert.fail(complaint);
});

test('The simulation catches a store that accepts a wrong CRC', async () => {
  const complaints = await flipEveryByte(broken.acceptWrongCrc);
  assert.match(complaints[0] ?? 'nothing', /shows the wrong pets/);
});

const CRASHES: readonly [what: string, wrap: Wrap][] = [
  ['does not sync the journal', broken.skipJournalSync],
  ['does not sync the new snapshot', broken.skipSnapshotSync],
  ['does not sync the directory', broken.skipDirectorySync],
  ['answers before the sync', broken.answerBeforeSync],
  ['removes the journal before the new snapshot has its name', broken.removeJournalFirst],
  ['shows unsynced pets after a start', broken.skipSyncAtRecovery],
];

for (const [what, wrap] of CRASHES) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    const simulation = new Simulation(liveShortly, { wrap, stopsEarly: true });
    await simulation.crashEverywhere();
    expectCaught(t, simulation);
  });
}

const FAULTS: typeof CRASHES = [
  ['tries a failed sync again', broken.retryFailedSync],
  ['does not take back what failed', broken.skipTakeBack],
  ['believes a sync after a failed one, at the next start', broken.skipRewriteAtRecovery],
];

for (const [what, wrap] of FAULTS) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    const simulation = new Simulation(liveShortly, { wrap, stopsEarly: true });
    await simulation.crashEverywhere();
    assert.deepEqual(simulation.complaints, [], 'It takes a failing disk to tell');
    await simulation.failEverywhere(['EIO', 'short'], 'once');
    expectCaught(t, simulation);
  });
}

function expectCaught(t: TestContext, { complaints }: Simulation): void {
  assert.notEqual(complaints.length, 0);
  t.diagnostic(complaints[0]!);
}

interface Found {
  readonly image: DiskImage;
  readonly known: Knowledge;
}

/** More than enough for a checkpoint at the next start. */
async function longJournal(): Promise<Found> {
  const life = new Life();
  await growLongJournal(life);
  return { image: life.disk.image, known: life.model.knowledge() };
}

/** Pets in the snapshot and in the journal, all durable. */
async function shortJournal(): Promise<Found> {
  const life = new Life();
  await life.start();
  await life.create(3, 30);
  await life.stop();
  await life.start();
  await life.create(3);
  await life.create(3, 3, 3);
  return { image: life.disk.image, known: life.model.knowledge() };
}

/** Starts with one bit of each byte flipped in turn; returns what is wrong with that. */
async function flipEveryByte(wrap: Wrap): Promise<readonly string[]> {
  const { image, known } = await shortJournal();
  const complaints: string[] = [];
  for (const path of [DATA_FILE, JOURNAL]) {
    const id = image.names.get(path)!;
    const { cached } = image.files.get(id)!;
    for (const at of cached.keys()) {
      const flipped = Buffer.from(cached);
      flipped[at]! ^= 1 << (at % 8);
      const damaged = syncFile(changeFile(image, id, 0, flipped), id);
      const life = new Life({ image: damaged, model: new Model(known), wrap });
      await life.start();
      for (const complaint of life.complaints) complaints.push(`${path}, byte ${at}: ${complaint}`);
      const { names, files } = life.disk.image;
      const isAsItWas = names.size === image.names.size && files.get(id)!.cached.equals(flipped);
      if (!life.isUp && !isAsItWas) complaints.push(`${path}, byte ${at}: the file was changed`);
    }
  }
  return complaints;
}
