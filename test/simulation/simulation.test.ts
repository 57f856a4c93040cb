/**
 * The store in a simulation: every operation fails, every moment is the last one, memory gives out,
 * others meddle; and whatever was answered or seen is there afterwards, and nothing that was
 * refused.
 */

import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import { KeyTable } from '../../src/stores/idempotency/key-table.ts';
import { PetTable } from '../../src/stores/table/pet-table.ts';
import { SnapshotText } from '../../src/stores/file/snapshot.ts';
import { rounds } from '../support/extent.ts';
import * as broken from './broken-disks.ts';
import { FOLDER, overwriteFile, type DiskImage } from './disk-image.ts';
import {
  DATA_FILE,
  growLongJournal,
  JOURNAL,
  KEYS,
  Life,
  liveInDoubt,
  liveOnce,
  liveOnLongJournal,
  liveShortly,
  LOCK,
  type LifeOptions,
  type Wrap,
} from './life.ts';
import { Model, type Knowledge } from './model.ts';
import { Simulation, type Script, type Tried } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';
import { plainEnds } from './survival.ts';

/** Once, any code is as good as another. */
const KINDS: Readonly<Record<'once' | 'for ever', readonly Fault['kind'][]>> = {
  once: ['EIO', 'short', 'late'],
  'for ever': ['EIO', 'ENOSPC', 'EROFS', 'short', 'late'],
};
/** Different faults lead to the same files. */
const tried: Tried = new Map();
/** Enough for a checkpoint at a start. */
const LONG = 1000;
/** A checkpoint is tried before a copy. */
const CHECKPOINTS = -1;

const all = { cases: 0, different: 0, breaks: 0 };
after(() => {
  const { cases, different, breaks } = all;
  console.log(`Simulation: ${cases} cases, ${different} different ones; ${breaks} breaks caught`);
});

function expectSound(t: TestContext, { cases, starts, complaints }: Simulation): void {
  all.cases += cases;
  all.different += starts;
  t.diagnostic(`${cases} cases, ${starts} of them different`);
  assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
}

test('Nothing is lost when the process or the power ends at any operation, twice', async (t) => {
  const simulation = new Simulation(liveShortly, { tried });
  await simulation.crashEverywhere();
  expectSound(t, simulation);
});

for (const lasts of ['once', 'for ever'] as const) {
  for (const kind of KINDS[lasts]) {
    test(`Nothing is lost when any operation fails with ${kind}, ${lasts}`, async (t) => {
      const simulation = new Simulation(liveShortly, { tried });
      await simulation.failEverywhere([kind], lasts);
      expectSound(t, simulation);
    });
  }

  test(`Nothing is lost when memory fails at any request, ${lasts}`, async (t) => {
    const simulation = new Simulation(liveOnce, { tried });
    await simulation.failMemoryEverywhere(lasts);
    expectSound(t, simulation);
  });
}

test('Nothing is lost when a start with a long journal ends or fails at any operation', async (t) => {
  const { image, known } = await longJournal();
  const options = { image, known, ends: plainEnds, longJournalBytes: LONG };
  const simulation = new Simulation(liveOnLongJournal, options);
  await simulation.crashEverywhere();
  await simulation.failEverywhere(['EIO', 'late'], 'once');
  await simulation.failEverywhere(['ENOSPC', 'EROFS'], 'for ever');
  await simulation.failMemoryEverywhere('once');
  expectSound(t, simulation);
});

test('A pet with a key is there once when two operations fail, and its client tries again', async (t) => {
  const simulation = new Simulation(liveInDoubt, { ends: plainEnds });
  await simulation.failEverywhere(['EIO'], 'twice');
  expectSound(t, simulation);
});

test('Nothing is lost when any operation fails, and checkpoints are tried before copies', async (t) => {
  const options = { longJournalBytes: CHECKPOINTS };
  const simulation = new Simulation(liveInDoubt, options);
  await simulation.failEverywhere(['EIO', 'late'], 'once');
  expectSound(t, simulation);
});

