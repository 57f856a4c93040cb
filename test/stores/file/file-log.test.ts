/**
 * The states of the file log: each row of the table in file-log-state.ts, and what creates,
 * readiness and the end of the process are told in each state.
 */

import assert from 'node:assert/strict';
import { existsSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Log } from '../../../src/base/log.ts';
import {
  isSafe,
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetsLocation,
} from '../../../src/model/pet-store.ts';
import { NEXT_STATES } from '../../../src/stores/file/file-log-state.ts';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { createFailingDisk, type FailingDisk } from '../../support/disk/failing-disk.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import { requestKey } from '../../support/pets/request-keys.ts';
import { tempDir } from '../../support/disk/temp-dir.ts';
import { TestClock } from '../../support/test-clock.ts';

const PATH = '/d/pets.json';
const JOURNAL = `${PATH}.journal`;
const LOCK = `${PATH}.lock`;

interface Scene {
  readonly store: FileStore;
  readonly disk: FailingDisk;
  readonly memory: MemoryDisk;
  readonly clock: TestClock;
  readonly pets: PetTable;
  readonly log: string[];
  lost: string | undefined;
}

/** A store with one pet in its journal. */
async function begin(): Promise<Scene> {
  const memory = createMemoryDisk();
  const disk = createFailingDisk(memory);
  const clock = new TestClock();
  const pets = new PetTable();
  const log: string[] = [];
  const store = await openFileStore({
    ...{ path: PATH, disk, pets, ...clock.options },
    log: (level, event, details) =>
      void log.push(
        `${level} ${event} ${Object.values(details ?? {})
          .map(String)
          .join(' ')}`,
      ),
  });
  await store.create(REX);
  const scene: Scene = { store, disk, memory, clock, pets, log, lost: undefined };
  void store.lost.then(({ message }) => (scene.lost = message));
  return scene;
}

/** What a create comes to. */
type Told = 'stored' | 'refused' | 'unknown';

async function told(creating: Promise<unknown>): Promise<Told> {
  try {
    await creating;
    return 'stored';
  } catch (error) {
    if (error instanceof StoreUnavailableError) return 'refused';
    assert.ok(error instanceof OutcomeUnknownError, String(error));
    return 'unknown';
  }
}

/** Fails all operations with such names. */
function failing(...names: readonly string[]): FailingDisk['fault'] {
  return ({ operation, path }) => {
    const name = `${operation} ${path}`;
    if (names.some((start) => name.startsWith(start))) throw systemError('EIO', path);
  };
}

/** Does something once at the next sync of the journal, as another program would. */
function atSync(scene: Scene, act: () => unknown): void {
  let isDone = false;
  scene.disk.fault = ({ operation, path }) => {
    if (operation !== 'sync' || path !== JOURNAL || isDone) return;
    isDone = true;
    void act();
  };
}

interface Row {
  readonly what: string;
  /** What goes before, from `working`. */
  readonly before?: (scene: Scene) => Promise<void>;
  /** What happens; it returns what the create that meets it comes to, if there is one. */
  readonly event: (scene: Scene) => Promise<Told | undefined>;
  readonly told?: Told;
  readonly state: string;
  readonly hasDoubt: boolean;
  readonly where: PetsLocation;
  readonly lost?: RegExp;
}

const create = (scene: Scene): Promise<Told> => told(scene.store.createOnce(REX, requestKey(1)));

/** Into `reviving` with a commit in doubt, where each try fails. */
const intoDoubt = async (scene: Scene): Promise<void> => {
  scene.disk.fault = failing('sync', 'open /d/pets.json.tmp');
  assert.equal(await create(scene), 'unknown');
};

