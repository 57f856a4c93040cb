/**
 * Catching up: applies all commits in the log after the last one that was applied here.
 *
 * Each step is one read-only transaction, which etcd makes linearizable. It compares that the log
 * is still the applied one, and reads a window of slots. For example, after the pet 90 it reads the
 * slots from 90 up to 174, and gets the commits 90, 91 and 94; the last of them ends with the pet
 * 95. The slot 95 was in the window, and had nothing: this process has caught up.
 *
 * The rule: catching up ends when the next slot is in what etcd has read, and is empty there. An
 * imported pet may have an id far from the one before, so that the window ends before the next
 * slot; then another step is needed.
 *
 * Three things are limited. The window, because etcd visits each key in a range, whatever the
 * number that it returns. The number of commits, because a response must hold them all even if each
 * is as long as etcd allows. And the search for damage, below, which visits all that is behind the
 * window: it is made every five seconds, and only in a step that can be the last one, so that the
 * time of a start is linear in the number of commits.
 *
 * The search looks for keys under the prefix that are not part of the log: before the slots, behind
 * them, and between applied slots, of which each search reads the names of one stretch. As a part
 * of the last step it finds no commit that another process has made since, and a start does not
 * need a moment without writes.
 */

import type { AppliedLog, Stretch } from './applied-log.ts';
import type { CallKind, FailedCall } from './calls.ts';
import { encodeTxn, keysIn, range, type RangeResponse, type TxnPart } from './etcd-json.ts';
import type { StartDeps } from './join-cluster.ts';
import { MAX_RESPONSE_BYTES } from './member.ts';
import { isSlot, LogLostError, slotBound, slotKey } from './slots.ts';

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

/** What is wrong with the keys under the prefix, and the key where it is. */
export interface Damage {
  readonly key: string;
  readonly cause: string;
}

type CatchUpDeps = StartDeps & { readonly log: AppliedLog };

export class CatchUp {
  readonly #deps: CatchUpDeps;
  /** The number of ids in a window, and the most commits to read. */
  #window: bigint = FIRST_WINDOW;
  #limit: number = MAX_COMMITS / 2;
  /** True if the last step could be the last one. */
  #isNearEnd = false;
  #searchedAt = -Infinity;
  #damage: Damage | undefined;
  /** The damaged stretch, which the next search counts again; and the next stretch to count. */
  #suspect: Stretch | undefined;
  #stretch = 0;

  constructor(deps: CatchUpDeps) {
    this.#deps = deps;
  }

  /** What the last search has found, or a step since. */
  get damage(): Damage | undefined {
    return this.#damage;
  }

  /**
   * Applies at least what was committed before the call. Resolves with the call that failed, or
   * with undefined. Rejects with LogLostError.
   */
  async run(kind: CallKind): Promise<FailedCall | undefined> {
    const { calls, log, clock } = this.#deps;
    const isDue = clock.now() - this.#searchedAt >= SEARCH_MS;
    for (;;) {
      const searches = isDue && this.#isNearEnd;
      const before = log.lastId;
      const end = slotBound(log.layout, before + this.#window);
      const stretch = this.#suspect ?? log.stretch(this.#stretch);
      const success = [range(log.nextSlot, end, this.#limit)];
      if (searches) success.push(...this.#search(end, stretch));
      const text = encodeTxn({ compare: log.compares, success, failure: [] });
      const result = await calls.txn(text, kind);
      if (result.kind !== 'answered') {
        // Perhaps a shorter response succeeds.
        const wasShortest = this.#limit === 1;
        this.#limit = Math.ceil(this.#limit / 2);
        if (result.kind === 'too long' && !wasShortest) continue;
        return result;
      }
      const { succeeded, ranges } = result.answer;
      const [found, ...others] = ranges;
      if (!succeeded || found === undefined) throw logDiverged(log);
      const strayKey = log.apply(found.keyValues);
      if (strayKey !== undefined && this.#suspect === undefined) this.#suspectKey(strayKey);
      // A create of this process may have changed the next slot meanwhile.
      const readUpTo = found.hasMore ? found.keyValues.at(-1)!.key : end;
      this.#isNearEnd = log.nextSlot < readUpTo;
      if (!this.#isNearEnd) {
        this.#adapt(found, log.lastId - before);
      } else if (searches || !isDue) {
        if (searches) this.#judge(others, stretch);
        return undefined;
      }
    }
  }

  /**
   * Reads the first key of each range around the meta key and the slots, and the keys of a stretch.
   * When catching up ends no slot is behind the window, so that any key there is a stray one.
   */
  #search(end: string, stretch: Stretch | undefined): readonly TxnPart[] {
    const { prefix, meta, end: prefixEnd } = this.#deps.log.layout;
    const parts = [
      keysIn(prefix, slotKey(this.#deps.log.layout, 0n), 1),
      keysIn(end, meta, 1),
      keysIn(`${meta}\0`, prefixEnd, 1),
    ];
    if (stretch !== undefined) parts.push(keysIn(stretch.from, stretch.end));
    return parts;
  }

  #judge(ranges: readonly RangeResponse[], stretch: Stretch | undefined): void {
    this.#searchedAt = this.#deps.clock.now();
    const keys = ranges.map(({ keyValues }) => keyValues.map(({ key }) => key));
    const { from = '', end, count = 0 } = stretch ?? {};
    const inside = keys[3] ?? [];
    const stray =
      keys.slice(0, 3).flat()[0] ??
      inside.find((key) => count === 0 || !isSlot(this.#deps.log.layout, key));
    if (stray !== undefined) {
      this.#suspectKey(stray);
    } else if (inside.length !== count) {
      this.#suspect = stretch;
      const found = `From ${from} up to ${end} there are ${inside.length} keys`;
      const cause = `${found}, and ${count} commits were applied: a start is refused`;
      this.#damage = { key: from, cause };
    } else {
      this.#suspect = undefined;
      this.#damage = undefined;
      this.#stretch += 1;
    }
  }

  #suspectKey(key: string): void {
    this.#suspect = { from: key, end: `${key}\0`, count: 0 };
    const cause = `${key} is not part of the log: a start is refused until it is deleted`;
    this.#damage = { key, cause };
  }

  /**
   * The next window is to have as many commits as a response: one with more loads the member, and
   * one with fewer wastes a round trip. The ids of a commit may have gaps.
   */
  #adapt({ hasMore, keyValues }: RangeResponse, ids: bigint): void {
    const bytes = keyValues.reduce((sum, { value }) => sum + value.length, 0);
    const window = 2n * (hasMore ? ids : this.#window);
    this.#window = window > MAX_WINDOW ? MAX_WINDOW : window < 1n ? 1n : window;
    if (bytes > GOOD_RESPONSE_BYTES) this.#limit = Math.ceil(this.#limit / 2);
    else if (hasMore) this.#limit = Math.min(MAX_COMMITS, 2 * this.#limit);
  }
}

/** Returns the error for a failed compare: the log in etcd is not the applied one. */
export function logDiverged({ layout, lastId }: AppliedLog): LogLostError {
  return new LogLostError(
    `The log under ${layout.prefix} is not the one that was read up to the pet ${lastId}: it was ` +
      'deleted, or an older state was restored. Restart the service to use the present log',
  );
}