test('A key in doubt is decided by its own client, with nobody else there', async () => {
  const plain = new Life();
  await liveInDoubt(plain);
  let decided = 0;
  for (const [at, { kind, path }] of plain.operations.entries()) {
    if (kind !== 'sync' || path !== JOURNAL) continue;
    const life = new Life({ fault: { at, kind: 'EIO', lasts: 'twice' } });
    await life.start();
    await life.createOnce(3);
    await life.createOnce(3);
    const unanswered = life.model.clients.filter(({ id }) => id === undefined);
    assert.deepEqual([unanswered, life.complaints], [[], []]);
    decided += life.model.unknownCount;
  }
  assert.ok(decided > 0);
});

/** Steps the clock before each operation in turn, with a kill right there or later on. */
async function stepClockEverywhere(
  script: Script,
  fault?: Omit<Fault, 'at'>,
  options: LifeOptions = {},
): Promise<{ readonly cases: number; readonly complaints: readonly string[] }> {
  const plain = new Life();
  await script(plain);
  const complaints: string[] = [];
  let cases = 0;
  for (const at of plain.operations.keys()) {
    for (const hours of [-25, 25]) {
      cases += 1;
      const clockStep = { at, ms: hours * 3_600_000 };
      const life = new Life({ ...options, clockStep, fault: fault && { at, ...fault } });
      await script(life);
      const { kind, path } = plain.operations[at]!;
      for (const complaint of life.complaints) {
        complaints.push(`${hours} hours before ${at}, ${kind} ${path}: ${complaint}`);
      }
    }
  }
  return { cases, complaints };
}

const CLOCK_FAULTS: readonly (Omit<Fault, 'at'> | undefined)[] = [
  undefined,
  { kind: 'EIO', lasts: 'once' },
  { kind: 'EIO', lasts: 'twice' },
  { kind: 'late', lasts: 'once' },
];

test('A clock stepped by 25 hours at any operation forgets no key, and stores no second pet', async (t) => {
  let count = 0;
  for (const script of [liveShortly, liveInDoubt]) {
    for (const fault of CLOCK_FAULTS) {
      const { cases, complaints } = await stepClockEverywhere(script, fault);
      count += cases;
      assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
    }
  }
  all.cases += count;
  t.diagnostic(`${count} cases`);
});

test('The simulation catches a store that ages keys by the time of day', async (t) => {
  const options = { agesByTimeOfDay: true };
  expectCaught(t, (await stepClockEverywhere(liveInDoubt, undefined, options)).complaints);
});

test('A start succeeds on a full disk, be the journal short or long', async () => {
  for (const longJournalBytes of [LONG, Infinity]) {
    const { image, known } = await longJournal();
    const fault: Fault = { at: 0, kind: 'ENOSPC', lasts: 'for ever' };
    const life = new Life({ image, model: new Model(known), fault, longJournalBytes });
    await life.start();
    assert.equal(life.startError, undefined);
    await life.create(3);
    assert.deepEqual(life.complaints, []);
    assert.equal(life.model.petCount, known.pets.length);
  }
});

test('A create that fails is refused, or unknown, and never anything else', async () => {
  const plain = new Life();
  await liveOnce(plain);
  let refused = 0;
  let unknown = 0;
  for (const at of plain.operations.keys()) {
    const life = new Life({ fault: { at, kind: 'EIO', lasts: 'once' } });
    await liveOnce(life);
    refused += life.model.refusedCount;
    unknown += life.model.unknownCount;
  }
  assert.ok(refused > 0, 'Some are refused');
  assert.equal(unknown, 0, 'A failure alone is healed by a checkpoint');
  for (const [at, { kind, path }] of plain.operations.entries()) {
    if (kind !== 'sync' || path !== JOURNAL) continue;
    const life = new Life({ fault: { at, kind: 'EIO', lasts: 'for ever' } });
    await liveOnce(life);
    unknown += life.model.unknownCount;
  }
  assert.ok(unknown > 0, 'One that nothing heals is unknown');
});

