/** The journal: the outcome of a line if any step of its write fails, and of the next line. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../../src/base/histogram.ts';
import { systemMemory } from '../../../src/base/memory.ts';
import { createCommit, encodeCommit } from '../../../src/stores/commits/commit.ts';
import { Journal, type JournalFile, type Written } from '../../../src/stores/file/journal.ts';
import { storePaths } from '../../../src/stores/file/store-paths.ts';
import { createFailingDisk, type DiskCall } from '../../support/disk/failing-disk.ts';
import { EXPIRES_AT, journalLines, pendingPet, REX } from '../../support/disk/journal-text.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';

const PATH = '/d/pets.json.journal';
const SNAPSHOT = { crc: 0x5b4e8c1a, lastId: 7n };
const DURABLE: Written = { kind: 'durable' };

type Operation = DiskCall['operation'];

test('A line is durable once it is synced, the first one with its header and its name', async () => {
  const { journal, add, steps, content, countSyncs } = begin();
  assert.deepEqual(await add(), DURABLE);
  assert.deepEqual(steps(), ['open', 'writeNow', 'sync', 'syncDirectory']);
  assert.equal(content(), textOf(1));
  assert.deepEqual(await add(), DURABLE);
  assert.deepEqual(steps(), ['writeNow', 'sync']);
  assert.equal(content(), textOf(2));
  assert.equal(journal.lengthBytes, textOf(2).length);
  assert.equal(countSyncs(), 2);
});

/** The operations that fail so that a line is in doubt, and all that are tried then. */
const IN_DOUBT: readonly (readonly [failing: readonly Operation[], steps: readonly Operation[]])[] =
  [
    [['sync'], ['writeNow', 'sync']],
    [['syncDirectory'], ['writeNow', 'sync', 'syncDirectory']],
    [
      ['writeNow', 'truncate'],
      ['writeNow', 'truncate'],
    ],
    [
      ['writeNow', 'sync'],
      ['writeNow', 'truncate', 'sync'],
    ],
  ];

/** How many lines there are before the one that fails. */
for (const before of [0, 1]) {
  const which = before === 0 ? 'The first line' : 'A later line';

  for (const written of [0, 9]) {
    test(`${which} that fails after ${written} bytes is rolled back, and the next one is durable`, async () => {
      const { journal, add, failAt, steps, content } = await beginWith(before);
      failAt(['writeNow'], written);
      assert.equal(causeOf(await add(), 'rolled back'), 'EIO: writeNow');
      assert.deepEqual(steps().slice(-2), ['truncate', 'sync']);
      assert.equal(content(), textOf(before));
      assert.equal(journal.lengthBytes, textOf(before).length);
      failAt([]);
      assert.deepEqual(await add(), DURABLE);
      assert.equal(steps().at(-1), before === 0 ? 'syncDirectory' : 'sync');
      assert.equal(content(), textOf(before + 1));
    });
  }

  for (const [failing, steps] of IN_DOUBT) {
    if (before > 0 && failing.includes('syncDirectory')) continue;
    test(`${which} is in doubt, and nothing more is tried, if ${failing.join(' and ')} fail`, async () => {
      const begun = await beginWith(before);
      begun.failAt(failing);
      assert.equal(causeOf(await begun.add(), 'in doubt'), `EIO: ${failing[0]}`);
      assert.deepEqual(begun.steps(), before === 0 ? ['open', ...steps] : steps);
      assert.equal(begun.journal.lengthBytes, textOf(before).length);
    });
  }

  test(`${which} that fails is in doubt and stays if another program owns the file`, async () => {
    const { add, failAt, steps, content } = await beginWith(before);
    failAt(['writeNow'], 9);
    // For a new journal it is called once more, when the file is made.
    let looks = 0;
    const isOurs = (): boolean => (looks += 1) === 1 && before === 0;
    assert.equal(causeOf(await add(undefined, isOurs), 'in doubt'), 'EIO: writeNow');
    assert.equal(steps().at(-1), 'writeNow');
    assert.equal(content().length, textOf(before).length + 9);
  });
}

