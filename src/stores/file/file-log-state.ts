/**
 * The states of the file log (file-log.ts), and their transitions.
 *
 *   state     event                                                 next state
 *   working   a start could not remove an obsolete journal          reviving
 *   working   a sync or a roll-back fails                           reviving, the commit in doubt
 *   working   the journal is missing or changed before a write, at
 *             a check once a second, or at the close                reviving
 *   working   it is so after the sync, or the stat fails            reviving, the commit in doubt
 *   working   the lock is lost, or another file is at a path        readOnly, in doubt after a sync
 *   working   memory fails after a sync                             readOnly, the commit in doubt
 *   reviving  a try fails                                           reviving, the doubt stays
 *   reviving  the doubt is durable, the journal cannot be removed   reviving, nothing in doubt
 *   reviving  the journal is renewed, the doubt is in memory        working
 *   reviving  the lock is lost, another file is at a path, or
 *             memory fails                                          readOnly, the doubt stays
 *   working, reviving, readOnly
 *             close, after the try in progress                      closing, the doubt stays
 *   closing   the doubt is durable, and in memory                   closing, nothing in doubt
 *   closing   the files are secured, or cannot be                   closed, the doubt stays
 *
 * Invariants:
 *  1. A pet in memory is durable.
 *  2. A journal gets lines, and loses one that failed, only while working. A journal with pets is
 *     replaced or removed, and a snapshot is made, only while reviving or closing. A saved file is
 *     made only while readOnly or closing, with or without the lock: no other process uses its
 *     name.
 *  3. At most one commit is in doubt. It follows the last id in memory. Each checkpoint and each
 *     new journal has it. It stays in doubt until it is in memory or the process ends.
 *  4. While reviving or readOnly no create waits in the queue; each new one is refused immediately.
 *  5. A sync that failed is never repeated on the same file.
 */

import type { Commit } from '../commits/commit.ts';

export type FileLogState =
  | { readonly name: 'working' }
  | {
      readonly name: 'reviving';
      readonly cause: unknown;
      /** The next start may find this commit in the journal, or not. */
      readonly doubt: Commit | undefined;
      /**
       * The next try, by the monotonic clock; the pause before it; the free bytes at the last try.
       */
      readonly nextTryAt: number;
      readonly pauseMs: number;
      readonly freeBytes: number;
    }
  | {
      readonly name: 'readOnly';
      readonly cause: string;
      readonly doubt: Commit | undefined;
      /** True if a new process can continue with the files. */
      readonly canRestart: boolean;
    }
  | { readonly name: 'closing' | 'closed'; readonly doubt: Commit | undefined };

/** The states that may follow each other. */
export const NEXT_STATES: Readonly<Record<FileLogState['name'], readonly FileLogState['name'][]>> =
  {
    working: ['reviving', 'readOnly', 'closing'],
    reviving: ['reviving', 'working', 'readOnly', 'closing'],
    readOnly: ['closing'],
    closing: ['closing', 'closed'],
    closed: [],
  };

/** Returns the commit in doubt: it is unknown whether the journal has it. */
export function doubtOf(state: FileLogState): Commit | undefined {
  return 'doubt' in state ? state.doubt : undefined;
}

/**
 * Throws unless `next` may follow `from`, and still has the commit in doubt if memory lacks it.
 * `lastId` is the last id in memory.
 */
export function assertNext(from: FileLogState, next: FileLogState, lastId: bigint): void {
  const isAllowed = NEXT_STATES[from.name].includes(next.name);
  const doubt = doubtOf(from);
  const isPublished = doubt === undefined || (doubt.pets.at(-1)?.id ?? 0n) <= lastId;
  if (isAllowed && (isPublished || doubtOf(next) === doubt)) return;
  throw new Error(`The file log cannot become ${next.name}: it is ${from.name}`);
}
