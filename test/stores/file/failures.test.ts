/**
 * Failures while a store runs: what a full or broken disk does to creates, and how the store heals.
 *
 * After each of them, the files as they are at that moment are opened as if the process had died:
 * they must hold the pets that were answered, and nothing that was refused.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../../src/base/log.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/model/pet-store.ts';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import {
  createFailingDisk,
  type DiskCall,
  type FailingDisk,
} from '../../support/disk/failing-disk.ts';
import { journalLines, REX, snapshotId } from '../../support/disk/journal-text.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import { TestClock } from '../../support/test-clock.ts';

const SNAPSHOT = '/d/pets.json';
const JOURNAL = '/d/pets.json.journal';
const TMP = '/d/pets.json.tmp';

/** What a copy of the journal does with the disk, in this order. */
const COPY_STEPS = [
  'freeBytes /d',
  `remove ${TMP}`,
  `open ${TMP}`,
  `open ${JOURNAL}`,
  `read ${JOURNAL}`,
  `write ${TMP}`,
  `close ${JOURNAL}`,
  `write ${TMP}`,
  `sync ${TMP}`,
  `rename ${TMP}`,
  `close ${JOURNAL}`,
  'syncDirectory /d',
];

/** What a checkpoint does with the disk, in this order. */
const CHECKPOINT_STEPS = [
  'freeBytes /d',
  `remove ${TMP}`,
  `open ${TMP}`,
  `write ${TMP}`,
  `sync ${TMP}`,
  `rename ${TMP}`,
  `close ${TMP}`,
  'syncDirectory /d',
  `remove ${JOURNAL}`,
  'syncDirectory /d',
  `close ${JOURNAL}`,
];

/**
 * Those that fail it. What cannot be removed is not there, a close tells nothing, and a disk that
 * does not tell its room is tried.
 */
const FAILING_STEPS = [
  ...new Set(CHECKPOINT_STEPS.filter((step) => !/^close|^freeBytes|^remove .*tmp$/.test(step))),
];

for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']) {
  for (const bytesBefore of [0, 10]) {
    const when = bytesBefore === 0 ? 'at once' : `after ${bytesBefore} bytes`;
    test(`A write that fails with ${code} ${when}: nothing is added, the next works`, async () => {
      const { store, disk, memory } = await openTwoPets();
      let written = 0;
      disk.fault = ({ operation, path }) => {
        if (operation !== 'writeNow') return undefined;
        if (written === bytesBefore) throw systemError(code, path);
        return (written = bytesBefore);
      };
      await assertRefused(store, new RegExp(`^Pets cannot be stored: ${code}: `));
      assert.match(store.problem()!, new RegExp(code));
      assertJournal(memory, 0, 2);
      await assertPets(store, memory, [1, 2]);
      disk.fault = () => undefined;
      assert.equal(await createId(store), 3);
      assert.equal(store.problem(), undefined);
      await assertPets(store, memory, [1, 2, 3]);
    });
  }
}

test('Writes that are short are carried on with', async () => {
  const { store, disk, memory } = await openTwoPets();
  disk.fault = ({ operation }) => (operation === 'writeNow' ? 7 : undefined);
  assert.equal(await createId(store), 3);
  assertJournal(memory, 0, 3);
});

test('All creates of a commit that fails are refused together', async () => {
  const { store, disk, memory } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const first = store.create(REX);
  await arrived;
  const others = Array.from({ length: 20 }, () => store.create(REX));
  disk.fault = failAt('writeNow');
  opened();
  await first;
  for (const reason of await failuresOf(others)) {
    assert.ok(reason instanceof StoreUnavailableError);
  }
  assert.equal(store.stats().refusedCreates, 20);
  await assertPets(store, memory, [1, 2, 3]);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 4);
});

