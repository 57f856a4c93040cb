/**
 * Group commit: all items that arrive during a commit share the next one.
 *
 * A sync of the disk takes as long for 1,000 pets as for one. So the queue has no timer: a lone
 * create begins a commit immediately, creates that begin together share one, and under load each
 * sync is shared by all that came during the one before. The queue has a bound, since a disk may
 * be slower than its clients.
 */

import type { NewPet, StoredPet } from '../pets/pet.ts';
import { StoreUnavailableError } from '../pets/pet-store.ts';
import { formatMembers, formatPet } from '../pets/pet-text.ts';
import type { KeyHash } from './idempotency-keys.ts';

/** The pet of an item, or why it failed. */
export type Outcome = StoredPet | Error;

/**
 * Makes items durable together. Resolves with the outcome of each, or rejects if all fail for the
 * same reason. It takes the items by the function that it gets, once, as late as it can: those that
 * arrive before share the commit.
 */
type CommitItems<Item> = (take: () => readonly Item[]) => Promise<readonly Outcome[]>;

/** At either bound the queue is full. */
const MAX_QUEUED_ITEMS = 16_384;
const MAX_QUEUED_BYTES: number = 64 << 20;

interface Queued<Item> {
  readonly item: Item;
  readonly bytes: number;
  readonly settle: (outcome: Outcome) => void;
}

export class CommitQueue<Item> {
  readonly #commit: CommitItems<Item>;
  readonly #fullCommitBytes: number;
  #queue: Queued<Item>[] = [];
  /** How many items wait elsewhere (see `hold`). */
  #held = 0;
  /** Of the items in the queue, and of those that wait elsewhere. */
  #waitingBytes = 0;
  /** Items in the current commit. */
  #committing = 0;
  /** Resolves when the queue is empty; undefined if no commit is in progress. */
  #running: Promise<void> | undefined;

  /** A commit takes items until they have `fullCommitBytes`, so the last one may exceed them. */
  constructor(commit: CommitItems<Item>, fullCommitBytes: number) {
    this.#commit = commit;
    this.#fullCommitBytes = fullCommitBytes;
  }

  /** Items that wait for a commit. */
  get length(): number {
    return this.#queue.length;
  }

  /** Items that wait, or are in the current commit. */
  get pendingCount(): number {
    return this.#queue.length + this.#committing;
  }

  /** True if no more items are accepted for now. */
  get isFull(): boolean {
    const count = this.#queue.length + this.#held;
    return count >= MAX_QUEUED_ITEMS || this.#waitingBytes >= MAX_QUEUED_BYTES;
  }

  /** Counts an item that waits for another one's outcome, until the returned function is called. */
  hold(bytes: number): () => void {
    this.#held += 1;
    this.#waitingBytes += bytes;
    return () => {
      this.#held -= 1;
      this.#waitingBytes -= bytes;
    };
  }

  /**
   * Queues an item of about `bytes` bytes. Resolves with its pet when its commit is durable, and
   * rejects with the error of its outcome, or with StoreUnavailableError if the queue is full.
   */
  add(item: Item, bytes: number): Promise<StoredPet> {
    if (this.isFull) {
      return Promise.reject(new StoreUnavailableError('Too many pets are waiting to be stored'));
    }
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      this.#queue.push({ item, bytes, settle });
      this.#waitingBytes += bytes;
      this.#running ??= this.#run();
    });
  }

  /** Resolves when every added item has its outcome. */
  async whenIdle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      let batch: readonly Queued<Item>[] = [];
      const take = (): readonly Item[] => {
        batch = this.#takeBatch();
        this.#committing = batch.length;
        return batch.map(({ item }) => item);
      };
      // Items that are added right after the first one join it.
      await undefined;
      // A bug may make it reject before it has taken any.
      const outcomes = await this.#commit(take).catch((error: Error) => {
        if (batch.length === 0) take();
        return batch.map(() => error);
      });
      this.#committing = 0;
      for (const [index, { settle }] of batch.entries()) settle(outcomes[index]!);
    }
    this.#running = undefined;
  }

  /** Removes and returns all items that wait, or as many as make a full commit. */
  #takeBatch(): readonly Queued<Item>[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && bytes < this.#fullCommitBytes) {
      bytes += this.#queue[count]!.bytes;
      count += 1;
    }
    this.#waitingBytes -= bytes;
    return this.#queue.splice(0, count);
  }
}

/** What waits in the queue of a store. */
export interface QueuedCreate {
  /** The members of the pet in its text, as formatMembers wrote them. */
  readonly members: string;
  readonly key: KeyHash | undefined;
}

/** Returns the create of these values. Throws InvalidPetError. */
export function queuedCreate(newPet: NewPet, key?: KeyHash): QueuedCreate {
  return { members: formatMembers(newPet), key };
}

/** Returns the pet of each create. Their ids follow `lastId`. */
export function petsOf(creates: readonly QueuedCreate[], lastId: bigint): readonly StoredPet[] {
  return creates.map(({ members }, index) => {
    const id = lastId + BigInt(index + 1);
    return { id, text: formatPet(id, members) };
  });
}
