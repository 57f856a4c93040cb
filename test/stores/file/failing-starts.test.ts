/**
 * Failures of the disk while a store starts on the files of a process that was killed: what is
 * written to which file, and that the next start finds every pet.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFileStore } from '../../../src/stores/file/file-store.ts';
import { createFailingDisk, intercept, type FailingDisk } from '../../support/disk/failing-disk.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from '../../support/disk/memory-disk.ts';
import {
  assertHeld,
  assertRefused,
  copyOf,
  createId,
  failing,
  idsIn,
  JOURNAL,
  nameOf,
  openScene,
  SNAPSHOT,
  UNFINISHED,
} from '../../support/disk/store-scene.ts';

/** A disk with the files of a store with pets in its journal, as a kill -9 leaves them. */
async function killedDisk(pets = 2): Promise<{ memory: MemoryDisk; disk: FailingDisk }> {
  const memory = copyOf((await openScene(pets)).memory);
  return { memory, disk: createFailingDisk(memory) };
}

const NO_NEW_FILES = failing(`open ${UNFINISHED}`);

const syncsOf = ({ calls }: FailingDisk): number =>
  calls.filter((call) => nameOf(call) === `sync ${JOURNAL}`).length;

test('A start on a full disk is refused if the sync of the journal fails, and makes no second one', async () => {
  const { memory, disk } = await killedDisk();
  const before = memory.read(JOURNAL);
  disk.fault = (call) => {
    NO_NEW_FILES(call);
    if (nameOf(call) === `sync ${JOURNAL}` && syncsOf(disk) === 1)
      throw systemError('EIO', JOURNAL);
  };
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), {
    message: /^\S+ cannot be made durable: free [0-9]+ bytes for a new journal \(EIO: .*; EIO: /,
  });
  assert.equal(syncsOf(disk), 1);
  assert.ok(disk.calls.map(nameOf).includes(`sync ${SNAPSHOT}`), 'The snapshot is synced, too');
  assert.equal(disk.openFiles.size, 0);
  assert.deepEqual(memory.read(JOURNAL), before);
  await assertHeld(memory, [1, 2]);
});

test('A start with a torn first write and no snapshot is refused if none can be made', async () => {
  const journal = '\0'.repeat(300);
  const memory = createMemoryDisk({ [JOURNAL]: journal });
  const disk = createFailingDisk(memory);
  disk.fault = failing(`write ${UNFINISHED}`);
  // Otherwise creates would go to a journal without a snapshot, which the next start refuses.
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), /EIO/);
  assert.equal(disk.openFiles.size, 0);
  assert.equal(memory.read(JOURNAL).toString(), journal);
  await assertHeld(memory, []);
});

for (const [pets, line] of [
  [1, 'its only line'],
  [2, 'the last line'],
] as const) {
  test(`A start on a full disk writes ${line} of the journal again`, async () => {
    const { memory } = await killedDisk(pets);
    const text = memory.read(JOURNAL);
    const start = pets === 1 ? 0 : text.lastIndexOf('\n', -2) + 1;
    const writes: unknown[] = [];
    const disk = intercept(memory, (call, args, proceed) => {
      if (nameOf(call).startsWith(`open ${UNFINISHED}`)) {
        return Promise.reject(systemError('ENOSPC', call.path));
      }
      if (nameOf(call) === `write ${JOURNAL}`) writes.push(`${args[0]}`, ...args.slice(1));
      return proceed(...args);
    });
    const store = await openFileStore({ path: SNAPSHOT, disk });
    assert.deepEqual(writes, [text.toString('utf8', start), 0, start]);
    assert.deepEqual(memory.read(JOURNAL), text);
    assert.equal(await createId(store), pets + 1);
  });
}

test('A start on a full disk is refused if the journal has another link, and says how many bytes to free', async () => {
  const { memory, disk } = await killedDisk();
  await memory.link(JOURNAL, '/backup');
  const before = memory.contents();
  disk.freeBytes = async () => 10;
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), {
    message:
      /free ([0-9]+) bytes for a new journal \(ENOSPC: .*: \1 bytes are needed, 10 are free;/,
  });
  assert.deepEqual(memory.contents(), before);
});

test('A start gives a journal with another link a new file, and leaves the old one alone', async () => {
  const { memory, disk } = await killedDisk();
  await memory.link(JOURNAL, '/backup');
  const before = memory.read('/backup');
  const store = await openFileStore({ path: SNAPSHOT, disk });
  assert.equal(await createId(store), 3);
  assert.deepEqual(memory.read('/backup'), before);
  await assertHeld(memory, [1, 2, 3]);
});

/** A disk like that of `killedDisk`, but most pets are in the snapshot. */
async function killedAgain(): Promise<{ memory: MemoryDisk; disk: FailingDisk }> {
  const { store, memory } = await openScene(2);
  await store.close();
  await createId(await openFileStore({ path: SNAPSHOT, disk: memory }));
  const killed = copyOf(memory);
  return { memory: killed, disk: createFailingDisk(killed) };
}

for (const [what, fault] of [
  [
    'its rename reports failure, and a look at the path fails',
    (memory: MemoryDisk, disk: FailingDisk) => {
      let isRenamed = false;
      disk.fault = (call) => {
        if (isRenamed && nameOf(call) === `stat ${JOURNAL}`) {
          isRenamed = false;
          throw systemError('EIO', JOURNAL);
        }
        if (!nameOf(call).startsWith(`rename ${UNFINISHED}`)) return undefined;
        return memory.rename(call.path, JOURNAL).then(() => {
          isRenamed = true;
          throw systemError('EIO', call.path);
        });
      };
    },
  ],
  [
    'the folder cannot be synced after its rename',
    (_memory: MemoryDisk, disk: FailingDisk) => {
      let isRenamed = false;
      disk.fault = ({ operation, path }) => {
        if (operation === 'rename') isRenamed = true;
        if (operation === 'syncDirectory' && isRenamed) throw systemError('EIO', path);
      };
    },
  ],
] as const) {
  test(`A start with a new journal is refused if ${what}`, async () => {
    const { memory, disk } = await killedAgain();
    fault(memory, disk);
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), {
      message: /\(EIO: .*; (A new journal may have|Another file has) replaced/,
    });
    assert.equal(disk.openFiles.size, 0);
    await assertHeld(memory, [1, 2, 3]);
  });
}

test('A start that fails after it has replaced the snapshot is refused', async () => {
  const { memory, disk } = await killedDisk();
  let opened = 0;
  disk.fault = ({ operation, path }) => {
    if (operation === 'open' && path.startsWith(UNFINISHED) && (opened += 1) === 3) {
      throw systemError('EIO', path);
    }
  };
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), /A new journal may have replaced/);
  assert.match(memory.read(SNAPSHOT).toString(), /"id":2/);
  await assertHeld(memory, [1, 2]);
});

test('A start whose snapshot has all pets serves them if no journal can be written', async () => {
  const { memory, disk } = await killedDisk();
  await (await openFileStore({ path: SNAPSHOT, disk })).close();
  disk.fault = failing(`open ${UNFINISHED}`);
  const store = await openFileStore({ path: SNAPSHOT, disk });
  assert.deepEqual(await idsIn(store), [1, 2]);
  assert.equal(store.log.state, 'working');
  await assertRefused(store, /^Pets cannot be stored: EIO/);
  assert.equal(store.whereAreThePets(), 'snapshot');
  disk.fault = () => undefined;
  assert.equal(await createId(store), 3);
  await assertHeld(memory, [1, 2, 3]);
});
