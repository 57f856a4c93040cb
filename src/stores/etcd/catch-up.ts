/**
 * Catching up: applies all commits in the log after the last one that was applied here.
 *
 * Each step is one read-only transaction, which etcd makes linearizable. It compares that the log
 * is still the applied one, and reads a window of slots. For example, after the pet 90 it reads the
 * slots from 90 up to 4186, and gets the commits 90 (the pet 91), 91 (92 to 94) and 94 (95). The
 * slot 95 was in the window, and had nothing: this process has caught up.
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

import type { AppliedCommits } from './applied-log.ts';
import type { CallKind, FailedCall } from './calls.ts';
import { range, type RangeResponse } from './etcd-json.ts';
import type { StartDeps } from './join-cluster.ts';
import { MAX_RESPONSE_BYTES } from './member.ts';
import { LogLostError } from './slots.ts';

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

export class CatchUp {
  readonly #deps: StartDeps;
  readonly #log: AppliedCommits;
  /** The number of ids in a window, and the most commits to read. */
  #window: bigint = FIRST_WINDOW;
  #limit: number = MAX_COMMITS / 2;
  /** True if the last step could be the last one. */
  #isNearEnd = false;
  #searchedAt = -Infinity;
  #damage: string | undefined;
  /** The stretch that the next search counts: a damaged one again, until it is whole. */
  #stretch = 0;

  constructor(deps: StartDeps, log: AppliedCommits) {
    this.#deps = deps;
    this.#log = log;
  }

  /** What the last search has found wrong with the keys under the prefix. */
  get damage(): string | undefined {
    return this.#damage;
  }

  /**
   * Applies at least what was committed before the call. Resolves with the call that failed, or
   * with undefined. Rejects with LogLostError.
   */
  async run(kind: CallKind): Promise<FailedCall | undefined> {
    const { calls, clock } = this.#deps;
    const log = this.#log;
    const { end: prefixEnd, meta } = log.layout;
    const isDue = clock.now() - this.#searchedAt >= SEARCH_MS;
    let stray: string | undefined;
    for (;;) {
      if (kind === 'start') this.#deps.signal?.throwIfAborted();
      const searches = isDue && this.#isNearEnd;
      const { lastId, nextSlot, compares: compare } = log;
      const { from, to, count } = log.stretch(this.#stretch);
      const end = log.layout.slot(lastId + this.#window);
      const success = [range(nextSlot, end, this.#limit)];
      if (searches) success.push(range(from, to, 1), range(end, prefixEnd, 2));
      const result = await calls.txn({ compare, success }, kind);
      if (result.kind !== 'answered') {
        // Perhaps a shorter response succeeds.
        const wasShortest = this.#limit === 1;
        this.#limit = Math.ceil(this.#limit / 2);
        if (result.kind === 'too long' && !wasShortest) continue;
        return result;
      }
      const [found, before, behind] = result.answer.ranges;
      if (!result.answer.succeeded || found === undefined) throw logDiverged(log);
      stray ??= log.apply(found.keyValues);
      // A create of this process may have changed the next slot meanwhile.
      const hasMore = found.count > found.keyValues.length;
      this.#isNearEnd = log.nextSlot < (hasMore ? found.keyValues.at(-1)!.key : end);
      if (!this.#isNearEnd) {
        this.#adapt(found, hasMore, log.lastId - lastId);
      } else if (before !== undefined && behind !== undefined) {
        this.#searchedAt = clock.now();
        // A commit may have passed a key in the window.
        if (stray !== undefined) this.#stretch = -1;
        stray ??= behind.keyValues.find(({ key }) => key !== meta)?.key;
        stray ??= before.keyValues.find(({ key }) => !log.layout.isSlot(key))?.key;
        if (stray !== undefined) {
          this.#damage = `${stray} is not part of the log: a start is refused until it is deleted`;
        } else if (before.count !== count) {
          const found = `From ${from} up to ${to} there are ${before.count} keys`;
          this.#damage = `${found}, and ${count} commits were applied: a start is refused`;
        } else {
          this.#damage = undefined;
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
}

/** Returns the error for a failed compare: the log in etcd is not the applied one. */
export function logDiverged({ layout, lastId }: AppliedCommits): LogLostError {
  return new LogLostError(
    `The log under ${layout.prefix} is not the one that was read up to the pet ${lastId}: it was ` +
      'deleted, or an older state was restored. Restart the service to use the present log',
  );
}
