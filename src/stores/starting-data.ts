/**
 * The store of `--memory` with a data file: its pets are in memory only, and it begins with those
 * of the file, which is never written.
 */

import { readFile } from 'node:fs/promises';
import type { PetStore } from '../model/pet-store.ts';
import { InvalidPetError, parsePets } from '../model/pet-text.ts';
import { verifyData } from './file/data-file.ts';
import { nodeDisk } from './file/node-disk.ts';
import { createMemoryStore } from './memory-store.ts';

/** Rejects if the file is missing or damaged. The message has every mistake in its pets. */
export async function openStartedStore(path: string): Promise<PetStore> {
  const data = await verifyData(nodeDisk, path).catch(async (error: unknown) => {
    throw (await findMistakes(path)) ?? error;
  });
  return createMemoryStore(data.pets.pets());
}

/**
 * Returns an error with every mistake in the pets of a file that may have been written by hand a
 * minute ago, or undefined if they have none, or the file cannot be read.
 */
async function findMistakes(path: string): Promise<Error | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  // Bytes that are not text, and a byte order mark, have an error of their own.
  if (text === undefined || !/^[ \t\r\n]*[!-~]/.test(text)) return undefined;
  const mistakes = mistakesIn(text);
  const shown = mistakes.slice(0, MAX_SHOWN);
  if (mistakes.length > MAX_SHOWN) shown.push(`and ${mistakes.length - MAX_SHOWN} more`);
  if (mistakes.length === 0) return undefined;
  return new Error([`${path} is not a list of pets to begin with:`, ...shown].join('\n  '));
}

const MAX_SHOWN = 20;

function mistakesIn(text: string): readonly string[] {
  try {
    let lastId = 0n;
    return parsePets(text).flatMap((pet, index) => {
      const which = `pet ${index + 1}`;
      if (pet instanceof InvalidPetError) return `${which}: ${pet.message}`;
      const after = lastId;
      lastId = pet.id;
      if (pet.id > after) return [];
      return `${which}: id ${pet.id} does not come after ${after}: ids must be ascending`;
    });
  } catch (error) {
    if (error instanceof SyntaxError) return [`it is not valid JSON: ${error.message}`];
    if (error instanceof InvalidPetError) return [error.message];
    throw error;
  }
}
