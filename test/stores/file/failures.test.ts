/**
 * Failures while a store runs: what a full or broken disk does to creates, and how the store heals.
 *
 * After each of them, the files as they are at that moment are opened as if the process had died:
 * they must hold exactly the pets that were answered.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteString } from '../../../src/base/byte-string.ts';
import type { Log } from '../../../src/base/log.ts';
import { encodeNewPet } from '../../../src/model/encoded-pet.ts';
import { StoreUnavailableError, type PetStore } from '../../../src/model/pet-store.ts';
import { encodeCommit } from '../../../src/stores/commits/commit.ts';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { createFailingDisk, type DiskCall, type FailingDisk } from '../../support/failing-disk.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../../support/memory-disk.ts';

const SNAPSHOT = '/d/pets.json';
const JOURNAL = '/d/pets.json.journal';
const TMP = '/d/pets.json.tmp';

const rex = encodeNewPet({ name: 'Rex', categoryId: 7n });

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
      assert.equal(`${memory.read(JOURNAL)}`, commit(1n) + commit(2n));
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
  assert.equal(`${memory.read(JOURNAL)}`, commit(1n) + commit(2n) + commit(3n));
});

test('All creates of a commit that fails are refused together', async () => {
  const { store, disk, memory } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const first = store.create(rex);
  await arrived;
  const others = Array.from({ length: 20 }, () => store.create(rex));
  disk.fault = failAt('writeNow');
  opened();
  await first;
  const results = await Promise.allSettled(others);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  await assertPets(store, memory, [1, 2, 3]);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 4);
});

test('A line that was taken back is synced away before another is written', async () => {
  const { store, disk } = await openTwoPets();
  disk.fault = failAt('writeNow');
  await assertRefused(store);
  disk.fault = () => undefined;
  const before = disk.calls.length;
  await store.create(rex);
  const steps = disk.calls.slice(before).map(({ operation }) => operation);
  assert.deepEqual(steps, ['sync', 'writeNow', 'sync']);
});

test('A line that cannot be taken back is never followed: new files take its place', async () => {
  const { store, disk, memory } = await openTwoPets();
  let writes = 0;
  disk.fault = ({ operation, path }) => {
    if (operation === 'writeNow' && (writes += 1) === 1) return 30;
    if (operation === 'writeNow' || operation === 'truncate') throw systemError('EIO', path);
    return undefined;
  };
  await assertRefused(store);
  assert.equal(memory.read(JOURNAL).length, `${commit(1n)}${commit(2n)}`.length + 30);
  await assertPets(store, memory, [1, 2]);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 3);
  assert.equal(`${memory.read(JOURNAL)}`, commit(3n));
  await assertPets(store, memory, [1, 2, 3]);
});

test('A journal that cannot be made: the create is refused, the next succeeds', async () => {
  const { store, disk, memory } = await open();
  disk.fault = failAt('open');
  await assertRefused(store);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 1);
  await assertPets(store, memory, [1]);
});

test('A file whose sync failed is never synced again: new files take its place', async () => {
  const { store, disk, memory } = await openTwoPets();
  disk.fault = failAt('sync');
  await assertRefused(store, /EIO/);
  const failed = disk.calls.findLast(({ operation }) => operation === 'sync')!;
  assert.equal(failed.path, JOURNAL);
  await assertPets(store, memory, [1, 2]);
  disk.fault = () => undefined;
  const before = disk.calls.length;
  assert.equal(await createId(store), 3);
  assert.deepEqual(stepsSince(disk, before), [
    `stat ${SNAPSHOT}`,
    `remove ${TMP}`,
    `open ${TMP}`,
    `write ${TMP}`,
    `sync ${TMP}`,
    `close ${TMP}`,
    `rename ${TMP}`,
    'syncDirectory /d',
    `remove ${JOURNAL}`,
    `close ${JOURNAL}`,
    `stat ${SNAPSHOT}`,
    `open ${JOURNAL}`,
    `writeNow ${JOURNAL}`,
    `sync ${JOURNAL}`,
    'syncDirectory /d',
  ]);
  assert.equal(`${memory.read(JOURNAL)}`, commit(3n));
  await assertPets(store, memory, [1, 2, 3]);
  await store.close();
  // One for each of the two pets, and the one that failed.
  assert.equal(syncsOf(disk, failed.file!), 3);
});

test('The sync of a taken-back line that fails is as final as any other', async () => {
  const { store, disk, memory } = await openTwoPets();
  disk.fault = failAt('writeNow');
  await assertRefused(store);
  disk.fault = failAt('sync');
  await assertRefused(store);
  const { file } = disk.calls.findLast(({ operation }) => operation === 'sync')!;
  const syncs = syncsOf(disk, file!);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 3);
  assert.equal(syncsOf(disk, file!), syncs);
  await assertPets(store, memory, [1, 2, 3]);
});

test('A new journal whose folder cannot be synced is given up like any other', async () => {
  const { store, disk, memory } = await open();
  disk.fault = failAt('syncDirectory');
  await assertRefused(store);
  const { file } = disk.calls.findLast(({ operation }) => operation === 'sync')!;
  disk.fault = () => undefined;
  assert.equal(await createId(store), 1);
  assert.equal(syncsOf(disk, file!), 1);
  await assertPets(store, memory, [1]);
});

test('After a failed sync, new files are tried at most once a second', async () => {
  const { store, disk, memory, clock } = await openTwoPets();
  disk.fault = failAt('sync');
  for (let tenths = 0; tenths < 35; tenths += 1) {
    clock.now = 100 * tenths;
    await assertRefused(store);
  }
  const tries = disk.calls.filter(({ operation, path }) => operation === 'open' && path === TMP);
  // The first snapshot, and at 0.1, 1.1, 2.1 and 3.1 seconds.
  assert.equal(tries.length, 1 + 4);
  await assertPets(store, memory, [1, 2]);
  disk.fault = () => undefined;
  await assertRefused(store, /once a second/);
  clock.now = 4100;
  assert.equal(await createId(store), 3);
  assert.equal(store.problem(), undefined);
  await assertPets(store, memory, [1, 2, 3]);
});

for (const failing of [
  `open ${TMP}`,
  `write ${TMP}`,
  `sync ${TMP}`,
  `close ${TMP}`,
  `rename ${TMP}`,
  'syncDirectory /d',
  `remove ${JOURNAL}`,
  `open ${JOURNAL}`,
]) {
  test(`New files that fail at "${failing}": nothing is lost, a later try succeeds`, async () => {
    const { store, disk, memory, clock } = await openTwoPets();
    disk.fault = failAt('sync');
    await assertRefused(store);
    disk.fault = (call) => {
      if (nameOf(call) === failing) throw systemError('EIO', call.path);
    };
    for (clock.now = 0; clock.now < 3000; clock.now += 1000) {
      await assertRefused(store, /EIO/);
      await assertPets(store, memory, [1, 2]);
    }
    disk.fault = () => undefined;
    assert.equal(await createId(store), 3);
    assert.equal(memory.contents()[TMP], undefined);
    await assertPets(store, memory, [1, 2, 3]);
    await store.close();
    await assertHeld(memory, [1, 2, 3]);
  });
}

test('An old journal that cannot be closed is of no importance', async () => {
  const { store, disk, memory } = await openTwoPets();
  disk.fault = failAt('sync');
  await assertRefused(store);
  disk.fault = (call) => {
    if (nameOf(call) === `close ${JOURNAL}`) throw systemError('EIO', call.path);
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
    clock.now = now;
    assert.equal(store.problem() !== undefined, isProblem, `after ${now} ms`);
  }
});

test('Failed commits go to the log once a second, and so does their end', async () => {
  const { store, disk, events, clock } = await openTwoPets();
  const details = { cause: `EIO: simulated, '${JOURNAL}'`, dataFile: '/d/pets.json' };
  const failure = ['error', 'Pets cannot be stored', details];
  disk.fault = failAt('writeNow');
  await assertRefused(store);
  clock.now += 999;
  await assertRefused(store);
  assert.deepEqual(events, [failure]);
  clock.now += 1;
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
  const results = await Promise.allSettled([store.create(rex), store.create(rex)]);
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

const checkpointSteps = [`write ${TMP}`, `rename ${TMP}`, 'syncDirectory /d', `remove ${JOURNAL}`];

for (const failing of checkpointSteps) {
  test(`A close whose checkpoint fails at "${failing}" closes, and nothing is lost`, async () => {
    const { store, disk, memory, events } = await openTwoPets();
    disk.fault = (call) => {
      if (nameOf(call) === failing) throw systemError('ENOSPC', call.path);
    };
    await store.close();
    assert.equal(disk.openFiles.size, 0);
    assert.match(JSON.stringify(events), /A checkpoint failed; the journal goes on/);
    await assertHeld(memory, [1, 2]);
    disk.fault = () => undefined;
    assert.deepEqual(await idsIn(await openFileStore({ path: SNAPSHOT, disk })), [1, 2]);
  });
}

test('A store whose journal is given up closes with all pets in the snapshot', async () => {
  const { store, disk, memory } = await open();
  disk.fault = failAt('sync');
  await assertRefused(store);
  disk.fault = () => undefined;
  await store.close();
  assert.deepEqual(Object.keys(memory.contents()).sort(), [SNAPSHOT, `${SNAPSHOT}.lock`]);
  assert.equal(disk.openFiles.size, 0);
});

test('A checkpoint that fails at start does not prevent the start', async () => {
  for (const failing of checkpointSteps) {
    const memory = createMemoryDisk({ [JOURNAL]: commit(1n) + commit(2n) });
    const disk = createFailingDisk(memory);
    let directorySyncs = 0;
    disk.fault = (call) => {
      // Recovery itself syncs the folder first: without that, no pet may be shown.
      const isFirst = call.operation === 'syncDirectory' && (directorySyncs += 1) === 1;
      if (nameOf(call) === failing && !isFirst) throw systemError('ENOSPC', call.path);
    };
    const store = await openFileStore({ path: SNAPSHOT, disk });
    await assertPets(store, memory, [1, 2]);
    disk.fault = () => undefined;
    assert.equal(await createId(store), 3);
    await assertPets(store, memory, [1, 2, 3]);
  }
});

test('A journal that cannot be closed after a checkpoint at start takes no more pets', async () => {
  const memory = createMemoryDisk({ [JOURNAL]: commit(1n) });
  const disk = createFailingDisk(memory);
  disk.fault = (call) => {
    if (nameOf(call) === `close ${JOURNAL}`) throw systemError('EIO', call.path);
  };
  const store = await openFileStore({ path: SNAPSHOT, disk });
  assert.equal(await createId(store), 2);
  await assertPets(store, memory, [1, 2]);
});

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

test('Wherever opening fails, the lock and every file are let go, and no pet is lost', async () => {
  const files = { [SNAPSHOT]: '[{"id":1,"name":"Rex","categoryId":7}]', [JOURNAL]: commit(2n) };
  for (const failing of [
    `stat ${SNAPSHOT}`,
    `open ${SNAPSHOT}`,
    `read ${SNAPSHOT}`,
    `sync ${SNAPSHOT}`,
    `stat ${JOURNAL}`,
    `open ${JOURNAL}`,
    `read ${JOURNAL}`,
    `sync ${JOURNAL}`,
    `remove ${TMP}`,
    'syncDirectory /d',
  ]) {
    const memory = createMemoryDisk(files);
    const disk = createFailingDisk(memory);
    disk.fault = (call) => {
      if (nameOf(call) === failing) throw systemError('EIO', call.path);
    };
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), { code: 'EIO' }, failing);
    assert.equal(disk.openFiles.size, 0, failing);
    await assertHeld(memory, [1, 2]);
    disk.fault = () => undefined;
    assert.deepEqual(await idsIn(await openFileStore({ path: SNAPSHOT, disk })), [1, 2]);
  }
});

test('A journal that can neither be read nor closed: what is told is why it was not read', async () => {
  const disk = createFailingDisk(createMemoryDisk({ [JOURNAL]: commit(1n) }));
  disk.fault = (call) => {
    if (nameOf(call) === `read ${JOURNAL}`) throw systemError('EIO', call.path);
    if (nameOf(call) === `close ${JOURNAL}`) throw systemError('EBADF', call.path);
  };
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), { code: 'EIO' });
});

test('A pet is not to be seen before it is synced', async () => {
  const { store, disk, memory } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const creating = store.create(rex);
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
  const creates = [store.create(rex)];
  await arrived;
  for (let i = 0; i < 100; i += 1) creates.push(store.create(rex));
  disk.fault = () => undefined;
  const before = disk.calls.length;
  opened();
  await Promise.all(creates);
  assert.deepEqual(stepsSince(disk, before), [`writeNow ${JOURNAL}`, `sync ${JOURNAL}`]);
  assert.equal(`${memory.read(JOURNAL)}`.split('\n').length - 1, 4);
});

test('close waits for the creates under way, and for those behind them', async () => {
  const { store, disk, memory } = await openTwoPets();
  const { opened, arrived } = holdSync(disk);
  const creates = [store.create(rex)];
  await arrived;
  creates.push(store.create(rex));
  const closing = store.close();
  await assert.rejects(store.create(rex), { message: 'The store is closed' });
  opened();
  await closing;
  assert.equal((await Promise.all(creates)).length, 2);
  await assertHeld(memory, [1, 2, 3, 4]);
});

test('16,384 creates may wait for the one under way; one more is refused', async () => {
  const { store, disk } = await open();
  const { opened, arrived } = holdSync(disk);
  const creates = [store.create(rex)];
  await arrived;
  for (let i = 0; i < 16_384; i += 1) creates.push(store.create(rex));
  await assertRefused(store, /^Too many pets are waiting to be stored$/);
  opened();
  assert.equal((await Promise.all(creates)).length, 16_385);
  assert.equal(await createId(store), 16_386);
});

test('Creates of 64 MiB together may wait; one more is refused', async () => {
  const { store, disk } = await open();
  const { opened, arrived } = holdSync(disk);
  const first = store.create(rex);
  await arrived;
  const tail = byteString(' '.repeat(1 << 20));
  const creates = Array.from({ length: 64 }, () => store.create({ tail, status: undefined }));
  await assertRefused(store, /^Too many pets are waiting to be stored$/);
  disk.fault = failAt('writeNow');
  opened();
  await first;
  const results = await Promise.allSettled(creates);
  assert.ok(results.every(({ status }) => status === 'rejected'));
  disk.fault = () => undefined;
  assert.equal(await createId(store), 2);
});

interface Opened {
  readonly store: PetStore;
  readonly disk: FailingDisk;
  readonly memory: MemoryDisk;
  readonly clock: { now: number };
  readonly events: unknown[];
}

/** A store on a disk without faults so far. `tell` is called for each of the events. */
async function open(tell: Log = () => undefined): Promise<Opened> {
  const memory = createMemoryDisk();
  const disk = createFailingDisk(memory);
  const clock = { now: 0 };
  const events: unknown[] = [];
  const log: Log = (level, event, details) => {
    events.push([level, event, details]);
    tell(level, event, details);
  };
  const store = await openFileStore({
    path: SNAPSHOT,
    disk,
    log,
    now: () => clock.now,
    journalReserveBytes: 0,
  });
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

function failAt(operation: DiskCall['operation']): FailingDisk['fault'] {
  return (call) => {
    if (call.operation === operation) throw systemError('EIO', call.path);
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

async function createId(store: PetStore): Promise<number> {
  const pet = await store.create(rex);
  return (JSON.parse(`${pet}`) as { id: number }).id;
}

async function assertRefused(store: PetStore, message: RegExp = /^Pets cannot/): Promise<void> {
  await assert.rejects(store.create(rex), (error: Error) => {
    assert.ok(error instanceof StoreUnavailableError);
    assert.match(error.message, message);
    return true;
  });
}

/** These pets are to be seen, and are there if the process dies now. */
async function assertPets(
  store: PetStore,
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

async function idsIn(store: PetStore): Promise<readonly number[]> {
  const { json } = await store.list({ limit: 100 });
  return (JSON.parse(`${json}`) as { id: number }[]).map(({ id }) => id);
}

/** The journal's line for one pet with this id. */
function commit(id: bigint): string {
  return `${encodeCommit(id - 1n, [rex]).line}`;
}

function nameOf({ operation, path }: DiskCall): string {
  return `${operation} ${path}`;
}

/** The calls since then, a call that comes several times in a row only once. */
function stepsSince(disk: FailingDisk, start: number): readonly string[] {
  const steps = disk.calls.slice(start).map(nameOf);
  return steps.filter((step, index) => step !== steps[index - 1]);
}

function syncsOf(disk: FailingDisk, file: number): number {
  return disk.calls.filter((call) => call.operation === 'sync' && call.file === file).length;
}
