/**
 * The store of `--memory` with a data file: its pets are in memory only, and it begins with those
 * of the file, which is never written.
 *
 * It is the store of log-store.ts over a log that keeps nothing, since the pets are in a table
 * already: a list of 20 among 300,000 takes microseconds. memory-store.ts is the simple one.
 */

import { readFile } from 'node:fs/promises';
import { systemClock } from '../base/clock.ts';
import type { PetStore } from '../model/pet-store.ts';
import { InvalidPetError, parsePets } from '../model/pet-text.ts';
import { storedPetOf } from '../model/stored-pet.ts';
import type { CommitLog, LogTarget } from './commit-log.ts';
import { createCommit } from './commit.ts';
import { FULL_COMMIT_BYTES } from './commit-queue.ts';
import { verifyData } from './file/data-file.ts';
import { nodeDisk } from './file/node-disk.ts';
import { KeyTable } from './table/key-table.ts';
import { openLogStore } from './log-store.ts';

/** Rejects if the file is missing or damaged. The message has every mistake in its pets. */
export async function openStartedStore(path: string): Promise<PetStore> {
  const data = await verifyData(nodeDisk, path).catch(async (error: unknown) => {
    throw (await findMistakes(path)) ?? error;
  });
  const tables = { pets: data.pets, keys: new KeyTable(systemClock) };
  return openLogStore(tables, async (target) => memoryLog(target));
}

/** A log that forgets: a commit is in the tables at once, and nowhere else. */
function memoryLog({ pets, keys }: LogTarget): CommitLog {
  return {
    limits: { fullCommitBytes: FULL_COMMIT_BYTES, petBytes: Infinity, bytesAroundPet: 0 },
    now: systemClock.now,
    async commit(creates) {
      const commit = createCommit(pets.lastId, creates, 0);
      for (const pet of commit.pets) pets.append(pet);
      for (const entry of commit.keys) keys.add(entry);
      return commit.pets.map(({ id, text }) => ({ result: storedPetOf(id, text) }));
    },
    refusal: () => undefined,
    problem: () => undefined,
    doubtOf: () => undefined,
    lost: new Promise(() => undefined),
    stats: () => ({}),
    close: async () => undefined,
  };
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