test('A line is taken back for good before its create is refused', async () => {
  const { store, disk, memory } = await openTwoPets();
  let writes = 0;
  disk.fault = (call) => {
    if (call.operation === 'writeNow' && (writes += 1) === 1) return 30;
    if (call.operation === 'writeNow') throw systemError('ENOSPC', call.path);
    return undefined;
  };
  const before = disk.calls.length;
  await assertRefused(store);
  const steps = [`writeNow ${JOURNAL}`, `truncate ${JOURNAL}`, `sync ${JOURNAL}`];
  assert.deepEqual(stepsSince(disk, before), steps);
  assertJournal(memory, 0, 2);
});

for (const failing of ['truncate', 'sync'] as const) {
  test(`A line that cannot be rolled back, its ${failing} failing, is in the new journal`, async () => {
    const { store, disk, memory } = await openTwoPets();
    let writes = 0;
    disk.fault = (call) => {
      if (call.path !== JOURNAL) return undefined;
      if (call.operation === 'writeNow' && (writes += 1) === 1) return 30;
      if (['writeNow', failing].includes(call.operation)) throw systemError('EIO', call.path);
      return undefined;
    };
    assert.equal(await createId(store), 3);
    assertJournal(memory, 0, 3);
    await assertPets(store, memory, [1, 2, 3]);
    disk.fault = () => undefined;
    assert.equal(await createId(store), 4);
    assertJournal(memory, 0, 4);
    await assertPets(store, memory, [1, 2, 3, 4]);
  });
}

test('A journal that cannot be made: the create is refused, the next succeeds', async () => {
  const { store, disk, memory } = await open();
  disk.fault = failAt('open');
  await assertRefused(store);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 1);
  await assertPets(store, memory, [1]);
});

test('A file whose sync failed is never synced again: new files take its place at once', async () => {
  const { store, disk, memory } = await openTwoPets();
  const before = disk.calls.length;
  disk.fault = failAt('sync', JOURNAL);
  assert.equal(await createId(store), 3);
  const { file } = disk.calls.findLast((call) => nameOf(call) === `sync ${JOURNAL}`)!;
  assert.deepEqual(stepsSince(disk, before), [
    `writeNow ${JOURNAL}`,
    `sync ${JOURNAL}`,
    ...COPY_STEPS,
  ]);
  await assertPets(store, memory, [1, 2, 3]);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 4);
  assertJournal(memory, 0, 4);
  await assertPets(store, memory, [1, 2, 3, 4]);
  await store.close();
  // One for each of the two pets, and the one that failed.
  assert.equal(syncsOf(disk, file!), 3);
});

test('A new journal whose folder cannot be synced is abandoned like any other', async () => {
  const { store, disk, memory } = await open();
  let syncs = 0;
  disk.fault = (call) => {
    if (call.operation === 'syncDirectory' && (syncs += 1) === 1) throw systemError('EIO', '/d');
  };
  assert.equal(await createId(store), 1);
  assertJournal(memory, 0, 1);
  await assertPets(store, memory, [1]);
});

test('When new files fail as well, nobody can tell: not 503, and no second id', async () => {
  const { store, disk, memory, clock } = await openTwoPets();
  disk.fault = failAt('sync');
  await assertUnknown(store);
  assert.equal(store.stats().unknownCreates, 1);
  // It is not seen, but a start would find it, or not.
  assert.deepEqual(await idsIn(store), [1, 2]);
  await assertHeld(memory, [1, 2, 3]);
  disk.fault = () => undefined;
  const calls = disk.calls.length;
  await assertRefused(store, /^Pets cannot be stored: EIO: .*; the next try is in 1 s$/);
  assert.equal(disk.calls.length, calls, 'Without any operation of the disk');
  await clock.pass(1000);
  assert.deepEqual(await idsIn(store), [1, 2, 3]);
  assert.equal(await createId(store), 4);
  await assertPets(store, memory, [1, 2, 3, 4]);
});

test('All creates of such a commit are told the same', async () => {
  const { store, disk } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const first = store.create(REX);
  await arrived;
  const others = Array.from({ length: 20 }, () => store.create(REX));
  disk.fault = failAt('sync');
  opened();
  await first;
  for (const reason of await failuresOf(others)) assert.ok(reason instanceof OutcomeUnknownError);
});

