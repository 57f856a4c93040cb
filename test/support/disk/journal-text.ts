/** Journals for tests, as the store would have written them. */

import zlib from 'node:zlib';
import { systemMemory } from '../../../src/base/system.ts';
import type { NewPet } from '../../../src/model/pet.ts';
import { formatMembers } from '../../../src/model/pet-text.ts';
import { createCommit, encodeCommit, type PendingPet } from '../../../src/stores/commit.ts';
import { encodeLine, headerText, type DataFileId } from '../../../src/stores/file/journal-line.ts';

export const REX: NewPet = { name: 'Rex', categoryId: 7n };

/** The text of a Rex with this id. */
export const petText = (id: number | bigint): string => `{"id":${id},"name":"Rex","categoryId":7}`;

/** When the keys of these journals are forgotten: in the year 2100, unless cut to 24 hours. */
export const EXPIRES_AT: number = Date.UTC(2100, 0);

/** The pet as it waits for its commit. */
export function pendingPet(newPet: NewPet, key?: string): PendingPet {
  const pet = { members: formatMembers(newPet), status: newPet.status };
  return key === undefined ? pet : { ...pet, key };
}

/** The lines of a journal, its header the first of them. */
export function journalLines(
  dataFile: DataFileId,
  commits: readonly (readonly NewPet[])[],
): readonly Buffer[] {
  let after = dataFile.lastId;
  const texts = commits.map((newPets) => {
    const pending = newPets.map((newPet) => pendingPet(newPet));
    const commit = createCommit(after, pending, EXPIRES_AT);
    after += BigInt(newPets.length);
    return encodeCommit(commit);
  });
  return linesOf([headerText(dataFile), ...texts]);
}

/** These texts as lines that follow each other. */
export function linesOf(texts: readonly string[]): readonly Buffer[] {
  let crc = 0;
  return texts.map((text) => {
    const line = encodeLine(systemMemory, text, crc);
    crc = line.crc;
    return line.bytes;
  });
}

/** What a journal says of a data file with this text. */
export function dataFileId(text: string, lastId: number | bigint): DataFileId {
  const bytes = Buffer.from(text);
  return { crc: zlib.crc32(bytes.subarray(0, bytes.lastIndexOf(']') + 1)), lastId: BigInt(lastId) };
}
