/**
 * Failures of the disk while a store runs: what creates get, what is written, and how the
 * store recovers. After each failure the files are opened as if the process had been killed then:
 * they have the acknowledged pets, and no refused pet.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { clientMessage } from '../../../src/stores/failure-report.ts';
import { createFailingDisk } from '../../support/disk/failing-disk.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { systemError } from '../../support/disk/memory-disk.ts';
import {
  assertHeld,
  assertPets,
  assertRefused,
  copyOf,
  createId,
  failing,
  holdSync,
  idsIn,
  JOURNAL,
  nameOf,
  openScene,
  SNAPSHOT,
  told,
  UNFINISHED,
} from '../../support/disk/store-scene.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

test('The message to a create in doubt has the reason, with the name of the error as it is', async () => {
  const { store, disk } = await openScene(1);
  disk.fault = failing('sync');
  await assert.rejects(store.create({ name: 'Rex', categoryId: 1n }), {
    message: 'It is not known whether the pet was stored: EIO: simulated',
  });
});

for (const pets of [0, 2]) {
  test(`A write that fails after some bytes adds nothing to ${pets} pets`, async () => {
    const scene = await openScene(pets);
    const { store, disk } = scene;
    const ids = [1, 2, 3].slice(0, pets + 1);
    let isShort = true;
    disk.fault = ({ operation, path }) => {
      if (operation !== 'writeNow') return undefined;
      if (!isShort) throw systemError('EDQUOT', path);
      isShort = false;
      return 10;
    };
    await assertRefused(store, /^Pets cannot be stored: EDQUOT: simulated$/);
    assert.match(store.problem()!, /EDQUOT/);
    await assertPets(scene, ids.slice(0, -1));
    disk.fault = () => undefined;
    assert.equal(await createId(store), pets + 1);
    assert.equal(store.problem(), undefined);
    await assertPets(scene, ids);
  });
}

test('A write of nothing without an error is refused', async () => {
  const scene = await openScene(1);
  let writes = 0;
  scene.disk.fault = ({ operation, path }) => {
    if (operation !== 'writeNow') return undefined;
    if ((writes += 1) > 1) throw systemError('EIO', path);
    return 0;
  };
  await assertRefused(scene.store, /^Pets cannot be stored: The file system wrote nothing/);
  await assertPets(scene, [1]);
});

test('A rename or removal that reports failure and took effect counts as done', async () => {
  const { store, disk, memory } = await openScene(2);
  const failSync = failing(`sync ${JOURNAL}`);
  const late = async (changing: Promise<void>): Promise<void> => {
    await changing;
    throw systemError('EIO', JOURNAL);
  };
  disk.fault = (call) =>
    call.operation === 'rename' ? late(memory.rename(call.path, JOURNAL)) : failSync(call);
  assert.equal(await createId(store), 3);
  const killed = copyOf(memory);
  killed.write(`${UNFINISHED}0123abcd`, 'left by a process that was killed');
  const next = createFailingDisk(killed);
  next.fault = ({ operation, path }) =>
    operation === 'remove' ? late(killed.remove(path)) : undefined;
  assert.deepEqual(await idsIn(await openFileStore({ path: SNAPSHOT, disk: next })), [1, 2, 3]);
});

test('A file that cannot be finished is removed, unless another program has replaced it', async () => {
  for (const isReplaced of [false, true]) {
    const { store, disk, memory } = await openScene(1);
    const failSync = failing(`sync ${JOURNAL}`);
    disk.fault = (call) => {
      if (!nameOf(call).startsWith(`sync ${UNFINISHED}`)) return failSync(call);
      if (isReplaced) void memory.remove(call.path);
      if (isReplaced) memory.write(call.path, 'of another program');
      throw systemError('EIO', call.path);
    };
    assert.equal(await told(store.create(REX)), 'unknown');
    const left = Object.keys(memory.contents()).filter((name) => name.startsWith(UNFINISHED));
    assert.equal(left.length, isReplaced ? 1 : 0);
  }
});

test('A line above 64 KiB is written without blocking the event loop', async () => {
  const { store, disk } = await openScene(1);
  for (const [length, write] of [
    [60_000, 'writeNow'],
    [70_000, 'write'],
  ] as const) {
    const before = disk.calls.length;
    await store.create({ ...REX, name: 'x'.repeat(length) });
    const steps = disk.calls.slice(before).filter(({ operation }) => operation !== 'stat');
    assert.deepEqual(steps.map(nameOf), [`${write} ${JOURNAL}`, `sync ${JOURNAL}`]);
  }
});

for (const [operation, outcome, counter] of [
  ['writeNow', 'refused', 'refusedCreates'],
  ['sync', 'unknown', 'unknownCreates'],
] as const) {
  test(`All creates of a commit are ${outcome} if its ${operation} fails`, async () => {
    const { store, disk } = await openScene(2);
    const { release, arrived } = holdSync(disk);
    const first = store.create(REX);
    await arrived;
    const others = Array.from({ length: 20 }, () => told(store.create(REX)));
    disk.fault = failing(operation);
    release();
    await first;
    assert.deepEqual(new Set(await Promise.all(others)), new Set([outcome]));
    assert.equal(store.stats()[counter], 20);
  });
}

test('Each create with a key that the store refuses is counted once', async () => {
  const { store, disk } = await openScene(2);
  disk.fault = failing('writeNow');
  const creates = Array.from({ length: 20 }, () => told(store.createOnce(REX, requestKey(1))));
  assert.deepEqual(new Set(await Promise.all(creates)), new Set(['refused']));
  assert.equal(store.stats().refusedCreates, 20);
  await store.close();
  assert.equal(await told(store.createOnce(REX, requestKey(1))), 'refused');
  assert.equal(store.stats().refusedCreates, 21);
});

test('If a sync fails and the journal cannot be closed, a new file has the create in doubt', async () => {
  const scene = await openScene(2);
  scene.disk.fault = failing(`sync ${JOURNAL}`, `close ${JOURNAL}`);
  assert.equal(await createId(scene.store), 3);
  await assertPets(scene, [1, 2, 3]);
});

test('After a rename that reported failure, and a stat that failed, all pets are saved', async () => {
  const scene = await openScene(2);
  const { store, disk, memory, clock } = scene;
  const fails = failing(`sync ${JOURNAL}`);
  let isRenamed = false;
  let isBlind = false;
  disk.fault = (call) => {
    const name = nameOf(call);
    if (name.startsWith(`rename ${UNFINISHED}`) && !isRenamed) {
      isRenamed = true;
      return memory.rename(call.path, JOURNAL).then(() => {
        isBlind = true;
        throw systemError('EIO', call.path);
      });
    }
    if (isBlind && name === `stat ${JOURNAL}`) {
      isBlind = false;
      throw systemError('EIO', JOURNAL);
    }
    return fails(call);
  };
  assert.equal(await told(store.create(REX)), 'unknown');
  disk.fault = () => undefined;
  await clock.pass(1000);
  assert.equal(store.log.state, 'readOnly');
  assert.equal(store.whereAreThePets(), 'saved');
  await assertHeld(memory, [1, 2, 3]);
});

test('A new file is tried each second, and a slow one after nine times as long as it took', async () => {
  const scene = await openScene(2);
  const { store, disk, memory, clock } = scene;
  const fails = failing('sync');
  let tookMs = 0;
  disk.fault = (call) => {
    if (nameOf(call).startsWith(`sync ${UNFINISHED}`)) clock.ms += tookMs;
    return fails(call);
  };
  assert.equal(await told(store.create(REX)), 'unknown');
  const triedAt = new Set<number>();
  for (let second = 1; second <= 15; second += 1) {
    if (second === 3) tookMs = 500;
    const before = disk.calls.length;
    await clock.pass(1000);
    if (disk.calls.slice(before).some((call) => nameOf(call).startsWith(`open ${UNFINISHED}`))) {
      triedAt.add(second);
    }
    await assertRefused(store);
  }
  assert.deepEqual([...triedAt], [1, 2, 3, 8, 13]);
  assert.deepEqual(await idsIn(store), [1, 2]);
  await assertHeld(memory, [1, 2, 3]);
  disk.fault = () => undefined;
  await assert.rejects(store.create(REX), {
    retryAfterSeconds: 3,
    message: 'Pets cannot be stored: EIO: simulated; the next try is in 3 s',
  });
  await clock.pass(10_000);
  assert.equal(await createId(store), 4);
  assert.equal(store.problem(), undefined);
  await assertPets(scene, [1, 2, 3, 4]);
});

test('A lost journal is closed, though there is no room for a new one', async () => {
  const { store, disk, memory, clock } = await openScene(0);
  const before = disk.openFiles.size;
  disk.freeBytes = async () => 10;
  await memory.remove(JOURNAL);
  await clock.pass(1000);
  assert.equal(store.log.state, 'working');
  assert.equal(disk.openFiles.size, before - 1);
});

test('New files are tried at the next second if there is more room', async () => {
  const scene = await openScene(2);
  const { store, disk, clock } = scene;
  let free = 10;
  const { freeBytes } = disk;
  disk.freeBytes = async (path) => Math.min(free, await freeBytes(path));
  disk.fault = failing(`sync ${JOURNAL}`);
  assert.equal(await told(store.create(REX)), 'unknown');
  const before = disk.calls.length;
  for (let second = 1; second <= 4; second += 1) await clock.pass(1000);
  const tried = disk.calls.slice(before).map(nameOf);
  const isTried = tried.some((name) => name.startsWith(`open ${UNFINISHED}`));
  assert.ok(!isTried, 'Nothing is written without room for all of it');
  await assertRefused(store, /device: [0-9]+ bytes are needed, 10 are free; the next try/);
  free = 10_000;
  disk.fault = () => undefined;
  await clock.pass(1000);
  assert.equal(await createId(store), 4);
  await assertPets(scene, [1, 2, 3, 4]);
});

test('New files are tried if the disk cannot report its free bytes', async () => {
  const scene = await openScene(2);
  scene.disk.fault = failing(`sync ${JOURNAL}`);
  scene.disk.freeBytes = () => Promise.reject(systemError('ENOSYS', '/d'));
  assert.equal(await createId(scene.store), 3);
  await assertPets(scene, [1, 2, 3]);
});

test('Failed commits are a problem for five seconds, and logged when they begin, change and end', async () => {
  const { store, disk, events, clock } = await openScene(2);
  const failure = (code: string) => {
    const details = { cause: `${code}: simulated, '${JOURNAL}'`, dataFile: SNAPSHOT };
    return ['error', 'Pets cannot be stored', details];
  };
  disk.fault = failing('writeNow');
  await assertRefused(store);
  clock.ms += 2000;
  await assertRefused(store);
  disk.fault = ({ operation, path }) => {
    if (operation === 'writeNow') throw systemError('ENOSPC', path);
  };
  await assertRefused(store);
  assert.deepEqual(events, [failure('EIO'), failure('ENOSPC')]);
  disk.fault = failing('writeNow');
  clock.ms += 999;
  await assertRefused(store);
  assert.equal(events.length, 2);
  clock.ms += 4999;
  assert.notEqual(store.problem(), undefined);
  clock.ms += 1;
  assert.equal(store.problem(), undefined);
  disk.fault = () => undefined;
  await createId(store);
  await createId(store);
  assert.deepEqual(events.slice(2), [['info', 'Pets are stored again', undefined]]);
});

test('A log that throws fails no create, and leaves none waiting', async () => {
  const scene = await openScene(2, () => {
    throw new Error('The log is broken');
  });
  const { store, disk } = scene;
  disk.fault = failing('writeNow');
  const outcomes = await Promise.all([store.create(REX), store.create(REX)].map(told));
  assert.deepEqual(outcomes, ['refused', 'refused']);
  disk.fault = () => undefined;
  assert.equal(await createId(store), 3);
  assert.equal(store.problem(), undefined);
  await assertPets(scene, [1, 2, 3]);
});

test('Creates of 64 MiB together may wait; one more is refused', async () => {
  const { store, disk } = await openScene();
  const { release, arrived } = holdSync(disk);
  const first = store.create(REX);
  await arrived;
  // Two bytes for each é, so that a store that counts characters takes twice as many.
  const name = 'é'.repeat(1 << 19);
  const creates = Array.from({ length: 64 }, () => told(store.create({ name, categoryId: 7n })));
  await assertRefused(store, /^Too many pets are waiting to be stored$/);
  disk.fault = failing('write');
  release();
  await first;
  assert.deepEqual(new Set(await Promise.all(creates)), new Set(['refused']));
});

for (const [what, error, message] of [
  ['no path of a system error', systemError('EIO', JOURNAL), 'EIO: simulated'],
  [
    'no system call of a system error',
    Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' }),
    'EIO: i/o error',
  ],
  ['no path of any other error', new Error(`${JOURNAL} is not a file`), 'the log shows the cause'],
  [
    'no path of a Windows disk',
    new Error('C:\\pets.json is not a file'),
    'the log shows the cause',
  ],
  [
    'all of an error of the store',
    Object.assign(new Error('ENOSPC: no room: 5, 2 are free'), { code: 'ENOSPC' }),
    'ENOSPC: no room: 5, 2 are free',
  ],
  ['all of a text without a path', 'no i/o, but a, b', 'no i/o, but a, b'],
] as const) {
  test(`Clients get ${what}`, () => {
    assert.equal(clientMessage(error), message);
  });
}