test('After a failed sync, new files are tried after 1, 2, 4, 8 and then each 10 seconds', async () => {
  const { store, disk, memory, clock } = await openTwoPets();
  disk.fault = failAt('sync');
  await assertUnknown(store);
  const triedAt = new Set<number>();
  for (let second = 1; second <= 45; second += 1) {
    const before = disk.calls.length;
    await clock.pass(1000);
    if (disk.calls.slice(before).some((call) => nameOf(call) === `open ${TMP}`))
      triedAt.add(second);
    await assertRefused(store);
  }
  assert.deepEqual([...triedAt], [1, 3, 7, 15, 25, 35, 45]);
  await assertHeld(memory, [1, 2, 3]);
  disk.fault = () => undefined;
  await assert.rejects(store.create(REX), { retryAfterSeconds: 10, message: /in 10 s$/ });
  await clock.pass(10_000);
  assert.equal(await createId(store), 4);
  assert.equal(store.problem(), undefined);
  await assertPets(store, memory, [1, 2, 3, 4]);
});

test('New files are tried at the next second when there is more room', async () => {
  const { store, disk, memory, clock } = await openTwoPets();
  let free = 10;
  const { freeBytes } = disk;
  disk.freeBytes = async (path) => Math.min(free, await freeBytes(path));
  disk.fault = failAt('sync', JOURNAL);
  await assertUnknown(store);
  const opened = (): number => disk.calls.filter((call) => nameOf(call) === `open ${TMP}`).length;
  const before = opened();
  for (let second = 1; second <= 4; second += 1) await clock.pass(1000);
  assert.equal(opened(), before, 'Nothing is written without room for all of it');
  await assertRefused(store, /ENOSPC/);
  free = 10_000;
  disk.fault = () => undefined;
  await clock.pass(1000);
  assert.equal(await createId(store), 4);
  await assertPets(store, memory, [1, 2, 3, 4]);
});

for (const failing of [
  `open ${TMP}`,
  `write ${TMP}`,
  `sync ${TMP}`,
  `rename ${TMP}`,
  'syncDirectory /d',
]) {
  test(`New files that fail at "${failing}": a later try has the pets in doubt too`, async () => {
    const { store, disk, memory, clock } = await openTwoPets();
    disk.fault = (call) => {
      if ([`sync ${JOURNAL}`, failing].includes(nameOf(call))) throw systemError('EIO', call.path);
    };
    await assertUnknown(store);
    for (let second = 1; second <= 3; second += 1) {
      await clock.pass(1000);
      await assertRefused(store, /EIO/);
      assert.deepEqual(await idsIn(store), [1, 2]);
      await assertHeld(memory, [1, 2, 3]);
    }
    disk.fault = () => undefined;
    await clock.pass(10_000);
    assert.equal(await createId(store), 4);
    assert.equal(memory.contents()[TMP], undefined);
    await assertPets(store, memory, [1, 2, 3, 4]);
    await store.close();
    await assertHeld(memory, [1, 2, 3, 4]);
  });
}

test('An old journal that cannot be removed: its pets are stored, and no more are taken', async () => {
  const { store, disk, memory, clock } = await openTwoPets();
  disk.fault = (call) => {
    const failing = [`sync ${JOURNAL}`, `read ${JOURNAL}`, `remove ${JOURNAL}`];
    if (failing.includes(nameOf(call))) throw systemError('EIO', call.path);
  };
  assert.equal(await createId(store), 3);
  await assertPets(store, memory, [1, 2, 3]);
  await clock.pass(1000);
  await assertRefused(store, /EIO/);
  await assertPets(store, memory, [1, 2, 3]);
  disk.fault = () => undefined;
  await clock.pass(10_000);
  assert.equal(await createId(store), 4);
  await assertPets(store, memory, [1, 2, 3, 4]);
});