test('A journal that cannot be made has no line, and the next line makes it', async () => {
  const { journal, disk, add, failAt, content } = begin();
  failAt(['open']);
  assert.equal(causeOf(await add(), 'rolled back'), 'EIO: open');
  // The file of a create that took effect and reported failure.
  disk.fault = () => undefined;
  await (await disk.open(PATH, 'create')).close();
  assert.equal(journal.pathState(0), 'same');
  assert.deepEqual(await add(), DURABLE);
  assert.equal(content(), textOf(1));
});

test('A new journal that another program owns gets no line', async () => {
  const { add, steps, content } = begin();
  assert.equal(causeOf(await add(7n, () => false), 'rolled back'), 'The journal is not owned');
  assert.deepEqual(steps(), ['open']);
  assert.equal(content(), '');
});

test('The path state tells whether the path still leads to the journal', async () => {
  const { journal, memoryDisk, add } = begin();
  assert.equal(journal.pathState(0), 'same');
  memoryDisk.write(PATH, 'Remember the milk');
  assert.equal(journal.pathState(0), 'replaced');
  assert.match(String(causeOf(await add(), 'rolled back')), /^EEXIST/);
  await memoryDisk.remove(PATH);
  await add();
  assert.equal(journal.pathState(0), 'same');
  await memoryDisk.remove(PATH);
  assert.equal(journal.pathState(0), 'missing');
  memoryDisk.write(PATH, textOf(1));
  assert.equal(journal.pathState(0), 'replaced');
});

test('A line above 64 KiB is written without blocking the event loop', async () => {
  const { journal, disk, steps } = await beginWith(1);
  for (const [length, write] of [
    [60_000, 'writeNow'],
    [70_000, 'write'],
  ] as const) {
    const pet = pendingPet({ ...REX, name: 'x'.repeat(length) });
    const line = journal.encode(encodeCommit(createCommit(8n, [pet], EXPIRES_AT)));
    disk.fault = () => undefined;
    await journal.write(line, () => undefined);
    assert.deepEqual(steps(), [write, 'sync']);
  }
});

/** A journal with so many lines. */
async function beginWith(lines: number): Promise<ReturnType<typeof begin>> {
  const begun = begin();
  for (let line = 0; line < lines; line += 1) await begun.add();
  begun.steps();
  return begun;
}

function begin(memoryDisk = createMemoryDisk(), found?: JournalFile) {
  const disk = createFailingDisk(memoryDisk);
  const syncSeconds = new Histogram([]);
  const paths = storePaths('/d/pets.json');
  const deps = { disk, paths, memory: systemMemory, syncSeconds };
  const journal = new Journal(deps, SNAPSHOT, found);
  let lastId = SNAPSHOT.lastId;
  let told = 0;
  return {
    journal,
    disk,
    memoryDisk,
    /** Adds a commit of one pet, which follows on the durable ones. */
    async add(after = lastId, isOurs: () => boolean = () => true): Promise<Written> {
      const line = journal.encode(encodeCommit(createCommit(after, [pendingPet(REX)], EXPIRES_AT)));
      const assertOwned = (): void => {
        if (!isOurs()) throw new Error('The journal is not owned');
      };
      const written = await journal.write(line, assertOwned);
      if (written.kind === 'durable') {
        lastId = after + 1n;
        journal.append(line);
      }
      return written;
    },
    /** The operations since the last call of this function, without stat. */
    steps(): readonly Operation[] {
      const steps = disk.calls.slice(told).map(({ operation }) => operation);
      told = disk.calls.length;
      return steps.filter((operation) => operation !== 'stat');
    },
    /** Lets these operations fail, the first of them after so many bytes. */
    failAt(operations: readonly Operation[], bytes = 0): void {
      let isShort = bytes > 0;
      disk.fault = ({ operation }) => {
        if (!operations.includes(operation)) return;
        if (isShort) {
          isShort = false;
          return bytes;
        }
        throw new Error(`EIO: ${operation}`);
      };
    },
    content: (): string => memoryDisk.read(PATH).toString('latin1'),
    countSyncs: (): number => syncSeconds.counts[0]!,
  };
}

/** The text of a journal of so many commits; empty without commits. */
function textOf(commits: number): string {
  if (commits === 0) return '';
  return journalLines(SNAPSHOT, Array(commits).fill([REX])).join('');
}

function causeOf(written: Written, kind: Written['kind']): string {
  assert.equal(written.kind, kind);
  return written.kind === 'durable' ? '' : (written.cause as Error).message;
}
