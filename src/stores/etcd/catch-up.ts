/**
 * Catching up: applies all commits in the log after the last one that was applied here.
 *
 * Each step is one read-only transaction, which etcd makes linearizable. It compares that the log
 * is still the applied one, and reads a window of slots. The window and the number of keys are
 * limited: etcd counts all keys of a range, whatever the limit, and a value may have 1 MiB.
 *
 * Catching up ends only if the slot after the last id was in a range that etcd returned, and was
 * empty there. An imported pet may have an id far from the one before, so that the range ends
 * before its slot, and another step is needed. The same transaction searches the prefix for
 * keys that are not part of the log. So what it finds cannot be a commit that another process has
 * made since, and a start does not need a moment without writes.
 */

import type { AppliedLog } from './applied-log.ts';
import type { CallKind, EtcdCalls, FailedCall } from './calls.ts';
import type { EtcdClock } from './etcd-clock.ts';
import { encodeTxn, firstKey, range, type RangeResponse, type Txn } from './etcd-json.ts';
import { LogLostError } from './log-lost-error.ts';
import { slotBound, slotKey } from './slots.ts';

const FIRST_WINDOW = 4096n;
const MAX_WINDOW = 1n << 20n;
/** The first limit on the number of commits, which may have 1 MiB each. */
const FIRST_COMMITS = 16;
const MAX_COMMITS = 512;
/** A response of about this size is read fast, and does not occupy a member for long. */
const GOOD_RESPONSE_BYTES: number = 4 << 20;
/** How often a running process searches for keys that are not part of the log. */
const STRAY_MS = 5_000;

export class CatchUp {
  readonly #calls: EtcdCalls;
  readonly #log: AppliedLog;
  readonly #clock: EtcdClock;
  /** The number of ids in a window, and the most commits to read. */
  #window: bigint = FIRST_WINDOW;
  #limit: number = FIRST_COMMITS;
  #straySoughtAt = -Infinity;
  #strayKey: string | undefined;

  constructor(calls: EtcdCalls, log: AppliedLog, clock: EtcdClock) {
    this.#calls = calls;
    this.#log = log;
    this.#clock = clock;
  }

  /** A key under the prefix that is not part of the log, if the last search found one. */
  get strayKey(): string | undefined {
    return this.#strayKey;
  }

  /**
   * Applies at least what was committed before the call. Resolves with the call that failed, or
   * with undefined. Rejects with LogLostError.
   */
  async run(kind: CallKind): Promise<FailedCall | undefined> {
    const log = this.#log;
    const now = this.#clock.now();
    const seeksStray = now - this.#straySoughtAt >= STRAY_MS;
    for (;;) {
      const end = log.lastId + this.#window;
      const result = await this.#calls.txn(encodeTxn(this.#step(end, seeksStray)), kind);
      if (result.kind !== 'answered') {
        // Perhaps a shorter response succeeds.
        const wasShortest = this.#limit === 1;
        this.#limit = Math.ceil(this.#limit / 2);
        if (result.kind === 'too long' && !wasShortest) continue;
        return result;
      }
      const { succeeded, ranges } = result.answer;
      const [found, ...strays] = ranges;
      if (!succeeded || found === undefined) throw logDiverged(log);
      log.apply(found.keyValues);
      // A create of this process may have changed the last id meanwhile.
      if (!found.hasMore && log.lastId < end) {
        if (seeksStray) {
          this.#straySoughtAt = now;
          this.#strayKey = strays.flatMap(({ keyValues }) => keyValues)[0]?.key;
        }
        return undefined;
      }
      this.#adapt(found);
    }
  }

  /**
   * Reads a window of slots. A search for stray keys also reads the first key of each range around
   * the meta key, the applied slots and the window. When catching up ends, no slot is after the
   * window, so that any key in these ranges is a stray one.
   */
  #step(end: bigint, seeksStray: boolean): Txn {
    const { layout, nextSlot, compares } = this.#log;
    const { prefix, meta } = layout;
    const rangeEnd = slotBound(layout, end);
    const success = [range(nextSlot, rangeEnd, this.#limit)];
    if (seeksStray) {
      success.push(firstKey(prefix, slotKey(layout, 0n)));
      success.push(firstKey(rangeEnd, meta));
      success.push(firstKey(`${meta}\0`, layout.end));
    }
    return { compare: compares, success, failure: [] };
  }

  /** A window with too many commits loads the member; a nearly empty one wastes a round trip. */
  #adapt({ hasMore, keyValues }: RangeResponse): void {
    const bytes = keyValues.reduce((sum, { value }) => sum + value.length, 0);
    if (hasMore && this.#window > FIRST_WINDOW) this.#window /= 2n;
    const isSmall = !hasMore && bytes < GOOD_RESPONSE_BYTES / 4;
    if (isSmall && this.#window < MAX_WINDOW) this.#window *= 2n;
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