for (const operation of ['rename', 'remove'] as const) {
  test(`A ${operation} that reports failure and took effect counts as done`, async () => {
    const { store, disk, memory } = await openTwoPets();
    const wrapped = memory[operation].bind(memory) as (...paths: string[]) => Promise<void>;
    (memory as unknown as Record<string, typeof wrapped>)[operation] = async (...paths) => {
      await wrapped(...paths);
      throw systemError('EIO', paths[0]!);
    };
    disk.fault = failAt('sync', JOURNAL);
    assert.equal(await createId(store), 3);
    disk.fault = () => undefined;
    assert.equal(await createId(store), 4);
    await assertPets(store, memory, [1, 2, 3, 4]);
  });
}

test('An old journal that cannot be closed is of no importance', async () => {
  const { store, disk, memory } = await openTwoPets();
  disk.fault = (call) => {
    const failing = [`sync ${JOURNAL}`, `close ${JOURNAL}`];
    if (failing.includes(nameOf(call))) throw systemError('EIO', call.path);
  };
  assert.equal(await createId(store), 3);
  await assertPets(store, memory, [1, 2, 3]);
});

test('A failure counts as a problem for five seconds', async () => {
  const { store, disk, clock } = await openTwoPets();
  disk.fault = failAt('writeNow');
  await assertRefused(store);
  disk.fault = () => undefined;
  for (const [now, isProblem] of [
    [0, true],
    [4999, true],
    [5000, false],
  ] as const) {
    clock.ms = now;
    assert.equal(store.problem() !== undefined, isProblem, `after ${now} ms`);
  }
});

test('Failed commits go to the log once a second, and so does their end', async () => {
  const { store, disk, events, clock } = await openTwoPets();
  const details = { cause: `EIO: simulated, '${JOURNAL}'`, dataFile: '/d/pets.json' };
  const failure = ['error', 'Pets cannot be stored', details];
  disk.fault = failAt('writeNow');
  await assertRefused(store);
  clock.ms += 999;
  await assertRefused(store);
  assert.deepEqual(events, [failure]);
  clock.ms += 1;
  await assertRefused(store);
  assert.deepEqual(events, [failure, failure]);
  disk.fault = () => undefined;
  await createId(store);
  await createId(store);
  assert.deepEqual(events.slice(2), [['info', 'Pets are stored again', undefined]]);
});

test('A log that throws when pets cannot be stored does not leave their creates waiting', async () => {
  const { store, disk, memory } = await openTwoPets(() => {
    throw new Error('The log is broken');
  });
  disk.fault = failAt('writeNow');
  const results = await Promise.allSettled([store.create(REX), store.create(REX)]);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  await assertRefused(store);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 3);
  await assertPets(store, memory, [1, 2, 3]);
  await store.close();
});

test('A log that throws when pets are stored again does not fail the create that was', async () => {
  const { store, disk, memory } = await openTwoPets((_level, event) => {
    if (event === 'Pets are stored again') throw new Error('The log is broken');
  });
  disk.fault = failAt('writeNow');
  await assertRefused(store);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 3);
  assert.equal(store.problem(), undefined);
  await assertPets(store, memory, [1, 2, 3]);
});

for (const failing of FAILING_STEPS) {
  test(`A close whose checkpoint fails at "${failing}" closes, and nothing is lost`, async () => {
    const { store, disk, memory, events } = await openTwoPets();
    disk.fault = (call) => {
      if (nameOf(call) === failing) throw systemError('ENOSPC', call.path);
    };
    await store.close();
    assert.deepEqual([...disk.openFiles.values()], []);
    // If only the journal could not be removed, the snapshot has all pets.
    if (failing !== `remove ${JOURNAL}`) {
      assert.match(JSON.stringify(events), /A checkpoint failed: the journal stays in use/);
    }
    await assertHeld(memory, [1, 2]);
    disk.fault = () => undefined;
    assert.deepEqual(await idsIn(await openFileStore({ path: SNAPSHOT, disk })), [1, 2]);
  });
}

