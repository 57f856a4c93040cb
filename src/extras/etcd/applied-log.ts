/**
 * The log as far as this process has applied it: the pets and keys of all commits up to `lastId`.
 *
 * Each process has all pets in memory. It applies the same commits in the same order as the others,
 * and so they all have the same pets. Each commit names the one before it by a digest. For example:
 *
 *     slot    the digest of      pets
 *     …0000   the log's id       1 and 2
 *     …0002   the slot …0000     3
 *     …0003   the slot …0002     4 to 90
 *     …0090                      the next slot: nothing is there yet
 *
 * If a backup without the pet 3 is restored, another process may put another commit into the slot
 * …0002. A process that has applied the old one must not go on with the slot behind the new one:
 * its digest shows that.
 *
 * The rule: a commit is applied only in its place, in the slot after the last id, and with the
 * digest of the commit before it. Any other one is rejected with LogLostError, and no part of it is
 * applied.
 *
 * Catching up applies all commits that etcd has after the last applied one. Each step is one read-
 * only transaction, which etcd makes linearizable. It compares that the log is still the applied
 * one, and reads a window of slots. For example, after the pet 90 it reads the slots from 90 up to
 * 4186, and gets the commits 90 (the pet 91), 91 (92 to 94) and 94 (95). The slot 95 was in the
 * window, and had nothing: this process has caught up.
 *
 * The rule: catching up ends when the next slot is in what etcd has read, and is empty there. An
 * imported pet may have an id far from the one before, so that the window ends before the next
 * slot; then another step is needed.
 *
 * Three things are limited. The window, because etcd visits each key in a range, whatever the
 * number that it returns. The number of commits, because a response must hold them all even if each
 * is as long as etcd allows. And the search for damage, which visits more keys: it is made every
 * five seconds, and only in a step that can be the last one, so that the time of a start is linear
 * in the number of commits.
 *
 * The search looks for what is not part of the log. The only key behind the window is the meta key.
 * Before the next slot there are as many keys as commits were applied: each search counts those of
 * one stretch. As a part of the last step it finds no commit that another process has made since,
 * and a start does not need a moment without writes.
 */

import { isUtf8 } from 'node:buffer';
import { KEY_LIFETIME_MS, IdempotencyKeys } from '../../core/store/idempotency-keys.ts';
import { PetTable } from '../../core/store/pet-table.ts';
import type { CallKind, FailedCall, StartDeps } from './calls.ts';
import { decodeCommit } from './commit.ts';
import { ifValue, range, type KeyValue, type RangeResponse } from './etcd-json.ts';
import { MAX_RESPONSE_BYTES } from './member.ts';
import {
  beginsAsCommit,
  decodeValue,
  digestOf,
  encodeMeta,
  LogLostError,
  type Layout,
  type Meta,
} from './slots.ts';

/**
 * A process that reads a key from the log later may keep it for this much longer than 24 hours, so
 * clocks may differ by up to an hour: of the newest 100,000 keys, no process forgets one that has
 * not expired.
 */
const KEY_GRACE_MS: number = 60 * 60 * 1000;

const FIRST_WINDOW = 4096n;
const MAX_WINDOW = 1n << 20n;
/** The longest commit in a response: one of the longest pet after others, in base64. */
const MAX_COMMIT_TEXT: number = 1536 << 10;
/** The most commits that are read at once: 42. */
const MAX_COMMITS: number = Math.floor(MAX_RESPONSE_BYTES / MAX_COMMIT_TEXT);
/** A response of about this size is read fast, and does not occupy a member for long. */
const GOOD_RESPONSE_BYTES: number = 4 << 20;
/** How often a running process searches for damage. */
const SEARCH_MS = 5_000;
/** A stretch has this many commits: to count their keys takes etcd about ten milliseconds. */
const STRETCH: number = 1 << 16;

export class AppliedLog {
  readonly layout: Layout;
  /** The content of the meta key. It does not change while this process uses the log. */
  readonly meta: Meta;
  readonly pets: PetTable = new PetTable();
  readonly keys: IdempotencyKeys;
  readonly #deps: StartDeps;
  /** The slot of the last commit, and the head of its value; undefined before the first. */
  #last: { readonly key: string; readonly head: string } | undefined;
  /** What the next commit has as `previous`. */
  digest: string;
  #commits = 0;
  /** The first key of each stretch. */
  readonly #starts: string[];
  /** The number of ids in a window, and the most commits to read. */
  #window: bigint = FIRST_WINDOW;
  #limit: number = MAX_COMMITS / 2;
  /** True if the last step could be the last one. */
  #isNearEnd = false;
  #searchedAt = -Infinity;
  /** What the last search has found wrong with the keys under the prefix. */
  damage: string | undefined;
  /** The stretch that the next search counts: a damaged one again, until it is whole. */
  #stretch = 0;

  /** A log of which nothing has been applied. */
  constructor(layout: Layout, meta: Meta, deps: StartDeps) {
    this.layout = layout;
    this.meta = meta;
    this.keys = new IdempotencyKeys(deps.clock);
    this.#deps = deps;
    this.digest = digestOf(meta.logId);
    this.#starts = [layout.prefix];
  }

