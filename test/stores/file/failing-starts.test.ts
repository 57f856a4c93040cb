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
  JOURNAL,
  nameOf,
  openScene,
  SNAPSHOT,
  TMP,
} from '../../support/disk/store-scene.ts';
import { TestClock } from '../../support/test-clock.ts';

/** A disk with the files of a store with two pets in its journal, as a kill -9 leaves them. */
async function killedDisk(): Promise<{ memory: MemoryDisk; disk: FailingDisk }> {
  const memory = copyOf((await openScene(2)).memory);
  return { memory, disk: createFailingDisk(memory) };
}

const syncsOf = ({ calls }: FailingDisk): number =>
  calls.filter((call) => nameOf(call) === `sync ${JOURNAL}`).length;

test('A start is refused if a sync of the journal fails, and makes no second one', async () => {
  const { memory, disk } = await killedDisk();
  disk.fault = (call) => {
    // There is no room for a copy, so the start tries a checkpoint.
    if (nameOf(call) === `open ${TMP}`) throw systemError('ENOSPC', TMP);
    if (nameOf(call) === `sync ${JOURNAL}` && syncsOf(disk) === 1)
      throw systemError('EIO', JOURNAL);
  };
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), {
    message: /^\/d\/pets\.json\.journal cannot be synced: EIO: /,
  });
  assert.equal(syncsOf(disk), 1);
  assert.equal(disk.openFiles.size, 0);
  await assertHeld(memory, [1, 2]);
});

test('A start is refused if the snapshot that it found cannot be synced', async () => {
  const { memory, disk } = await killedDisk();
  disk.fault = (call) => {
    if (nameOf(call) === `sync ${SNAPSHOT}`) throw systemError('EIO', SNAPSHOT);
  };
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), { code: 'EIO' });
  await assertHeld(memory, [1, 2]);
});

test('A start with a torn first write and no snapshot is refused if none can be made', async () => {
  const journal = '\0'.repeat(300);
  const memory = createMemoryDisk({ [JOURNAL]: journal });
  const disk = createFailingDisk(memory);
  disk.fault = failing(`write ${TMP}`);
  // Otherwise creates would go to a journal without a snapshot, which the next start refuses.
  await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), /EIO/);
  assert.equal(disk.openFiles.size, 0);
  assert.equal(memory.read(JOURNAL).toString(), journal);
  await assertHeld(memory, []);
});

test('A start removes the journal if its folder is synced only after a checkpoint failed', async () => {
  const { memory, disk } = await killedDisk();
  let isRenamed = false;
  disk.fault = ({ operation, path }) => {
    if (operation === 'syncDirectory' && isRenamed) {
      isRenamed = false;
      throw systemError('EIO', path);
    }
    if (operation === 'rename') isRenamed = true;
  };
  const store = await openFileStore({ path: SNAPSHOT, disk, longJournalBytes: -1 });
  assert.equal(memory.stat(JOURNAL), undefined);
  assert.equal(await createId(store), 3);
  await assertHeld(memory, [1, 2, 3]);
});

test('A start that replaced the snapshot does not copy the journal of the earlier one', async () => {
  const { memory, disk } = await killedDisk();
  const clock = new TestClock();
  let tries = 0;
  let isRenamed = false;
  disk.fault = (call) => {
    const name = nameOf(call);
    if (name === `rename ${TMP}`) isRenamed = true;
    const isCopy = name === `open ${TMP}` && (tries += 1) === 1;
    const isCheckpoint = name === 'syncDirectory /d' && isRenamed;
    if (isCheckpoint) isRenamed = false;
    if (isCopy || isCheckpoint || name === `remove ${JOURNAL}`) throw systemError('EIO', call.path);
  };
  const store = await openFileStore({ path: SNAPSHOT, disk, ...clock.options });
  assert.equal(store.log.state, 'reviving');
  disk.fault = () => undefined;
  // The same data file, put there by another program: it may not be durable.
  memory.write(SNAPSHOT, memory.read(SNAPSHOT));
  await clock.pass(1000);
  assert.equal(await createId(store), 3);
  await assertHeld(memory, [1, 2, 3]);
});

for (const [pets, line] of [
  [1, 'header and first line'],
  [2, 'last line'],
] as const) {
  test(`A start that cannot make new files writes ${line} of a journal again`, async () => {
    const memory = copyOf((await openScene(pets)).memory);
    const text = memory.read(JOURNAL);
    const start = pets === 1 ? 0 : text.lastIndexOf('\n', -2) + 1;
    const writes: unknown[] = [];
    const disk = intercept(memory, (call, args, proceed) => {
      if (nameOf(call) === `open ${TMP}`) return Promise.reject(systemError('ENOSPC', TMP));
      if (nameOf(call) === `write ${JOURNAL}`) writes.push(`${args[0]}`, ...args.slice(1));
      return proceed(...args);
    });
    await openFileStore({ path: SNAPSHOT, disk });
    assert.deepEqual(writes, [text.toString('utf8', start), 0, start]);
  });
}

for (const [what, fault] of [
  ['can be copied', undefined],
  ['cannot be copied', failing(`open ${TMP}`)],
] as const) {
  test(`A start that replaced the snapshot without noticing adds no line, if the journal ${what}`, async () => {
    const { memory, disk } = await killedDisk();
    let isRenamed = false;
    disk.fault = (call) => {
      const name = nameOf(call);
      if (isRenamed && name === `stat ${SNAPSHOT}`) {
        disk.fault = fault ?? (() => undefined);
        throw systemError('EIO', SNAPSHOT);
      }
      if (name !== `rename ${TMP}`) return undefined;
      return memory.rename(TMP, SNAPSHOT).then(() => {
        isRenamed = true;
        throw systemError('EIO', TMP);
      });
    };
    const store = await openFileStore({ path: SNAPSHOT, disk, longJournalBytes: -1 });
    disk.fault = () => undefined;
    assert.equal(await createId(store), 3);
    await assertHeld(memory, [1, 2, 3]);
  });
}

test('A running store makes no second sync of a journal that it found, if the first one fails', async () => {
  const { memory, disk } = await killedDisk();
  const clock = new TestClock();
  // The start makes a checkpoint, and cannot remove the journal.
  disk.fault = failing(`remove ${JOURNAL}`);
  const options = { path: SNAPSHOT, disk, longJournalBytes: -1, ...clock.options };
  const store = await openFileStore(options);
  assert.equal(store.log.state, 'reviving');
  // The same data file, put there by another program: it may not be durable.
  memory.write(SNAPSHOT, memory.read(SNAPSHOT));
  const before = syncsOf(disk);
  disk.fault = failing(`sync ${JOURNAL}`);
  await clock.pass(1000);
  disk.fault = () => undefined;
  for (let seconds = 0; seconds < 30; seconds += 1) await clock.pass(1000);
  assert.equal(syncsOf(disk), before + 1);
  await assertRefused(store, /^Pets cannot be stored: the log shows the cause/);
  await store.close();
  await assertHeld(memory, [1, 2]);
});