test('A store whose journal is given up closes with all pets, in doubt or not, in new files', async () => {
  const { store, disk, memory } = await openTwoPets();
  disk.fault = failAt('sync');
  await assertUnknown(store);
  disk.fault = () => undefined;
  await store.close();
  assert.deepEqual(Object.keys(memory.contents()).sort(), [SNAPSHOT, `${SNAPSHOT}.lock`]);
  assert.equal(disk.openFiles.size, 0);
  await assertHeld(memory, [1, 2, 3]);
});

for (const failing of FAILING_STEPS) {
  test(`A checkpoint that fails at start, at "${failing}", does not prevent the start`, async () => {
    const memory = createMemoryDisk(filesOf(1, 2));
    const disk = createFailingDisk(memory);
    let directorySyncs = 0;
    disk.fault = (call) => {
      // The first is recovery's own, and the third is behind it: without those, no pet may be
      // shown.
      const isOther = call.operation === 'syncDirectory' && (directorySyncs += 1) !== 2;
      if (nameOf(call) === failing && !isOther) throw systemError('ENOSPC', call.path);
    };
    const clock = new TestClock();
    const options = { ...clock.options, longJournalBytes: 0 };
    const store = await openFileStore({ path: SNAPSHOT, disk, ...options });
    await assertPets(store, memory, [1, 2]);
    disk.fault = () => undefined;
    await clock.pass(1000);
    assert.equal(await createId(store), 3);
    await assertPets(store, memory, [1, 2, 3]);
  });
}

test('An empty store that cannot write its first snapshot does not open', async () => {
  for (const operation of ['open', 'write', 'sync', 'rename'] as const) {
    const memory = createMemoryDisk();
    const disk = createFailingDisk(memory);
    disk.fault = failAt(operation);
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), { code: 'EIO' });
    assert.deepEqual(Object.keys(memory.contents()), [`${SNAPSHOT}.lock`]);
    disk.fault = () => undefined;
    await (await openFileStore({ path: SNAPSHOT, disk })).close();
  }
});

for (const failing of [
  'makeDirectory /d',
  `resolve ${SNAPSHOT}`,
  `stat ${SNAPSHOT}`,
  `open ${SNAPSHOT}`,
  `read ${SNAPSHOT}`,
  `stat ${SNAPSHOT}.lock`,
  `lock ${SNAPSHOT}.lock`,
  `stat ${JOURNAL}`,
  `open ${JOURNAL}`,
  `read ${JOURNAL}`,
  `remove ${TMP}`,
  'syncDirectory /d',
]) {
  test(`When opening fails at "${failing}", all is let go, and no pet is lost`, async () => {
    const memory = createMemoryDisk({ ...filesOf(1, 2), [TMP]: 'a leftover' });
    const disk = createFailingDisk(memory);
    let hasFailed = false;
    disk.fault = (call) => {
      if (nameOf(call) !== failing) return;
      hasFailed = true;
      throw systemError('EIO', call.path);
    };
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), /EIO/);
    assert.ok(hasFailed);
    assert.equal(disk.openFiles.size, 0);
    await assertHeld(memory, [1, 2]);
    disk.fault = () => undefined;
    assert.deepEqual(await idsIn(await openFileStore({ path: SNAPSHOT, disk })), [1, 2]);
  });
}

test('A journal that can neither be read nor closed: what is told is why it was not read', async () => {
  const disk = createFailingDisk(createMemoryDisk(filesOf(1, 2)));
  disk.fault = (call) => {
    if (nameOf(call) === `read ${JOURNAL}`) throw systemError('EIO', call.path);
    if (nameOf(call) === `close ${JOURNAL}`) throw systemError('EBADF', call.path);
  };
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), { code: 'EIO' });
});