const ROWS: readonly Row[] = [
  {
    what: 'working, a sync fails, and so does the first try',
    event: (scene) => {
      scene.disk.fault = failing(`sync ${JOURNAL}`, 'open /d/pets.json.tmp');
      return create(scene);
    },
    ...{ told: 'unknown', state: 'reviving', hasDoubt: true, where: 'journal' },
  },
  {
    what: 'working, a roll-back fails, and so does the first try',
    event: (scene) => {
      scene.disk.fault = failing('writeNow', 'truncate', 'open /d/pets.json.tmp');
      return create(scene);
    },
    ...{ told: 'unknown', state: 'reviving', hasDoubt: true, where: 'journal' },
  },
  {
    what: 'working, the journal is missing before a write',
    event: async (scene) => {
      await scene.memory.remove(JOURNAL);
      scene.disk.fault = failing('open /d/pets.json.tmp');
      return create(scene);
    },
    ...{ told: 'refused', state: 'reviving', hasDoubt: false, where: 'memory only' },
  },
  {
    what: 'working, the journal is missing, and nobody creates',
    event: async (scene) => {
      await scene.memory.remove(JOURNAL);
      scene.disk.fault = failing('open /d/pets.json.tmp');
      await scene.clock.pass(1000);
      return undefined;
    },
    ...{ state: 'reviving', hasDoubt: false, where: 'memory only' },
  },
  {
    what: 'working, the journal was truncated in place',
    event: async (scene) => {
      await (await scene.memory.open(JOURNAL, 'edit')).truncate(10);
      scene.disk.fault = failing('open /d/pets.json.tmp');
      return create(scene);
    },
    ...{ told: 'refused', state: 'reviving', hasDoubt: false, where: 'memory only' },
  },
  {
    what: 'working, the journal is missing after the sync',
    event: (scene) => {
      atSync(scene, () => {
        void scene.memory.remove(JOURNAL);
        scene.disk.fault = failing('open /d/pets.json.tmp');
      });
      return create(scene);
    },
    ...{ told: 'unknown', state: 'reviving', hasDoubt: true, where: 'memory only' },
  },
  {
    what: 'working, it cannot be told after the sync',
    event: (scene) => {
      atSync(scene, () => {
        scene.disk.fault = failing(`stat ${JOURNAL}`, 'open /d/pets.json.tmp');
      });
      return create(scene);
    },
    ...{ told: 'unknown', state: 'reviving', hasDoubt: true, where: 'cannot be told' },
  },
  {
    what: 'working, the lock is lost before a write',
    event: async (scene) => {
      await scene.memory.remove(LOCK);
      return create(scene);
    },
    ...{ told: 'refused', state: 'readOnly', hasDoubt: false, where: 'journal' },
    lost: /The lock file was removed/,
  },
  {
    what: 'working, the lock is replaced, and nobody creates',
    event: async (scene) => {
      await scene.memory.remove(LOCK);
      scene.memory.write(LOCK, '');
      await scene.clock.pass(1000);
      return undefined;
    },
    ...{ state: 'readOnly', hasDoubt: false, where: 'journal', lost: /was replaced/ },
  },
  {
    what: 'working, the lock is lost after the sync',
    event: (scene) => {
      atSync(scene, () => scene.memory.remove(LOCK));
      return create(scene);
    },
    ...{ told: 'unknown', state: 'readOnly', hasDoubt: true, where: 'journal', lost: /lock file/ },
  },
  {
    what: 'working, lock and journal are removed',
    event: async (scene) => {
      await scene.memory.remove(LOCK);
      await scene.memory.remove(JOURNAL);
      return create(scene);
    },
    ...{ told: 'refused', state: 'readOnly', hasDoubt: false, where: 'saved', lost: /lock file/ },
  },
  {
    what: 'working, another file is in the place of the journal',
    event: async (scene) => {
      await scene.memory.remove(JOURNAL);
      scene.memory.write(JOURNAL, 'a note of somebody else');
      return create(scene);
    },
    ...{ told: 'refused', state: 'readOnly', hasDoubt: false, where: 'saved' },
  },
  {
    what: 'working, memory fails after a sync',
    event: (scene) => {
      scene.pets.append = () => {
        throw new RangeError('Array buffer allocation failed');
      };
      return create(scene);
    },
    ...{ told: 'unknown', state: 'readOnly', hasDoubt: true, where: 'journal', lost: /Memory/ },
  },
  {
    what: 'reviving, a try fails',
    before: intoDoubt,
    event: async (scene) => {
      await scene.clock.pass(1000);
      return create(scene);
    },
    ...{ told: 'unknown', state: 'reviving', hasDoubt: true, where: 'journal' },
  },
  {
    what: 'reviving, the doubt is durable, and the journal cannot be removed',
    before: intoDoubt,
    event: async (scene) => {
      scene.disk.fault = failing(`read ${JOURNAL}`, `remove ${JOURNAL}`);
      await scene.clock.pass(1000);
      return create(scene);
    },
    ...{ told: 'stored', state: 'reviving', hasDoubt: false, where: 'snapshot' },
  },
  {
    what: 'reviving, the journal is renewed',
    before: intoDoubt,
    event: async (scene) => {
      scene.disk.fault = () => undefined;
      await scene.clock.pass(1000);
      return create(scene);
    },
    ...{ told: 'stored', state: 'working', hasDoubt: false, where: 'journal' },
  },
  {
    what: 'reviving, the lock is lost',
    before: intoDoubt,
    event: async (scene) => {
      scene.disk.fault = () => undefined;
      await scene.memory.remove(LOCK);
      await scene.clock.pass(1000);
      return create(scene);
    },
    ...{ told: 'unknown', state: 'readOnly', hasDoubt: true, where: 'journal', lost: /lock file/ },
  },
  {
    what: 'reviving, another file is in the place of the journal',
    before: intoDoubt,
    event: async (scene) => {
      scene.disk.fault = () => undefined;
      await scene.memory.remove(JOURNAL);
      scene.memory.write(JOURNAL, 'a note of somebody else');
      await scene.clock.pass(1000);
      return create(scene);
    },
    ...{ told: 'unknown', state: 'readOnly', hasDoubt: true, where: 'saved' },
  },
  {
    what: 'reviving, another file is in the place of the snapshot',
    before: intoDoubt,
    event: async (scene) => {
      scene.disk.fault = () => undefined;
      scene.memory.write(PATH, '[]');
      await scene.clock.pass(1000);
      return create(scene);
    },
    ...{ told: 'unknown', state: 'readOnly', hasDoubt: true, where: 'saved' },
  },
  {
    what: 'reviving, memory fails when the doubt is published',
    before: intoDoubt,
    event: async (scene) => {
      scene.disk.fault = () => undefined;
      scene.pets.append = () => {
        throw new RangeError('Array buffer allocation failed');
      };
      await scene.clock.pass(1000);
      return create(scene);
    },
    ...{ told: 'unknown', state: 'readOnly', hasDoubt: true, where: 'journal', lost: /Memory/ },
  },
];

