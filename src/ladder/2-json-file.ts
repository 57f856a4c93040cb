/**
 * Rung 2: the pets in one JSON file, which each commit replaces atomically.
 *
 *     API_KEY=secret node src/ladder/2-json-file.ts
 *
 * A commit writes another file with all pets, syncs it, renames it, and syncs the folder. After a
 * crash at any point the path leads to the old file or to the new one, and each of them is whole.
 * Creates that arrive while a file is written share the next one: 100 more pets cost no more syncs.
 *
 * What it does not do: stay fast, since each commit writes all pets. It does not notice a second
 * process, whose next commit replaces this one's. It does not know whether a create that failed is
 * stored, so its client gets 500. It does not make its folder, and does not check a file that was
 * edited by hand.
 */

import { dirname } from 'node:path';
import { readAll, withFile, writeAll, type Disk } from '../core/store/disk.ts';
import { nodeDisk } from '../core/store/node-disk.ts';
import {
  ArrayStore,
  formatPet,
  main,
  parseExactJson,
  type NewPet,
  type Store,
  type StoredPet,
} from './1-plain.ts';

/** Opens the store. Rejects if the file cannot be read, or written anew. */
export async function openJsonFileStore(path: string, disk: Disk): Promise<Store> {
  const memory = new ArrayStore();
  for (const pet of decodePets((await readFile(path, disk)) ?? '[]')) memory.pets.push(pet);
  const append: Append = (added) => replaceFile(path, disk, encodePets([...memory.pets, ...added]));
  // What a killed process has written may still be in the memory of the system only: there a start
  // reads it, and a power failure loses it.
  await append([]);
  return groupCreates(memory, append);
}

/** Replaces the file. If this rejects, the path leads to the old file or to the new one. */
export async function replaceFile(path: string, disk: Disk, content: Buffer): Promise<void> {
  const unfinished = `${path}.unfinished`;
  await disk.remove(unfinished);
  const file = await disk.open(unfinished, 'create');
  try {
    await writeAll(file, content, 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(unfinished, path);
  await disk.syncDirectory(dirname(path));
}

/** Resolves with the file's text, or with undefined if the path does not exist. */
export async function readFile(path: string, disk: Disk): Promise<string | undefined> {
  const entry = disk.stat(path);
  if (entry === undefined) return undefined;
  const content = Buffer.alloc(entry.sizeBytes);
  await withFile(disk, path, (file) => readAll(file, content, 0));
  return content.toString();
}

function encodePets(pets: readonly StoredPet[]): Buffer {
  return Buffer.from(`[\n${pets.map(({ text }) => text).join(',\n')}\n]\n`);
}

export function decodePets(text: string): readonly StoredPet[] {
  // Throws with a position in the file. The call below makes the text longer before it parses it.
  JSON.parse(text);
  const pets = parseExactJson(text) as readonly (NewPet & { readonly id: bigint })[];
  return pets.map((pet) => formatPet(pet.id, pet));
}

/** Makes pets durable behind those in memory, all of them or none. */
export type Append = (added: readonly StoredPet[]) => Promise<void>;

/** A store whose reads see the pets in memory, and whose creates become durable in groups. */
export function groupCreates(memory: ArrayStore, append: Append): Store {
  let waiting: NewPet[] = [];
  let next: Promise<readonly StoredPet[]> = Promise.resolve([]);
  const commit = async (): Promise<readonly StoredPet[]> => {
    const firstId = memory.pets.length + 1;
    const added = waiting.map((newPet, index) => formatPet(BigInt(firstId + index), newPet));
    waiting = [];
    await append(added);
    for (const pet of added) memory.pets.push(pet);
    return added;
  };
  return {
    list: (query) => memory.list(query),
    get: (id) => memory.get(id),
    async create(newPet) {
      const index = waiting.length;
      waiting.push(newPet);
      // The first create begins a commit after the one in progress, and the others share it.
      if (index === 0) next = next.then(commit, commit);
      return (await next)[index]!;
    },
  };
}

await main(import.meta.url, () => openJsonFileStore('pets.json', nodeDisk));