  /** The last applied id, or 0: the next commit is in the slot after it. */
  get lastId(): bigint {
    return this.pets.lastId;
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
    const meta = ifValue(this.layout.meta, encodeMeta(this.meta));
    if (this.#last === undefined) return [meta];
    const { key, head } = this.#last;
    // In ASCII `!` follows the space.
    return [meta, ifValue(key, `${head} `, 'GREATER'), ifValue(key, `${head}!`, 'LESS')];
  }

  /**
   * Applies at least what was committed before the call. Resolves with the call that failed, or
   * with undefined. Rejects with LogLostError.
   */
  async catchUp(kind: CallKind): Promise<FailedCall | undefined> {
    const { calls, clock, signal } = this.#deps;
    const { layout } = this;
    const isDue = clock.now() - this.#searchedAt >= SEARCH_MS;
    let stray: string | undefined;
    for (;;) {
      if (kind === 'start') signal?.throwIfAborted();
      const searches = isDue && this.#isNearEnd;
      const { lastId, nextSlot, compares: compare } = this;
      const { from, to, count } = this.stretch(this.#stretch);
      const end = layout.slot(lastId + this.#window);
      const success = [range(nextSlot, end, this.#limit)];
      if (searches) success.push(range(from, to, 1), range(end, layout.end, 2));
      const result = await calls.txn({ compare, success }, kind);
      if (result.kind !== 'answered') {
        // Perhaps a shorter response succeeds.
        const wasShortest = this.#limit === 1;
        this.#limit = Math.ceil(this.#limit / 2);
        if (result.kind === 'too long' && !wasShortest) continue;
        return result;
      }
      const [found, before, behind] = result.ranges;
      if (!result.succeeded || found === undefined) throw logDiverged(this);
      stray ??= this.apply(found.keyValues);
      // A create of this process may have changed the next slot meanwhile.
      const hasMore = found.count > found.keyValues.length;
      this.#isNearEnd = this.nextSlot < (hasMore ? found.keyValues.at(-1)!.key : end);
      if (!this.#isNearEnd) {
        this.#adapt(found, hasMore, this.lastId - lastId);
      } else if (before !== undefined && behind !== undefined) {
        this.#searchedAt = clock.now();
        // A commit may have passed a key in the window.
        if (stray !== undefined) this.#stretch = -1;
        stray ??= behind.keyValues.find(({ key }) => key !== layout.meta)?.key;
        stray ??= before.keyValues.find(({ key }) => !layout.isSlot(key))?.key;
        if (stray !== undefined) {
          this.damage = `${stray} is not part of the log: a start is refused until it is deleted`;
        } else if (before.count !== count) {
          // The counts would change with each commit, and be logged again.
          const difference = before.count - count;
          const keys = `${Math.abs(difference)} ${difference > 0 ? 'more' : 'fewer'} keys`;
          this.damage = `From ${from} on there are ${keys} than commits: a start is refused`;
        } else {
          this.damage = undefined;
          this.#stretch += 1;
        }
        return undefined;
      } else if (!isDue) {
        return undefined;
      }
    }
  }

  /**
   * The next window is to have as many commits as a response: one with more loads the member, and
   * one with fewer wastes a round trip. The ids of a commit may have gaps.
   */
  #adapt({ keyValues }: RangeResponse, hasMore: boolean, ids: bigint): void {
    const bytes = keyValues.reduce((sum, { value }) => sum + value.length, 0);
    const window = 2n * (hasMore ? ids : this.#window);
    this.#window = window > MAX_WINDOW ? MAX_WINDOW : window < 1n ? 1n : window;
    if (bytes > GOOD_RESPONSE_BYTES) this.#limit = Math.ceil(this.#limit / 2);
    else if (hasMore) this.#limit = Math.min(MAX_COMMITS, 2 * this.#limit);
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

  #applyNext(slot: string, value: Buffer): void {
    const { head, previous, text } = decodeValue(slot, value);
    if (previous !== this.digest) {
      throw new LogLostError(`${slot} follows another commit than the one that was read here`);
    }
    const commit = isUtf8(text) ? decodeCommit(text) : undefined;
    if (commit?.after !== this.lastId) throw new LogLostError(`${slot} has no valid commit`);
    this.pets.reserve(commit.pets);
    for (const pet of commit.pets) this.pets.append(pet);
    for (const { key, id, expiresAt } of commit.keys) {
      const leftMs = expiresAt + KEY_GRACE_MS - this.#deps.clock.timeOfDay();
      this.keys.add(key, id, this.#deps.clock.now() + Math.min(leftMs, KEY_LIFETIME_MS));
    }
    if (this.#commits > 0 && this.#commits % STRETCH === 0) this.#starts.push(slot);
    this.#commits += 1;
    this.#last = { key: slot, head };
    this.digest = digestOf(value);
  }
}

/** Returns the error for a failed compare: the log in etcd is not the applied one. */
export function logDiverged({ layout, lastId }: AppliedLog): LogLostError {
  return new LogLostError(
    `The log under ${layout.prefix} is not the one that was read up to the pet ${lastId}: it was ` +
      'deleted, or an older state was restored. Restart the service to use the present log',
  );
}