// Others meddle

interface Meddling {
  readonly what: string;
  readonly path: string;
  readonly content: Buffer | undefined;
}

const FOREIGN = Buffer.from('[{"id":1,"name":"Foreign","categoryId":1}]\n');
const MEDDLING: readonly Meddling[] = [
  { what: 'the lock is removed', path: LOCK, content: undefined },
  { what: 'the lock is replaced', path: LOCK, content: Buffer.alloc(0) },
  { what: 'the journal is removed', path: JOURNAL, content: undefined },
  { what: 'the journal is replaced', path: JOURNAL, content: FOREIGN },
  { what: 'the snapshot is removed', path: DATA_FILE, content: undefined },
  { what: 'the snapshot is replaced', path: DATA_FILE, content: FOREIGN },
];

for (const meddling of MEDDLING) {
  test(`Nothing is lost or overwritten when ${meddling.what} before any operation`, async (t) => {
    const { cases, complaints } = await meddleEverywhere(meddling);
    all.cases += cases;
    t.diagnostic(`${cases} cases`);
    assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
  });
}

/** What changes a file; those of a file in the making are nobody else's business. */
const MUTATIONS = ['write', 'overwrite', 'truncate', 'rename', 'remove', 'create'];

async function meddleEverywhere(
  { path, content }: Meddling,
  wrap?: Wrap,
): Promise<{ readonly cases: number; readonly complaints: readonly string[] }> {
  const plain = new Life({ wrap });
  await liveOnce(plain);
  // Before that the service is not up, and after it all is as it will be: what an intruder leaves
  // then is what the next start finds.
  const indexOf = (wanted: string, file: string): number =>
    plain.operations.findIndex(({ kind, path: of }) => kind === wanted && of === file);
  const first = indexOf('write', JOURNAL);
  const last = path === DATA_FILE ? indexOf('remove', JOURNAL) : indexOf('unlock', LOCK);
  const complaints: string[] = [];
  let cases = 0;
  for (let at = first; at < last; at += 1) {
    cases += 1;
    const life = new Life({ wrap, intrusion: { at, path, content }, keepsFrom: at });
    await liveOnce(life);
    life.end();
    const { kind, path: of } = plain.operations[at]!;
    const complain = (what: string): unknown =>
      complaints.push(`before ${at}, ${kind} ${of}: ${what}`);
    for (const complaint of life.complaints) complain(complaint);
    if (path === LOCK && mutationsOf(life, at) > 1) complain('Changes without the lock');
    const isKept = content !== FOREIGN || whatIsLeft(life.disk.image).includes('Foreign');
    // Whoever comes between our last look and the change itself is too late to be seen.
    if (!isKept && !isBeforeChange(plain, at)) {
      complain('What somebody else put there was overwritten');
    }
    // A kill -9 then and there loses what somebody else has removed; but nothing once one more
    // create was answered, for that notices it.
    const answeredBefore = life.moments[0]!.known.pets.length;
    for (const { before, image, known } of life.moments) {
      if (known.pets.length <= answeredBefore && before !== 'the end') continue;
      const left = whatIsLeft(image);
      const missing = known.pets.filter((pet) => !left.includes(pet));
      if (missing.length > 0) complain(`${before}: lost ${missing[0]!.slice(0, 40)}`);
    }
  }
  return { cases, complaints };
}

/** True at a rename or removal, and at the looks right before it. */
function isBeforeChange({ operations }: Life, at: number): boolean {
  const next = operations.slice(at).find(({ kind }) => kind !== 'stat');
  return next?.kind === 'rename' || next?.kind === 'remove';
}

/** How often data file or journal were changed from then on, until the store was closed. */
function mutationsOf({ operations }: Life, from: number): number {
  const end = operations.findIndex(({ kind }, at) => kind === 'unlock' && at > from);
  return operations.slice(from, end).filter(({ kind, path }) => {
    return MUTATIONS.includes(kind) && (path === DATA_FILE || path === JOURNAL);
  }).length;
}

