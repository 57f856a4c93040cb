/**
 * The states of the file log: each row of the table in file-log.ts, and what a create, readiness
 * and the end of the process are in each state.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSafe, type PetsLocation } from '../../../src/model/pet-store.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { systemError } from '../../support/disk/memory-disk.ts';
import {
  assertHeld,
  failing,
  holdSync,
  JOURNAL,
  LOCK,
  openScene,
  SNAPSHOT,
  told,
  UNFINISHED,
  type StoreScene,
  type Told,
} from '../../support/disk/store-scene.ts';
import { requestKey } from '../../support/pets/request-keys.ts';

/** A store, with one pet in its journal unless the test says otherwise; the error of `lost`. */
interface Scene extends StoreScene {
  lost: string | undefined;
}

async function begin(pets = 1): Promise<Scene> {
  const scene: Scene = { ...(await openScene(pets)), lost: undefined };
  void scene.store.log.lost.then(({ message }) => (scene.lost = message));
  return scene;
}

const create = (scene: Scene): Promise<Told> => told(scene.store.createOnce(REX, requestKey(1)));

/** Calls `act` once at the next sync of the journal, as another program would. */
function atSync({ disk }: Scene, act: () => unknown): void {
  let isDone = false;
  disk.fault = ({ operation, path }) => {
    if (operation !== 'sync' || path !== JOURNAL || isDone) return undefined;
    isDone = true;
    return Promise.resolve(act()).then(() => undefined);
  };
}

/**
 * Replaces lock and journal, as the next process does while this one is halted: between two of its
 * operations, the second of which is a stat of the journal.
 */
function takeOver({ disk, memory }: Scene): void {
  disk.fault = ({ operation, path }) => {
    if (operation !== 'stat' || path !== JOURNAL) return;
    disk.fault = () => undefined;
    for (const file of [LOCK, JOURNAL]) {
      void memory.remove(file);
      memory.write(file, 'of the next process');
    }
  };
}

function loseLockAtShortWrite({ disk, memory }: Scene): void {
  let writes = 0;
  disk.fault = ({ operation, path }) => {
    if (operation !== 'writeNow') return undefined;
    if ((writes += 1) === 1) return 9;
    void memory.remove(LOCK);
    throw systemError('EIO', path);
  };
}

/** Puts another file at the path. */
async function replace({ memory }: Scene, path: string): Promise<void> {
  await memory.remove(path);
  memory.write(path, 'a note of another program');
}

async function truncateJournal({ memory }: Scene): Promise<void> {
  await (await memory.open(JOURNAL, 'edit')).truncate(10);
}

async function overwriteJournal({ memory }: Scene): Promise<void> {
  (await memory.open(JOURNAL, 'edit')).writeNow(Buffer.alloc(1000, 'x'), 0, 0);
}

/** No new file can be made, so that each try to revive the journal fails. */
const failTries = ({ disk }: Scene): unknown => (disk.fault = failing(`open ${UNFINISHED}`));

const failMemory = ({ pets }: Scene): unknown =>
  (pets.append = () => {
    throw new RangeError('Array buffer allocation failed');
  });

interface Row {
  readonly what: string;
  /** How many pets the journal has; one unless it is given. */
  readonly pets?: number;
  readonly event: (scene: Scene) => unknown;
  /** The outcome of the create that meets the event; undefined if only a second passes. */
  readonly told: Told | undefined;
  readonly then: 'working' | 'reviving' | 'reviving, in doubt' | 'readOnly' | 'readOnly, in doubt';
  readonly where: PetsLocation;
  readonly lost?: RegExp;
}

