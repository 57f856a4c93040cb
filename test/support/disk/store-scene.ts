/** A file store on a disk in memory that fails as a test says, with a clock that the test moves. */

import assert from 'node:assert/strict';
import type { Log } from '../../../src/base/log.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/model/pet-store.ts';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { TestClock } from '../test-clock.ts';
import { createFailingDisk, type DiskCall, type FailingDisk } from './failing-disk.ts';
import { REX } from './journal-text.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from './memory-disk.ts';

export const SNAPSHOT = '/d/pets.json';
export const JOURNAL: string = `${SNAPSHOT}.journal`;
export const LOCK: string = `${SNAPSHOT}.lock`;
/** How the names of unfinished files begin. */
export const UNFINISHED: string = `${SNAPSHOT}.unfinished-`;

export interface StoreScene {
  readonly store: FileStore;
  readonly disk: FailingDisk;
  /** The same disk, without faults. */
  readonly memory: MemoryDisk;
  readonly clock: TestClock;
  readonly pets: PetTable;
  /** Each event that was logged: level, event and details. */
  readonly events: unknown[][];
}

/** Opens a store and stores so many pets. `log` is called for each event, too. */
export async function openScene(pets = 0, log: Log = () => undefined): Promise<StoreScene> {
  const memory = createMemoryDisk();
  const disk = createFailingDisk(memory);
  const clock = new TestClock();
  const table = new PetTable();
  const events: unknown[][] = [];
  const store = await openFileStore({
    ...{ path: SNAPSHOT, disk, pets: table, ...clock.options },
    log: (level, event, details) => {
      events.push([level, event, details]);
      log(level, event, details);
    },
  });
  for (let pet = 1; pet <= pets; pet += 1) assert.equal(await createId(store), pet);
  events.length = 0;
  return { store, disk, memory, clock, pets: table, events };
}

/** Fails each call whose operation and path begin like one of these. */
export function failing(...names: readonly string[]): FailingDisk['fault'] {
  return (call) => {
    if (names.some((start) => nameOf(call).startsWith(start))) throw systemError('EIO', call.path);
  };
}

/** Holds each sync until `release` is called. `arrived` resolves at the first sync. */
export function holdSync(disk: FailingDisk): {
  readonly release: (error?: Error) => void;
  readonly arrived: Promise<void>;
} {
  let release: (error?: Error) => void = () => undefined;
  let arrive = (): void => undefined;
  const held = new Promise<void>((resolve, reject) => {
    release = (error) => (error === undefined ? resolve() : reject(error));
  });
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  disk.fault = ({ operation }) => {
    if (operation !== 'sync') return undefined;
    arrive();
    return held;
  };
  return { release, arrived };
}

/** Resolves with the id of a new pet. */
export async function createId(store: FileStore): Promise<number> {
  return Number((await store.create(REX)).id);
}

/** The outcome of a create, as its client sees it. */
export type Told = 'stored' | 'refused' | 'unknown';

export async function told(creating: Promise<unknown>): Promise<Told> {
  try {
    await creating;
    return 'stored';
  } catch (error) {
    if (error instanceof StoreUnavailableError) return 'refused';
    assert.ok(error instanceof OutcomeUnknownError, String(error));
    return 'unknown';
  }
}

/** Reads see these pets, and so does a start if the process ends now. */
export async function assertPets(
  { store, memory }: StoreScene,
  ids: readonly number[],
): Promise<void> {
  assert.deepEqual(await idsIn(store), ids);
  assert.equal(store.count().total, ids.length);
  assert.equal(await store.get(BigInt(ids.length + 1)), undefined);
  await assertHeld(memory, ids);
}

/** A start finds these pets in the files as they are now. */
export async function assertHeld(memory: MemoryDisk, ids: readonly number[]): Promise<void> {
  const store = await openFileStore({ path: SNAPSHOT, disk: copyOf(memory) });
  assert.deepEqual(await idsIn(store), ids);
}

/** The files as they are now, without the process that uses them. */
export function copyOf(memory: MemoryDisk): MemoryDisk {
  const disk = createMemoryDisk();
  for (const path of Object.keys(memory.contents())) disk.write(path, memory.read(path));
  return disk;
}

export async function idsIn(store: FileStore): Promise<readonly number[]> {
  const { pets } = await store.list({ limit: 100 });
  return pets.map(({ id }) => Number(id));
}

export function nameOf({ operation, path }: DiskCall): string {
  return `${operation} ${path}`;
}