/** All that is in the files. */
function whatIsLeft(image: DiskImage): string {
  const ids = [...image.names.values()].filter((id) => id !== FOLDER);
  return ids.map((id) => image.files.get(id)!.cached.toString()).join('\n');
}

// Bytes that changed

test('A flipped bit in any file is refused and left as it is, or changes no pet', async (t) => {
  const { cases, complaints } = await flipEveryByte((disk) => disk);
  all.cases += cases;
  t.diagnostic(`${cases} cases`);
  assert.deepEqual(complaints.slice(0, 5), []);
});

test('A tail that was overwritten, at any offset, is refused and left as it is', async (t) => {
  const { cases, complaints } = await overwriteTails((disk) => disk, rounds(5, 1));
  all.cases += cases;
  t.diagnostic(`${cases} cases`);
  assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
});

test('A journal under a snapshot of another lineage, with the same last id, is refused', async (t) => {
  const { cases, complaints } = await swapSnapshots((disk) => disk);
  all.cases += cases;
  assert.deepEqual(complaints, []);
  t.diagnostic(`${cases} cases`);
});

/** Puts the snapshot of one store under the journal of another. */
async function swapSnapshots(
  wrap: Wrap,
): Promise<{ readonly cases: number; readonly complaints: readonly string[] }> {
  const complaints: string[] = [];
  let cases = 0;
  for (const nameLength of [3, 300]) {
    const found = await shortJournal(nameLength);
    const other = fileAt((await shortJournal(nameLength, 4)).image, DATA_FILE).cached;
    cases += 1;
    complaints.push(...(await startOn(found, DATA_FILE, other, wrap, 0)));
  }
  return { cases, complaints };
}

// Deliberate breaks

function expectCaught(t: TestContext, complaints: readonly string[]): void {
  assert.notEqual(complaints.length, 0);
  all.breaks += 1;
  t.diagnostic(complaints[0]!);
}

test('The simulation catches a store that accepts a wrong CRC', async (t) => {
  const { complaints } = await flipEveryByte(broken.acceptWrongCrc);
  assert.match(complaints[0] ?? 'nothing', /shows the wrong pets/);
  expectCaught(t, complaints);
});

test('The simulation catches a store that does not ask which snapshot a journal follows', async (t) => {
  expectCaught(t, (await swapSnapshots(broken.acceptAnySnapshot)).complaints);
});

test('The simulation catches a store that calls a create refused whose sync failed', async (t) => {
  const simulation = new Simulation(liveShortly, { hidesDoubt: true, stopsEarly: true });
  await simulation.failEverywhere(['EIO'], 'for ever');
  expectCaught(t, simulation.complaints);
});

test('The simulation catches a store that takes any tail for torn', async (t) => {
  expectCaught(t, (await overwriteTails(broken.dropAnyTail, 50)).complaints);
});

const CRASHES: readonly [what: string, wrap: Wrap][] = [
  ['does not sync the journal', broken.skipJournalSync],
  ['does not sync the new snapshot', broken.skipSnapshotSync],
  ['does not sync the copy of a journal that it found', broken.skipSyncOfJournalCopy],
  ['does not sync the directory', broken.skipDirectorySync],
  ['does not sync the folder above a new one', broken.skipParentSync],
  ['answers before the sync', broken.answerBeforeSync],
  ['removes the journal before the new snapshot has its name', broken.removeJournalFirst],
];

for (const [what, wrap] of CRASHES) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    const simulation = new Simulation(liveShortly, { wrap, stopsEarly: true });
    await simulation.crashEverywhere();
    expectCaught(t, simulation.complaints);
  });
}

const FAULTS: typeof CRASHES = [
  ['tries a failed sync again', broken.retryFailedSync],
  ['does not take back what failed', broken.skipTakeBack],
  ['takes back what failed, but does not sync that', broken.skipSyncOfTakeBack],
];