const WORKING: readonly Row[] = [
  {
    what: 'a sync fails, and so does the first try',
    event: ({ disk }) => (disk.fault = failing(`sync ${JOURNAL}`, `open ${UNFINISHED}`)),
    ...{ told: 'unknown', then: 'reviving, in doubt', where: 'journal' },
  },
  {
    what: 'a roll-back fails, and so does the first try',
    event: ({ disk }) => (disk.fault = failing('writeNow', 'truncate', `open ${UNFINISHED}`)),
    ...{ told: 'unknown', then: 'reviving, in doubt', where: 'journal' },
  },
  {
    what: 'a write fails after some bytes, and the lock is lost',
    event: loseLockAtShortWrite,
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'journal', lost: /lock file/ },
  },
  {
    what: 'the journal is missing before a write',
    event: (scene) => (failTries(scene), scene.memory.remove(JOURNAL)),
    ...{ told: 'refused', then: 'reviving', where: 'memory only' },
  },
  {
    what: 'the journal is missing, and no client creates',
    event: (scene) => (failTries(scene), scene.memory.remove(JOURNAL)),
    ...{ told: undefined, then: 'reviving', where: 'memory only' },
  },
  {
    what: 'the journal is missing, no client creates, and the second try succeeds',
    async event(scene) {
      failTries(scene);
      await scene.memory.remove(JOURNAL);
      await scene.clock.pass(1000);
      scene.disk.fault = () => undefined;
    },
    ...{ told: undefined, then: 'working', where: 'journal' },
  },
  {
    what: 'the journal was overwritten in place by a longer text',
    event: (scene) => (failTries(scene), overwriteJournal(scene)),
    ...{ told: 'refused', then: 'reviving', where: 'memory only' },
  },
  {
    what: 'the journal is missing after the sync',
    event: (scene) => atSync(scene, () => (failTries(scene), scene.memory.remove(JOURNAL))),
    ...{ told: 'unknown', then: 'reviving, in doubt', where: 'memory only' },
  },
  {
    what: 'the journal is truncated during the sync',
    event: (scene) => atSync(scene, () => (failTries(scene), truncateJournal(scene))),
    ...{ told: 'unknown', then: 'reviving, in doubt', where: 'memory only' },
  },
  {
    what: 'the journal cannot be looked at after the sync',
    event: (scene) =>
      atSync(scene, () => (scene.disk.fault = failing(`stat ${JOURNAL}`, `open ${UNFINISHED}`))),
    ...{ told: 'unknown', then: 'reviving, in doubt', where: 'cannot be told' },
  },
  {
    what: 'the lock is lost before a write',
    event: ({ memory }) => memory.remove(LOCK),
    ...{ told: 'refused', then: 'readOnly', where: 'journal', lost: /The lock file was removed/ },
  },
  {
    what: 'the lock is replaced, and no client creates',
    event: (scene) => replace(scene, LOCK),
    ...{ told: undefined, then: 'readOnly', where: 'journal', lost: /was replaced/ },
  },
  {
    what: 'the lock is lost after the sync',
    event: (scene) => atSync(scene, () => scene.memory.remove(LOCK)),
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'journal', lost: /lock file/ },
  },
  {
    what: 'lock and journal are removed',
    event: ({ memory }) => Promise.all([memory.remove(LOCK), memory.remove(JOURNAL)]),
    ...{ told: 'refused', then: 'readOnly', where: 'saved' },
  },
  {
    what: 'lock and journal are removed, and saving fails',
    event({ memory, disk }) {
      disk.fault = failing(`open ${UNFINISHED}`);
      return Promise.all([memory.remove(LOCK), memory.remove(JOURNAL)]);
    },
    ...{ told: 'refused', then: 'readOnly', where: 'memory only' },
  },
  {
    what: 'another process takes over between the looks at lock and journal',
    event: takeOver,
    ...{ told: 'refused', then: 'readOnly', where: 'saved' },
  },
  {
    what: 'another file has replaced the journal',
    event: (scene) => replace(scene, JOURNAL),
    ...{ told: 'refused', then: 'readOnly', where: 'saved' },
  },
  {
    what: 'another file has replaced a journal without pets',
    pets: 0,
    event: (scene) => replace(scene, JOURNAL),
    ...{ told: 'refused', then: 'readOnly', where: 'snapshot' },
  },
  {
    what: 'a journal without pets is missing, and none can be made',
    pets: 0,
    event: (scene) => (failTries(scene), scene.memory.remove(JOURNAL)),
    ...{ told: 'refused', then: 'working', where: 'snapshot' },
  },
  {
    what: 'the data file is removed, and no client creates',
    event: ({ memory }) => memory.remove(SNAPSHOT),
    ...{ told: undefined, then: 'readOnly', where: 'saved' },
  },
  {
    what: 'another file has replaced the data file before a write',
    event: (scene) => replace(scene, SNAPSHOT),
    ...{ told: 'refused', then: 'readOnly', where: 'saved' },
  },
  {
    what: 'the same data file was put back',
    event: ({ memory }) => memory.write(SNAPSHOT, memory.read(SNAPSHOT)),
    ...{ told: 'stored', then: 'working', where: 'journal' },
  },
  {
    what: 'memory fails after a sync',
    event: failMemory,
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'journal', lost: /Memory/ },
  },
];

