/**
 * The log as far as this process has applied it: the pets and keys of all commits up to `lastId`.
 *
 * A commit is applied only in its place: in the slot after the last id, with the digest of the
 * commit before it. Any other commit is rejected with LogLostError, and no part of it is applied.
 */

import { isUtf8 } from 'node:buffer';
import { decodeCommit } from '../commit.ts';
import { KEY_LIFETIME_MS, KeyTable, type KeyClock } from '../table/key-table.ts';
import { PetTable } from '../table/pet-table.ts';
import { ifValue, type KeyValue } from './etcd-json.ts';
import { beginsAsCommit, decodeValue, digestOf, headOf, LogLostError } from './slots.ts';
import type { Layout, Meta } from './slots.ts';

/**
 * A process that reads a key from the log later may keep it for this much longer than 24 hours, so
 * clocks may differ by up to an hour: no process forgets a key that has not expired.
 */
const KEY_GRACE_MS: number = 60 * 60 * 1000;

/** A stretch has this many commits: to count their keys takes etcd about ten milliseconds. */
const STRETCH: number = 1 << 16;

/** A log, as its meta key identifies it. */
export interface LogId extends Meta {
  readonly layout: Layout;
  /** The value of the meta key. It does not change while this process uses the log. */
  readonly meta: Buffer;
}

export class AppliedCommits {
  readonly layout: Layout;
  readonly pets: PetTable = new PetTable();
  readonly keys: KeyTable;
  readonly #meta: Buffer;
  readonly #clock: KeyClock;
  readonly #graceMs: number;
  /** The slot of the last commit, and the head of its value; undefined before the first. */
  #last: { readonly key: string; readonly head: string } | undefined;
  #digest: string;
  #commits = 0;
  /** The first key of each stretch. */
  readonly #starts: string[];

  constructor({ layout, meta, logId }: LogId, clock: KeyClock, graceMs: number = KEY_GRACE_MS) {
    this.layout = layout;
    this.keys = new KeyTable(clock);
    this.#meta = meta;
    this.#clock = clock;
    this.#graceMs = graceMs;
    this.#digest = digestOf(logId);
    this.#starts = [layout.prefix];
  }

  /** The last applied id, or 0: the next commit is in the slot after it. */
  get lastId(): bigint {
    return this.pets.lastId;
  }

  /** What the next commit has as `previous`. */
  get digest(): string {
    return this.#digest;
  }

  get nextSlot(): string {
    return this.layout.slot(this.lastId);
  }

  /**
   * Compares that are true as long as etcd has the log that was applied. The create revision of the
   * last slot would not be enough: after a restore another process may have taken that slot at the
   * same revision.
   */
  get compares(): readonly object[] {
    const meta = ifValue(this.layout.meta, this.#meta);
    if (this.#last === undefined) return [meta];
    const { key, head } = this.#last;
    // In ASCII `!` follows the space.
    return [meta, ifValue(key, `${head} `, 'GREATER'), ifValue(key, `${head}!`, 'LESS')];
  }

  /**
   * Applies a range of slots, in its order, and skips those that were applied before. Returns the
   * first key that is not part of the log, if there is one. Throws LogLostError if a commit is
   * damaged, or missing before another one.
   */
  apply(keyValues: readonly KeyValue[]): string | undefined {
    let strayKey: string | undefined;
    let hasApplied = false;
    for (const { key, value } of keyValues) {
      if (key === this.nextSlot) {
        this.#applyNext(key, value);
        hasApplied = true;
      } else if (!this.layout.isSlot(key) || (key > this.nextSlot && !beginsAsCommit(value))) {
        strayKey ??= key;
      } else if (key > this.nextSlot) {
        const last = this.lastId;
        throw new LogLostError(`${key} does not follow the last pet, ${last}: the log is damaged`);
      } else if (hasApplied) {
        // It is among the ids of a commit of this range.
        strayKey ??= key;
      }
    }
    return strayKey;
  }

  /**
   * Returns one of the stretches of the log up to the next slot, and how many keys it has; after
   * the last one the first again. -1 is the last one, too.
   */
  stretch(index: number): { readonly from: string; readonly to: string; readonly count: number } {
    const { length } = this.#starts;
    const at = (index + length) % length;
    const [from = '', to = this.nextSlot] = this.#starts.slice(at);
    return { from, to, count: Math.min(this.#commits - at * STRETCH, STRETCH) };
  }

  #applyNext(key: string, value: Buffer): void {
    const { previous, text } = decodeValue(key, value);
    if (previous !== this.#digest) {
      throw new LogLostError(`${key} follows another commit than the one that was read here`);
    }
    const commit = isUtf8(text) ? decodeCommit(text, true) : undefined;
    if (commit?.after !== this.lastId) throw new LogLostError(`${key} has no valid commit`);
    this.pets.reserve(commit.pets);
    for (const pet of commit.pets) this.pets.append(pet);
    for (const { key, id, expiresAt } of commit.keys) {
      const leftMs = expiresAt + this.#graceMs - this.#clock.timeOfDay();
      this.keys.add({ key, id }, Math.min(leftMs, KEY_LIFETIME_MS));
    }
    if (this.#commits > 0 && this.#commits % STRETCH === 0) this.#starts.push(key);
    this.#commits += 1;
    this.#last = { key, head: headOf(value) };
    this.#digest = digestOf(value);
  }
}