for (const [what, wrap] of FAULTS) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    const simulation = new Simulation(liveOnce, { wrap, stopsEarly: true });
    await simulation.crashEverywhere();
    assert.deepEqual(simulation.complaints, [], 'It takes a failing disk to tell');
    await simulation.failEverywhere(['EIO', 'short', 'late'], 'once');
    expectCaught(t, simulation.complaints);
  });
}

test('The simulation catches a store whose commits do not have the keys', async (t) => {
  const simulation = new Simulation(liveInDoubt, {
    wrap: broken.skipKeysOfCommits,
    stopsEarly: true,
  });
  await simulation.crashEverywhere();
  expectCaught(t, simulation.complaints);
});

test('The simulation catches a checkpoint that forgets the keys', async (t) => {
  t.mock.method(KeyTable.prototype, 'entries', function* () {});
  const simulation = new Simulation(liveInDoubt, { stopsEarly: true });
  await simulation.crashEverywhere();
  expectCaught(t, simulation.complaints);
});

const IN_DOUBT: typeof CRASHES = [
  ['does not sync the directory between keys and snapshot', broken.skipDirectorySyncOfKeys],
  ['gives the keys their name after the snapshot', broken.renameKeysLast],
  ['leaves the keys in doubt out of a checkpoint', broken.skipKeysInDoubt],
];

for (const [what, wrap] of IN_DOUBT) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    const options = { wrap, longJournalBytes: CHECKPOINTS, stopsEarly: true };
    const simulation = new Simulation(liveInDoubt, options);
    await simulation.failEverywhere(['EIO'], 'once');
    expectCaught(t, simulation.complaints);
  });
}

test('The simulation catches a store that takes a key in doubt for a new one', async (t) => {
  const simulation = new Simulation(liveInDoubt, { forgetsDoubt: true, stopsEarly: true });
  await simulation.failEverywhere(['EIO'], 'twice');
  expectCaught(t, simulation.complaints);
});

const BLIND: readonly [what: string, path: string, wrap: Wrap][] = [
  ['does not look at its lock', LOCK, broken.blindForLock],
  ['does not look at its journal', JOURNAL, broken.blindForJournal],
  ['does not look at its snapshot', DATA_FILE, broken.blindForSnapshot],
];

for (const [what, path, wrap] of BLIND) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    const complaints: string[] = [];
    for (const meddling of MEDDLING.filter((one) => one.path === path)) {
      complaints.push(...(await meddleEverywhere(meddling, wrap)).complaints);
    }
    expectCaught(t, complaints);
  });
}

test('The simulation catches a store that makes no room in memory before it writes', async (t) => {
  t.mock.method(PetTable.prototype, 'reserve', () => undefined);
  const life = new Life();
  await liveManyCreates(life);
  let unknown = 0;
  for (let at = 0; at < life.requests; at += 1) {
    const failing = new Life({ memoryFault: { at, lasts: 'once' } });
    await liveManyCreates(failing);
    unknown += failing.model.unknownCount;
  }
  assert.ok(unknown > 0);
  expectCaught(t, [`${unknown} creates were in doubt for want of memory`]);
});

test('With room made in memory, no create is ever in doubt for want of it', async () => {
  const life = new Life();
  await liveManyCreates(life);
  for (let at = 0; at < life.requests; at += 1) {
    const failing = new Life({ memoryFault: { at, lasts: 'once' } });
    await liveManyCreates(failing);
    assert.equal(failing.model.unknownCount, 0, `request ${at}`);
    assert.deepEqual(failing.complaints, []);
  }
});

/** Enough creates for the columns of the table to grow. */
async function liveManyCreates(life: Life): Promise<void> {
  await life.start();
  for (let count = 0; count < 12; count += 1) await life.create(3, 3);
  await life.stop();
}