/** Each begins with a commit in doubt. After the event comes the next try, and then a create. */
const REVIVING: readonly Row[] = [
  {
    what: 'the try fails',
    event: failTries,
    ...{ told: 'unknown', then: 'reviving, in doubt', where: 'journal' },
  },
  {
    what: 'the new journal has its name, and the folder cannot be synced',
    event: ({ disk }) => (disk.fault = failing('syncDirectory')),
    ...{ told: 'unknown', then: 'reviving, in doubt', where: 'cannot be told' },
  },
  {
    what: 'the journal is renewed',
    event: () => undefined,
    ...{ told: 'stored', then: 'working', where: 'journal' },
  },
  {
    what: 'the lock is lost',
    event: ({ memory }) => memory.remove(LOCK),
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'journal', lost: /lock file/ },
  },
  {
    what: 'another process takes over between the looks at lock and journal',
    event: takeOver,
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'saved' },
  },
  {
    what: 'another file has replaced the journal',
    event: (scene) => replace(scene, JOURNAL),
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'saved' },
  },
  {
    what: 'another file has replaced the snapshot',
    event: (scene) => replace(scene, SNAPSHOT),
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'saved' },
  },
  {
    what: 'memory fails when the doubt is published',
    event: failMemory,
    ...{ told: 'unknown', then: 'readOnly, in doubt', where: 'journal', lost: /Memory/ },
  },
];

async function intoDoubt(scene: Scene): Promise<void> {
  scene.disk.fault = failing('sync', `open ${UNFINISHED}`);
  assert.equal(await create(scene), 'unknown');
}

for (const row of WORKING) {
  test(`working, ${row.what}: ${row.then}, the pets are in ${row.where}`, async () => {
    const scene = await begin(row.pets);
    await row.event(scene);
    await assertRow(row, scene);
  });
}

for (const row of REVIVING) {
  test(`reviving, ${row.what}: ${row.then}, the pets are in ${row.where}`, async () => {
    const scene = await begin();
    await intoDoubt(scene);
    scene.disk.fault = () => undefined;
    await row.event(scene);
    await scene.clock.pass(1000);
    await assertRow(row, scene);
  });
}

async function assertRow(row: Row, scene: Scene): Promise<void> {
  const { store, disk, clock } = scene;
  if (row.told === undefined) await clock.pass(1000);
  else assert.equal(await create(scene), row.told);
  const [state, doubt] = row.then.split(', ');
  assert.equal(store.log.state, state);
  assert.equal(store.log.doubtOf(requestKey(1)) !== undefined, doubt !== undefined);
  assert.equal(store.log.doubtOf(requestKey(2)), undefined);
  assert.equal(store.whereAreThePets(), row.where);
  assert.match(String(scene.lost), row.lost ?? /^undefined$/);
  if (state === 'working') return;
  // Readiness is exact, and a create is refused without any operation of the disk.
  assert.notEqual(store.problem(), undefined);
  const calls = disk.calls.length;
  assert.equal(await told(store.create(REX)), 'refused');
  assert.equal(disk.calls.length, calls);
  await store.close().catch(() => undefined);
  assert.equal(store.log.state, 'closed');
  assert.equal(disk.openFiles.size, 0);
}

test('A store that has lost its lock writes nothing at its close, though the lock is back', async () => {
  const { store, memory } = await begin();
  await memory.link(LOCK, '/d/moved');
  await memory.remove(LOCK);
  assert.equal(await told(store.create(REX)), 'refused');
  await memory.link('/d/moved', LOCK);
  const before = memory.contents();
  await store.close();
  assert.deepEqual(memory.contents(), before);
});

test('A retry of a key in doubt waits for the try in progress', async () => {
  const scene = await begin();
  await intoDoubt(scene);
  const { release, arrived } = holdSync(scene.disk);
  const passing = scene.clock.pass(1000);
  await arrived;
  const retry = create(scene);
  release();
  await passing;
  assert.equal(await retry, 'stored');
});

test('All creates that wait are refused when the log begins to revive', async () => {
  const { store, disk } = await begin();
  const { release, arrived } = holdSync(disk);
  const first = store.create(REX);
  await arrived;
  assert.equal(store.whereAreThePets(), 'cannot be told');
  const waiting = [store.create(REX), store.create(REX)].map(told);
  disk.fault = () => undefined;
  release(systemError('EIO', JOURNAL));
  // The one in doubt waits for the first try, which succeeds.
  assert.equal((await first).id, 2n);
  assert.deepEqual(await Promise.all(waiting), ['refused', 'refused']);
});