test('A pet is not to be seen before it is synced', async () => {
  const { store, disk, memory } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const creating = store.create(REX);
  await arrived;
  assert.deepEqual(await idsIn(store), [1, 2]);
  assert.equal(await store.get(3n), undefined);
  assert.equal(store.count().total, 2);
  opened();
  await creating;
  await assertPets(store, memory, [1, 2, 3]);
});

test('Creates that arrive during a sync share the next one, in one line', async () => {
  const { store, disk, memory } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const creates = [store.create(REX)];
  await arrived;
  for (let i = 0; i < 100; i += 1) creates.push(store.create(REX));
  disk.fault = () => undefined;
  const before = disk.calls.length;
  opened();
  await Promise.all(creates);
  assert.deepEqual(stepsSince(disk, before), [`writeNow ${JOURNAL}`, `sync ${JOURNAL}`]);
  assert.equal(linesIn(memory).length, 1 + 4, 'the header, two pets, the first, all others');
});

test('close waits for the creates under way, and for those behind them', async () => {
  const { store, disk, memory } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const creates = [store.create(REX)];
  await arrived;
  creates.push(store.create(REX));
  const closing = store.close();
  await assert.rejects(store.create(REX), { message: 'The store is closed' });
  opened();
  await closing;
  assert.equal((await Promise.all(creates)).length, 2);
  await assertHeld(memory, [1, 2, 3, 4]);
});

test('16,384 creates may wait for the one under way; one more is refused', async () => {
  const { store, disk } = await open();
  const { opened, arrived } = holdSync(disk);
  const creates = [store.create(REX)];
  await arrived;
  for (let i = 0; i < 16_384; i += 1) creates.push(store.create(REX));
  await assertRefused(store, /^Too many pets are waiting to be stored$/);
  opened();
  assert.equal((await Promise.all(creates)).length, 16_385);
  assert.equal(await createId(store), 16_386);
});

test('Creates of 64 MiB together may wait; one more is refused', async () => {
  const { store, disk } = await open();
  const { opened, arrived } = holdSync(disk);
  const first = store.create(REX);
  await arrived;
  // Two bytes for each é, so that a store that counts characters takes twice as many.
  const name = 'é'.repeat(1 << 19);
  const creates = Array.from({ length: 64 }, () => store.create({ name, categoryId: 7n }));
  await assertRefused(store, /^Too many pets are waiting to be stored$/);
  disk.fault = failAt('write');
  opened();
  await first;
  const results = await Promise.allSettled(creates);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  disk.fault = () => undefined;
  assert.equal(await createId(store), 2);
});

interface Opened {
  readonly store: FileStore;
  readonly disk: FailingDisk;
  readonly memory: MemoryDisk;
  readonly clock: TestClock;
  readonly events: unknown[];
}

/** A store on a disk without faults so far. `tell` is called for each of the events. */
async function open(tell: Log = () => undefined): Promise<Opened> {
  const memory = createMemoryDisk();
  const disk = createFailingDisk(memory);
  const clock = new TestClock();
  const events: unknown[] = [];
  const log: Log = (level, event, details) => {
    events.push([level, event, details]);
    tell(level, event, details);
  };
  const store = await openFileStore({ path: SNAPSHOT, disk, log, ...clock.options });
  return { store, disk, memory, clock, events };
}

/** The same with two pets in its journal. */
async function openTwoPets(tell?: Log): Promise<Opened> {
  const opened = await open(tell);
  assert.equal(await createId(opened.store), 1);
  assert.equal(await createId(opened.store), 2);
  // What was told of the start is not what such a test looks at.
  opened.events.length = 0;
  return opened;
}

/** The files of a store that holds the first pet in its snapshot, and the second in its journal. */
function filesOf(inSnapshot: number, inJournal: number): Readonly<Record<string, string>> {
  const pets = [];
  for (let id = 1; id <= inSnapshot; id += 1) pets.push({ id, name: 'Rex', categoryId: 7 });
  const text = `${JSON.stringify(pets)}\n`;
  const commits = Array.from({ length: inJournal - inSnapshot }, () => [REX]);
  const journal = Buffer.concat(journalLines(snapshotId(text, inSnapshot), commits));
  return { [SNAPSHOT]: text, [JOURNAL]: `${journal}` };
}