const REVIVALS: typeof CRASHES = [
  ['revives without the line in doubt', broken.skipLineInDoubt],
  ['copies a journal without looking whether it is the same', broken.copyAnotherJournal],
  ['does not sync the folder after a copy', broken.skipDirectorySyncOfCopy],
];

for (const [what, wrap] of REVIVALS) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    const simulation = new Simulation(liveInDoubt, { wrap, stopsEarly: true });
    await simulation.failEverywhere(['EIO'], 'once');
    expectCaught(t, simulation.complaints);
  });
}

test('A store that saves its pets says where, and they are all there', async (t) => {
  const { cases, complaints } = await saveEverywhere();
  all.cases += cases;
  t.diagnostic(`${cases} cases`);
  assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
});

const SAVES: typeof CRASHES = [
  ['says that the pets are saved when the file is not synced', broken.skipSyncOfSaved],
  ['says that the pets are saved when half of them are', broken.writeHalfOfSaved],
];

for (const [what, wrap] of SAVES) {
  test(`The simulation catches a store that ${what}`, async (t) => {
    expectCaught(t, (await saveEverywhere(wrap)).complaints);
  });
}

/**
 * Removes lock and journal before any operation, and stops the store: if it says that the pets are
 * safe, they are there after the worst power failure.
 */
async function saveEverywhere(
  wrap?: Wrap,
): Promise<{ readonly cases: number; readonly complaints: readonly string[] }> {
  const plain = new Life({ wrap });
  await liveAndStop(plain);
  const first = plain.operations.findIndex(({ path }) => path === JOURNAL);
  const complaints: string[] = [];
  let cases = 0;
  for (let at = first; at < plain.operations.length; at += 1) {
    for (const path of [JOURNAL, DATA_FILE]) {
      cases += 1;
      const intrusion = { at, path, content: undefined, also: LOCK };
      const life = new Life({ wrap, intrusion });
      await liveAndStop(life);
      for (const { image } of plainEnds(life.disk.image)) {
        const left = whatIsLeft(image);
        const missing = life.model.knowledge().pets.find((pet) => !left.includes(pet));
        if (life.isSafe && missing !== undefined) {
          complaints.push(`${path} removed before ${at}: lost ${missing.slice(0, 40)}`);
        }
      }
    }
  }
  return { cases, complaints };
}

async function liveAndStop(life: Life): Promise<void> {
  await life.start();
  await life.createOnce(3);
  await life.create(3, 400);
  await life.stop();
}

