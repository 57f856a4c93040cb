/**
 * Files of releases 1.0 to 1.2: a start reads them, a keyed create that is sent again is stored
 * once, and the idempotency file is removed once the journal has its keys. The texts were written
 * by those releases.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import { REX } from '../../support/disk/journal-text.ts';
import { copyOf, createMemoryDisk, systemError } from '../../support/disk/memory-disk.ts';

const SNAPSHOT = '/d/pets.json';
const JOURNAL = `${SNAPSHOT}.journal`;
const KEYS = `${SNAPSHOT}.keys`;
const LOCK = `${SNAPSHOT}.lock`;
const PETS = [
  '{"id":1,"name":"Rex","categoryId":7}',
  '{"id":2,"name":"Tom","categoryId":7}',
  '{"id":3,"name":"Max","categoryId":7}',
  '{"id":4,"name":"Ünö","categoryId":7}',
];
const HASHES = [
  '0f9f255aba26b3089060e6ed6e8a1f2f',
  'ce5ed6554652da996864fcf7183e3b7f',
  'c92ff3b7bba26bd7ad9a8bbb22f61429',
  '08452100bd6f891e2537f7014f855be5',
];
const OF_TWO = `[\n${PETS.slice(0, 2).join(',\n')}\n]\n\t \t\t\t \t\t   \t\t \t \t\t\t      \t \t    \n`;
const OF_FOUR = `[\n${PETS.join(',\n')}\n]\n\t \t \t\t \t\t \t  \t   \t \t\t \t\t\t\t \t\t\t \t\n`;

/** What each release left of the same four creates, the first two of them before a stop. */
const RELEASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '1.0, after kill -9': {
    [SNAPSHOT]: OF_TWO,
    [JOURNAL]:
      '122ef8bc 00000041 {"journal":1,"snapshot":"bb1ae050","lastId":2}\n' +
      `f147dc11 0000004c {"after":2,"pets":[${PETS[2]}]}\n` +
      `0c00b947 0000004e {"after":3,"pets":[${PETS[3]}]}\n`,
  },
  '1.1, after a stop': {
    [SNAPSHOT]: OF_FOUR,
    [KEYS]:
      '6f192144 00000129 {"keys":1,"entries":[' +
      '["0f9f255aba26b3089060e6ed6e8a1f2f",1,1795540188265,"b676825e"],' +
      '["ce5ed6554652da996864fcf7183e3b7f",2,1795540188265,"c1b81c18"],' +
      '["c92ff3b7bba26bd7ad9a8bbb22f61429",3,1795540188296,"bb8692a8"],' +
      '["08452100bd6f891e2537f7014f855be5",4,1795540188304,"cf0b67a7"]]}\n',
  },
  '1.2, after kill -9': {
    [SNAPSHOT]: OF_TWO,
    [JOURNAL]:
      '122ef8bc 00000041 {"journal":1,"snapshot":"bb1ae050","lastId":2}\n' +
      `6c62353a 0000008a {"after":2,"pets":[${PETS[2]}],` +
      '"keys":[["c92ff3b7bba26bd7ad9a8bbb22f61429",3,1795540190912]]}\n' +
      `bc25987e 0000008c {"after":3,"pets":[${PETS[3]}],` +
      '"keys":[["08452100bd6f891e2537f7014f855be5",4,1795540190930]]}\n',
    [KEYS]:
      'adf6f2e1 000000a9 {"keys":1,"entries":[' +
      '["0f9f255aba26b3089060e6ed6e8a1f2f",1,1795540190582,"b676825e"],' +
      '["ce5ed6554652da996864fcf7183e3b7f",2,1795540190596,"c1b81c18"]]}\n',
  },
};

const newPetOf = (text: string): { readonly name: string; readonly categoryId: bigint } => ({
  ...(JSON.parse(text) as { name: string }),
  categoryId: 7n,
});

/** Sends each create again, and expects its pet. */
async function assertReplayed(store: FileStore): Promise<void> {
  for (const [index, text] of PETS.entries()) {
    const { pet, isReplayed } = await store.createOnce(newPetOf(text), HASHES[index]!);
    assert.deepEqual([pet.text, isReplayed], [text, true]);
  }
}

for (const [release, files] of Object.entries(RELEASES)) {
  test(`The files of release ${release}, are read, and a keyed create is stored once`, async () => {
    let disk = createMemoryDisk(files);
    // Then after a stop, and after a kill.
    for (const end of ['stop', 'kill', 'none']) {
      const store = await openFileStore({ path: SNAPSHOT, disk });
      assert.equal((await store.list({ limit: 100 })).text, `[${PETS.join(',\n')}]`);
      if (files[KEYS] !== undefined) await assertReplayed(store);
      assert.equal(disk.contents()[KEYS], undefined);
      if (end === 'stop') await store.close();
      if (end === 'kill') disk = copyOf(disk);
    }
  });
}

test('The idempotency file stays until its keys are durable in a journal', async () => {
  const memory = createMemoryDisk(RELEASES['1.2, after kill -9']);
  const open: typeof memory.open = (path, how) =>
    how === 'create' ? Promise.reject(systemError('ENOSPC', path)) : memory.open(path, how);
  const full = await openFileStore({ path: SNAPSHOT, disk: { ...memory, open } });
  await assertReplayed(full);
  assert.notEqual(memory.contents()[KEYS], undefined);
  const store = await openFileStore({ path: SNAPSHOT, disk: copyOf(memory) });
  await assertReplayed(store);
  await store.close();
});

test('A key of a missing or another pet in the idempotency file is dropped, and logged', async () => {
  const lines: string[] = [];
  const disk = createMemoryDisk(RELEASES['1.1, after a stop']);
  const [first, , , last] = PETS;
  // As after a checkpoint that was cut off, or with another data file.
  disk.write(SNAPSHOT, `[\n${first!.replace('Rex', 'Max')},\n${PETS[1]},\n${PETS[2]}]\n`);
  const log = (level: string, event: string, details?: object): unknown =>
    level === 'warn' && lines.push(`${event} ${JSON.stringify(details)}`);
  const store = await openFileStore({ path: SNAPSHOT, disk, log });
  assert.match(lines.join(), /^Dropped idempotency keys .*"keys":2\}$/);
  const again = await store.createOnce(newPetOf(last!), HASHES[3]!);
  assert.deepEqual([again.pet.id, again.isReplayed], [4n, false]);
  assert.equal((await store.createOnce(REX, HASHES[0]!)).pet.id, 5n);
  assert.equal((await store.createOnce(newPetOf(PETS[1]!), HASHES[1]!)).isReplayed, true);
});

test('A start with a damaged idempotency file is refused, and changes nothing', async () => {
  const files = RELEASES['1.1, after a stop']!;
  const keys = files[KEYS]!;
  const damaged = [keys.replace('0f9f', '0f8f'), keys.slice(0, 200), 'Remember the milk\n', ''];
  for (const content of damaged) {
    const disk = createMemoryDisk({ ...files, [KEYS]: content });
    const before = disk.contents();
    await assert.rejects(openFileStore({ path: SNAPSHOT, disk }), {
      name: 'DamagedFileError',
      message:
        /\.keys is damaged: .*its length and CRC.* or move the damaged file away, as evidence/,
    });
    assert.deepEqual({ ...disk.contents(), [LOCK]: '' }, { ...before, [LOCK]: '' });
  }
});