for (const row of ROWS) {
  test(`${row.what}: ${row.state}, the pets are in ${row.where}`, async () => {
    const scene = await begin();
    await row.before?.(scene);
    assert.equal(await row.event(scene), row.told);
    assert.equal(scene.store.log.state, row.state);
    assert.equal(scene.store.log.doubtOf(requestKey(1)) !== undefined, row.hasDoubt);
    assert.equal(scene.store.whereAreThePets(), row.where);
    assert.match(String(scene.lost), row.lost ?? /^undefined$/);
    // Readiness is exact, and a create is refused without any operation of the disk.
    assert.equal(scene.store.problem() === undefined, row.state === 'working');
    if (row.state === 'working') return;
    const calls = scene.disk.calls.length;
    const queued = scene.store.create(REX);
    assert.equal(await told(queued), 'refused');
    assert.equal(scene.disk.calls.length, calls);
    await scene.store.close().catch(() => undefined);
    assert.equal(scene.store.log.state, 'closed');
    assert.equal(scene.disk.openFiles.size, 0);
  });
}

test('No state follows that the table does not name', () => {
  assert.deepEqual(NEXT_STATES, {
    working: ['reviving', 'readOnly', 'closing'],
    reviving: ['reviving', 'working', 'readOnly', 'closing'],
    readOnly: ['closing'],
    closing: ['closing', 'closed'],
    closed: [],
  });
});

test('All creates that wait are refused when the log begins to revive', async () => {
  const scene = await begin();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let isSyncing = (): void => undefined;
  const syncing = new Promise<void>((resolve) => (isSyncing = resolve));
  scene.disk.fault = ({ operation, path }) => {
    if (operation !== 'sync' || path !== JOURNAL) return undefined;
    isSyncing();
    return held.then(() => {
      throw systemError('EIO', path);
    });
  };
  const first = scene.store.create(REX);
  await syncing;
  assert.equal(scene.store.whereAreThePets(), 'cannot be told');
  const waiting = [scene.store.create(REX), scene.store.create(REX)].map(told);
  release();
  // The one in doubt waits for the first try, which succeeds.
  assert.equal((await first).id, 2n);
  assert.deepEqual(await Promise.all(waiting), ['refused', 'refused']);
});

// Ends

interface End {
  readonly what: string;
  readonly event: (scene: Scene) => Promise<unknown>;
  /** How close ends: undefined for success. */
  readonly error?: RegExp;
  readonly where: PetsLocation;
}

const ENDS: readonly End[] = [
  { what: 'nothing special', event: async () => undefined, where: 'snapshot' },
  {
    what: 'lock and journal removed',
    event: async ({ memory }) => {
      await memory.remove(JOURNAL);
      await memory.remove(LOCK);
    },
    where: 'saved',
  },
  {
    what: 'the journal removed',
    event: ({ memory }) => memory.remove(JOURNAL),
    where: 'snapshot',
  },
  {
    what: 'a full disk',
    event: async ({ disk }) => {
      disk.fault = failing('open /d/pets.json.tmp', 'open /d/pets.json.saved');
    },
    where: 'journal',
  },
  {
    what: 'the journal removed on a full disk',
    event: async ({ memory, disk }) => {
      await memory.remove(JOURNAL);
      disk.fault = failing('open /d/pets.json.tmp', 'open /d/pets.json.saved');
    },
    error: /The 1 acknowledged pets were in memory, and could not be saved: .*EIO/,
    where: 'memory only',
  },
  {
    what: 'a file system that was shut down',
    event: async ({ disk }) => {
      disk.fault = () => {
        throw systemError('EIO', '/');
      };
    },
    error: /It cannot be told where the acknowledged pets are/,
    where: 'cannot be told',
  },
];

