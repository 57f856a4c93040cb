/** Data files of given pets, and what is read of a file. */

import { systemClock, systemMemory } from '../../../src/core/base/system.ts';
import {
  encodeCommit,
  FILE_END,
  firstLine,
  lineOf,
  chainAtStart,
  type Word,
} from '../../../src/core/store/format.ts';
import { readDataFile, type DataFileContent } from '../../../src/core/store/read-data-file.ts';
import type { Tables } from '../../../src/core/store/tables.ts';
import { petText } from '../pets/rex.ts';
import { createMemoryDisk } from './memory-disk.ts';

/** A line of a data file, without what is before and behind it. */
export type Line = string;

/** A line for a Rex with this id, or for a pet with this name, and with a key. */
export function line(id: number | bigint, name = 'Rex', key?: string): Line {
  return lineOf(petText(id).replace('"Rex"', JSON.stringify(name)), key);
}

/** The file with these commits; `ends` has the position behind each of them. */
export function fileOf(commits: readonly (readonly Line[])[], word: Word = 'in use') {
  const parts = [firstLine(word)];
  const ends: number[] = [];
  let tail = chainAtStart();
  for (const lines of commits) {
    const { bytes, next } = encodeCommit(lines.join('\n,'), tail, systemMemory);
    parts.push(bytes.subarray(0, -FILE_END.length));
    ends.push(next.end);
    tail = next;
  }
  return { bytes: Buffer.concat([...parts, FILE_END]), ends };
}

export const PATH = 'pets.json';

/** Reads a file with this content. */
export async function read(content: string | Buffer, givesIds = false): Promise<DataFileContent> {
  const file = await createMemoryDisk({ [PATH]: content }).open(PATH, 'read');
  const deps = { memory: systemMemory, clock: systemClock };
  return readDataFile(PATH, file, deps, givesIds);
}

/** The lines that the tables would be written as. */
export function linesOf({ pets, keys }: Tables): readonly Line[] {
  const keyOf = new Map([...keys.entries()].map(({ key, id }) => [id, key]));
  return [...pets.pets()].map(({ id, text }) => lineOf(text, keyOf.get(id)));
}