// Ends

interface End {
  readonly what: string;
  readonly event: (scene: Scene) => unknown;
  /** How close ends: undefined for success. */
  readonly error?: RegExp;
  readonly where: PetsLocation;
  /** How many pets the files have then. */
  readonly pets?: number;
}

const NO_NEW_FILES = failing(`open ${UNFINISHED}`);

const NOT_KNOWN =
  /It is not known that the 1 acknowledged pets are on the disk: EIO.* after .* may be lost/;

const ENDS: readonly End[] = [
  { what: 'nothing special', event: () => undefined, where: 'snapshot' },
  { what: 'a failed sync', event: intoDoubt, where: 'snapshot', pets: 2 },
  {
    what: 'lock and journal removed',
    event: ({ memory }) => Promise.all([memory.remove(LOCK), memory.remove(JOURNAL)]),
    where: 'saved',
  },
  { what: 'a full disk', event: ({ disk }) => (disk.fault = NO_NEW_FILES), where: 'journal' },
  {
    what: 'a folder that cannot be synced',
    event: ({ disk }) => (disk.fault = failing('syncDirectory')),
    error: NOT_KNOWN,
    where: 'cannot be told',
  },
  {
    what: 'the journal removed on a full disk',
    event({ memory, disk }) {
      disk.fault = NO_NEW_FILES;
      return memory.remove(JOURNAL);
    },
    error: NOT_KNOWN,
    where: 'memory only',
  },
  {
    what: 'a file system that was shut down',
    event: ({ disk }) => (disk.fault = failing('')),
    error: NOT_KNOWN,
    where: 'cannot be told',
  },
];

for (const { what, event, error, where, pets = 1 } of ENDS) {
  test(`A close after ${what}: the pets are in ${where}`, async () => {
    const scene = await begin();
    const { store, disk, memory, clock } = scene;
    await event(scene);
    if (what === 'a failed sync') disk.fault = () => undefined;
    if (error === undefined) await store.close();
    else await assert.rejects(store.close(), error);
    assert.equal(store.whereAreThePets(), where);
    assert.equal(error === undefined, isSafe(where));
    assert.equal(disk.openFiles.size, 0);
    assert.equal(clock.ms, error === undefined ? 0 : 60_000);
    const names = Object.keys(memory.contents());
    // That of the failed sync is of a create with a key.
    const hasNone = where === 'snapshot' && what !== 'a failed sync';
    if (where !== 'memory only' && where !== 'saved') {
      assert.equal(names.includes(JOURNAL), !hasNone);
    }
    const logged = JSON.stringify(scene.events);
    assert.equal(logged.includes('A checkpoint failed: the journal'), where === 'journal');
    const saved = names.find((name) => name.includes('.saved-'));
    assert.equal(saved !== undefined && logged.includes(saved), where === 'saved');
    const file = saved ?? SNAPSHOT;
    if (where === 'snapshot' || where === 'saved') {
      assert.equal(memory.read(file).toString().split('"name":"Rex"').length - 1, pets);
    }
  });
}

test('A close makes a new snapshot if the folder was not synced after the rename of one', async () => {
  const { store, disk, memory, clock } = await begin();
  let syncs = 0;
  disk.fault = ({ operation, path }) => {
    if (operation === 'syncDirectory' && (syncs += 1) === 1) throw systemError('EIO', path);
  };
  const before = disk.calls.length;
  await store.close();
  assert.equal(store.whereAreThePets(), 'snapshot');
  assert.equal(clock.ms, 1000);
  const steps = disk.calls.slice(before).filter(({ operation }) => operation === 'rename');
  assert.equal(steps.length, 2);
  await assertHeld(memory, [1]);
});

test('Saving is tried each second until it succeeds, and the log says once a minute what to do', async () => {
  const scene = await begin();
  await replace(scene, JOURNAL);
  scene.disk.fault = NO_NEW_FILES;
  for (let second = 0; second < 90; second += 1) await scene.clock.pass(1000);
  assert.equal(scene.store.whereAreThePets(), 'memory only');
  const advice = scene.events.filter(([, event]) => event === 'The store is read-only');
  assert.equal(advice.length, 2);
  assert.match(JSON.stringify(advice[0]), /stop the service; put back the files of one backup/);
  scene.disk.fault = () => undefined;
  await scene.clock.pass(1000);
  assert.equal(scene.store.whereAreThePets(), 'saved');
  assert.equal(scene.lost, undefined, 'A start would be refused');
});