for (const { what, event, error, where } of ENDS) {
  test(`A close after ${what}: the pets are in ${where}`, async () => {
    const scene = await begin();
    await event(scene);
    const startedAt = scene.clock.ms;
    if (error === undefined) await scene.store.close();
    else await assert.rejects(scene.store.close(), error);
    assert.equal(scene.store.whereAreThePets(), where);
    assert.equal(error === undefined, isSafe(where));
    if (where === 'memory only') assert.equal(scene.clock.ms - startedAt, 60_000);
    if (where !== 'saved') return;
    const saved = Object.keys(scene.memory.contents()).find((path) => path.includes('.saved-'));
    assert.ok(scene.log.some((line) => line.includes('Saved all') && line.includes(saved!)));
    assert.match(scene.memory.read(saved!).toString(), /"id":1,"name":"Rex"/);
  });
}

test('While memory has the only copy, a close tries again until there is room', async () => {
  const scene = await begin();
  await scene.memory.remove(JOURNAL);
  scene.memory.write(JOURNAL, 'a note of somebody else');
  scene.disk.fault = ({ path, operation }) => {
    if (operation === 'write' && scene.clock.ms < 20_000) throw systemError('ENOSPC', path);
  };
  await scene.store.close();
  assert.equal(scene.store.whereAreThePets(), 'saved');
  assert.equal(scene.clock.ms, 20_000);
  const names = Object.keys(scene.memory.contents()).filter((path) => path.includes('saved'));
  assert.deepEqual([names.length, names[0]!.endsWith('.part')], [1, false]);
});

test('Saving is tried again each second until it succeeds, and says once a minute what to do', async () => {
  const scene = await begin();
  await scene.memory.remove(JOURNAL);
  scene.memory.write(JOURNAL, 'a note of somebody else');
  scene.disk.fault = failing('open /d/pets.json.saved');
  for (let second = 0; second < 90; second += 1) await scene.clock.pass(1000);
  assert.equal(scene.store.whereAreThePets(), 'memory only');
  const advice = scene.log.filter((line) => line.includes('The store has become read-only'));
  assert.equal(advice.length, 2);
  assert.match(advice[0]!, /stop the service; put back the files of one backup/);
  scene.disk.fault = () => undefined;
  await scene.clock.pass(1000);
  assert.equal(scene.store.whereAreThePets(), 'saved');
  assert.equal(scene.lost, undefined, 'A start would be refused');
});

// Starts

test('A start beside saved files alone is refused, and names one', async () => {
  const disk = createMemoryDisk({ [`${PATH}.saved-20261121T201500123Z`]: '[]' });
  await assert.rejects(openFileStore({ path: PATH, disk }), {
    message:
      /^There is no data file \/d\/pets\.json, but .*saved-20261121T201500123Z has the pets.*: rename/,
  });
  assert.equal(disk.contents()[PATH], undefined);
});

test('A start beside a newer saved file, or an unfinished one, warns with its name', async (t) => {
  const path = join(tempDir(t), 'pets.json');
  await (await openFileStore({ path })).close();
  utimesSync(path, new Date(0), new Date(0));
  const [saved, part] = [`${path}.saved-20261121T201500123Z`, `${path}.saved-1-7.part`];
  for (const file of [saved, part]) writeFileSync(file, '[]');
  const warned: unknown[] = [];
  const log: Log = (_level, event, details) => warned.push([event, details?.['file']]);
  const store = await openFileStore({ path, log });
  await store.close();
  assert.deepEqual(warned, [
    ['An unfinished saved file is beside the data file', part],
    ['A saved file is newer than the data file: it may have pets that are not there', saved],
  ]);
  assert.ok(existsSync(part));
});

// Clocks

for (const hours of [-25, 25]) {
  test(`A clock stepped by ${hours} hours while a commit is in doubt stores no second pet`, async () => {
    const scene = await begin();
    await intoDoubt(scene);
    scene.clock.offsetMs += hours * 3_600_000;
    assert.equal(await create(scene), 'unknown');
    scene.disk.fault = () => undefined;
    await scene.clock.pass(1000);
    const { pet, isReplayed } = await scene.store.createOnce(REX, requestKey(1));
    assert.deepEqual([pet.id, isReplayed, scene.store.count().total], [2n, true, 2]);
  });
}
