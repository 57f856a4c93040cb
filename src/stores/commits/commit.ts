/**
 * A commit: all creates that are made durable together, as one JSON text.
 *
 *     {"after":7,"pets":[{"id":8,…},{"id":9,…}]}
 *
 * `after` is the last id before the commit. It chains the commits to each other and to the
 * snapshot, so that a missing one, or a snapshot from another day, is noticed.
 */

import { COMMA } from '../../base/ascii.ts';
import { startsWithAt } from '../../base/json.ts';
import type { PetStatus } from '../../model/pet.ts';
import { formatPet, petText, readPet } from '../../model/pet-text.ts';
import type { TablePet } from '../table/pet-table.ts';

export interface Commit {
  readonly after: bigint;
  /** With the ids after + 1, after + 2 and so on; one pet at least. */
  readonly pets: readonly TablePet[];
}

/** A NewPet that waits for its id. */
export interface PendingPet {
  /** As formatNewPet wrote them. */
  readonly members: string;
  readonly status: PetStatus | undefined;
}

/** The commit that adds these pets after the id `after`. */
export function createCommit(after: bigint, newPets: readonly PendingPet[]): Commit {
  let id = after;
  const pets = newPets.map(({ members, status }) => {
    id += 1n;
    return { id, text: formatPet(id, members), status };
  });
  return { after, pets };
}

export function encodeCommit({ after, pets }: Commit): string {
  return `${commitStart(after)}${pets.map(({ text }) => text).join(',')}]}`;
}

/** What the text of each commit after this id begins with. */
export function commitStart(after: bigint): string {
  return `${COMMIT_MARK}${after},"pets":[`;
}

/** What no other text of ours has: a quote inside a name is escaped. */
export const COMMIT_MARK = '{"after":';

/** The commit that a text holds; undefined when it has another form. */
export function decodeCommit(text: Buffer): Commit | undefined {
  const match = /^\{"after":(0|[1-9][0-9]{0,18}),"pets":\[/.exec(text.toString('latin1', 0, 50));
  if (match === null) return undefined;
  const after = BigInt(match[1]!);
  const pets: TablePet[] = [];
  let at = match[0].length;
  try {
    for (;;) {
      const { pet, end } = readPet(text, at);
      pets.push({ id: pet.id, text: petText(pet), status: pet.status });
      if (pet.id !== after + BigInt(pets.length)) return undefined;
      at = end;
      if (text[at] !== COMMA) break;
      at += 1;
    }
  } catch {
    return undefined;
  }
  const isWhole = startsWithAt(text, at, END) && at + END.length === text.length;
  return isWhole ? { after, pets } : undefined;
}

const END: Buffer = Buffer.from(']}');