test('The simulation catches a checkpoint that leaves out the pets in doubt', async (t) => {
  const chunks = SnapshotText.prototype.chunks;
  t.mock.method(SnapshotText.prototype, 'chunks', function* (this: SnapshotText) {
    for (const chunk of chunks.call(this)) {
      if (!/^(\[|,)\n\{/.test(chunk.toString('latin1', 0, 4))) yield chunk;
    }
  });
  const options = { longJournalBytes: CHECKPOINTS, stopsEarly: true };
  const simulation = new Simulation(liveInDoubt, options);
  await simulation.failEverywhere(['EIO'], 'once');
  expectCaught(t, simulation.complaints);
});

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
async function shortJournal(nameLength: number, firstLength = 3): Promise<Found> {
  const life = new Life();
  await life.start();
  await life.create(30, 10 * firstLength);
  await life.createOnce(3);
  await life.stop();
  await life.start();
  await life.createOnce(3);
  await life.create(nameLength, 3, 3);
  await life.create(nameLength);
  return { image: life.disk.image, known: life.model.knowledge() };
}

/** Starts with one bit of each byte flipped in turn; tells what is wrong with that. */
async function flipEveryByte(
  wrap: Wrap,
): Promise<{ readonly cases: number; readonly complaints: readonly string[] }> {
  const found = await shortJournal(3);
  const complaints: string[] = [];
  let cases = 0;
  for (const path of [DATA_FILE, JOURNAL, KEYS]) {
    const { cached } = fileAt(found.image, path);
    for (const at of cached.keys()) {
      const flipped = Buffer.from(cached);
      flipped[at]! ^= 1 << (at % 8);
      cases += 1;
      const said = await startOn(found, path, flipped, wrap, 0);
      for (const complaint of said) complaints.push(`${path}, byte ${at}: ${complaint}`);
    }
  }
  return { cases, complaints };
}

/** Overwrites the journal from each line, and one in `step` offsets, to its end, in each way. */
async function overwriteTails(
  wrap: Wrap,
  step: number,
): Promise<{ readonly cases: number; readonly complaints: readonly string[] }> {
  const complaints: string[] = [];
  let cases = 0;
  for (const nameLength of [3, 300]) {
    const found = await shortJournal(nameLength);
    const { cached } = fileAt(found.image, JOURNAL);
    const other = fileAt((await shortJournal(nameLength, 4)).image, JOURNAL).cached;
    const starts = lineStarts(cached);
    for (const at of cached.keys()) {
      if (at % step !== 0 && !starts.includes(at)) continue;
      const length = cached.length - at;
      const tails: Readonly<Record<string, Buffer>> = {
        zeros: Buffer.alloc(length),
        '0xFF': Buffer.alloc(length, 0xff),
        text: Buffer.alloc(length, 'text '),
        'older content': Buffer.from(cached.subarray(0, length)),
        'another journal': Buffer.from(other.subarray(at, at + length)),
        'another journal, and more': Buffer.from(other.subarray(at)),
        'a second copy': Buffer.concat([cached.subarray(at), cached.subarray(starts.at(-1))]),
        nothing: Buffer.alloc(0),
      };
      for (const [what, tail] of Object.entries(tails)) {
        const content = Buffer.concat([cached.subarray(0, at), tail]);
        if (content.equals(cached)) continue;
        cases += 1;
        const mayDrop = isLikeACrash(what, at, starts) ? starts.length : 0;
        const said = await startOn(found, JOURNAL, content, wrap, mayDrop);
        for (const complaint of said) complaints.push(`${what} from ${at}: ${complaint}`);
      }
    }
  }
  return { cases, complaints };
}

/**
 * What nobody can tell from a write that a crash cut off, or that did not get to the disk: a file
 * that ends early, and zeros from the beginning of a line, or within the last one from that of a
 * sector.
 */
function isLikeACrash(what: string, at: number, starts: readonly number[]): boolean {
  if (what === 'nothing') return true;
  if (what !== 'zeros') return false;
  return starts.includes(at) || at === 0 || (at % 512 === 0 && at > starts.at(-1)!);
}

function lineStarts(journal: Buffer): readonly number[] {
  const starts: number[] = [];
  for (let at = 0; at !== 0 || starts.length === 0; at = journal.indexOf(0x0a, at) + 1) {
    if (at < journal.length) starts.push(at);
    else break;
  }
  return starts;
}

/** Starts with another content of a file: either all pets are there, or nothing is changed. */
async function startOn(
  { image, known }: Found,
  path: string,
  content: Buffer,
  wrap: Wrap,
  mayDrop: number,
): Promise<readonly string[]> {
  const id = image.names.get(path)!;
  const damaged = overwriteFile(image, id, content);
  const model = mayDrop > 0 ? new Model() : new Model(known);
  const life = new Life({ image: damaged, model, wrap });
  await life.start();
  const { names, files } = life.disk.image;
  const isAsItWas = names.size === damaged.names.size && files.get(id)!.cached.equals(content);
  if (!life.isUp) return isAsItWas ? [] : ['the file was changed'];
  if (mayDrop === 0) return life.complaints;
  // What is there is the beginning of what was: a crash takes the end only.
  const { pets } = life.model.knowledge();
  const isBeginning = pets.every((pet, index) => pet === known.pets[index]);
  return isBeginning ? [] : ['other pets than those that were'];
}

function fileAt(image: DiskImage, path: string): { readonly cached: Buffer } {
  return image.files.get(image.names.get(path)!)!;
}