/** Fails each such operation, on this path or on any. */
function failAt(operation: DiskCall['operation'], path?: string): FailingDisk['fault'] {
  return (call) => {
    if (call.operation !== operation || (path ?? call.path) !== call.path) return;
    throw systemError('EIO', call.path);
  };
}

/** Holds up every sync until `opened` is called; `arrived` settles when the first has come. */
function holdSync(disk: FailingDisk): { opened: () => void; arrived: Promise<void> } {
  let opened = (): void => undefined;
  const gate = new Promise<void>((resolve) => (opened = resolve));
  const arrived = new Promise<void>((resolve) => {
    disk.fault = ({ operation }) => {
      if (operation !== 'sync') return undefined;
      resolve();
      return gate;
    };
  });
  return { opened, arrived };
}

async function createId(store: FileStore): Promise<number> {
  return Number((await store.create(REX)).id);
}

async function assertRefused(store: FileStore, message: RegExp = /^Pets cannot/): Promise<void> {
  await assert.rejects(store.create(REX), (error: Error) => {
    assert.ok(error instanceof StoreUnavailableError);
    assert.match(error.message, message);
    return true;
  });
}

async function assertUnknown(store: FileStore): Promise<void> {
  await assert.rejects(store.create(REX), (error: Error) => {
    assert.ok(error instanceof OutcomeUnknownError);
    assert.match(error.message, /^It is not known whether the pet was stored: /);
    return true;
  });
}

/** Why these creates failed; all of them must. */
async function failuresOf(creates: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  return (await Promise.allSettled(creates)).map((result) => {
    assert.equal(result.status, 'rejected');
    return result.reason;
  });
}

/**
 * The journal is what a store writes that commits so many pets, one by one, behind its snapshot.
 */
function assertJournal(memory: MemoryDisk, lastId: number, count: number): void {
  const commits = Array.from({ length: count }, () => [REX]);
  const lines = journalLines(snapshotId(`${memory.read(SNAPSHOT)}`, lastId), commits);
  assert.equal(`${memory.read(JOURNAL)}`, `${Buffer.concat(lines)}`);
}

function linesIn(memory: MemoryDisk): readonly string[] {
  return `${memory.read(JOURNAL)}`.split('\n').slice(0, -1);
}

/** These pets are to be seen, and are there if the process dies now. */
async function assertPets(
  store: FileStore,
  memory: MemoryDisk,
  ids: readonly number[],
): Promise<void> {
  assert.deepEqual(await idsIn(store), ids);
  assert.equal(store.count().total, ids.length);
  assert.equal(await store.get(BigInt(ids.length + 1)), undefined);
  await assertHeld(memory, ids);
}

async function assertHeld(memory: MemoryDisk, ids: readonly number[]): Promise<void> {
  const disk = createMemoryDisk();
  for (const path of Object.keys(memory.contents())) disk.write(path, memory.read(path));
  assert.deepEqual(await idsIn(await openFileStore({ path: SNAPSHOT, disk })), ids);
}

async function idsIn(store: FileStore): Promise<readonly number[]> {
  const { pets } = await store.list({ limit: 100 });
  return pets.map(({ id }) => Number(id));
}

function nameOf({ operation, path }: DiskCall): string {
  return `${operation} ${path}`;
}

/** The calls since then, a call that comes several times in a row only once. */
function stepsSince(disk: FailingDisk, start: number): readonly string[] {
  const calls = disk.calls.slice(start).filter(({ operation }) => operation !== 'stat');
  const steps = calls.map(nameOf);
  return steps.filter((step, index) => step !== steps[index - 1]);
}

function syncsOf(disk: FailingDisk, file: number): number {
  return disk.calls.filter((call) => call.operation === 'sync' && call.file === file).length;
}
