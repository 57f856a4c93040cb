/**
 * Catching up: applies all commits that the log has behind the last one that was applied here.
 *
 * Each step is one read-only transaction, linearizable as etcd's are unless they say otherwise. It
 * compares that the log is still the one that was applied, and reads a window of slots. Both the
 * window's end and the number of keys are bounded: etcd counts all keys of a range, whatever the
 * limit, and a value may have a mebibyte.
 *
 * It ends only when the slot behind the last id lay in a range that was answered, and was empty
 * there: a pet that was imported may have an id far away from the one before. The same transaction
 * shows whether the prefix has keys that are not part of the log. So a start needs no moment in
 * which other processes write nothing.
 */

import type { AppliedLog } from './applied-log.ts';
import type { CallKind, EtcdCalls, FailedCall } from './calls.ts';
import type { EtcdClock } from './etcd-clock.ts';
import { encodeTxn, range, type RangeResponse, type Txn, type TxnPart } from './etcd-json.ts';
import { LogLostError } from './log-lost-error.ts';
import { slotBound, slotKey } from './slots.ts';

export type CaughtUp = { readonly kind: 'caught up' } | FailedCall;

const FIRST_WINDOW = 4096n;
const MAX_WINDOW = 1n << 20n;
/** At first so many commits are asked for; they may have a mebibyte each. */
const FIRST_COMMITS = 16;
const MAX_COMMITS = 512;
/** Answers of about so many bytes are read fast, and no member is busy for long with one. */
const GOOD_ANSWER_BYTES: number = 4 << 20;
/** How often a running process looks for keys that are not part of the log. */
const STRAY_MS = 5_000;

export class CatchUp {
  readonly #calls: EtcdCalls;
  readonly #log: AppliedLog;
  readonly #clock: EtcdClock;
  /** How many ids a window has, and how many commits are asked for at most. */
  #window: bigint = FIRST_WINDOW;
  #limit: number = FIRST_COMMITS;
  #straySoughtAt = -Infinity;
  #strayKey: string | undefined;

  constructor(calls: EtcdCalls, log: AppliedLog, clock: EtcdClock) {
    this.#calls = calls;
    this.#log = log;
    this.#clock = clock;
  }

  /** A key under the prefix that is not part of the log, if the last look for one found any. */
  get strayKey(): string | undefined {
    return this.#strayKey;
  }

  /** Applies what was committed before the call, at least. Throws LogLostError. */
  async run(kind: CallKind): Promise<CaughtUp> {
    const log = this.#log;
    const now = this.#clock.now();
    const seeksStray = now - this.#straySoughtAt >= STRAY_MS;
    for (;;) {
      const end = log.lastId + this.#window;
      const outcome = await this.#calls.txn(encodeTxn(this.#step(end, seeksStray)), kind);
      if (outcome.kind !== 'answered') {
        // It may have been too much for one answer.
        const isShorter = this.#limit > 1;
        this.#limit = Math.ceil(this.#limit / 2);
        if (outcome.kind === 'too long' && isShorter) continue;
        return outcome;
      }
      const { succeeded, ranges } = outcome.answer;
      const [found, ...strays] = ranges;
      if (!succeeded || found === undefined) throw logDiverged(log);
      log.apply(found.keyValues);
      // It is the last id of now that counts: a create of our own may have moved it meanwhile.
      if (!found.hasMore && log.lastId < end) {
        if (seeksStray) {
          this.#straySoughtAt = now;
          this.#strayKey = strays.flatMap(({ keyValues }) => keyValues)[0]?.key;
        }
        return { kind: 'caught up' };
      }
      this.#adapt(found);
    }
  }

  #step(end: bigint, seeksStray: boolean): Txn {
    const log = this.#log;
    const rangeEnd = slotBound(log.layout, end);
    const slots = range({ key: log.nextSlot, rangeEnd, limit: this.#limit });
    return {
      compare: log.compares,
      success: seeksStray ? [slots, ...this.#aroundSlots(rangeEnd)] : [slots],
      failure: [range({ key: log.layout.meta })],
    };
  }

  /**
   * The ranges that have no key if the last slot lies before `rangeEnd`: one key of each will do.
   */
  #aroundSlots(rangeEnd: string): readonly TxnPart[] {
    const { layout } = this.#log;
    const { prefix, slotsEnd, meta, end } = layout;
    return [
      [prefix, slotKey(layout, 0n)],
      [rangeEnd, slotsEnd],
      [slotsEnd, meta],
      [`${meta}\0`, end],
    ].flatMap(([key = '', rangeEnd]) =>
      // At the highest ids no slot lies behind the window. To etcd an empty range is one key.
      key === rangeEnd ? [] : [range({ key, rangeEnd, limit: 1, isKeysOnly: true })],
    );
  }

  /**
   * A window that is mostly left out costs the member much, one that is nearly empty costs time.
   */
  #adapt({ hasMore, keyValues }: RangeResponse): void {
    const bytes = keyValues.reduce((sum, { value }) => sum + value.length, 0);
    if (hasMore && this.#window > FIRST_WINDOW) this.#window /= 2n;
    const isSmall = !hasMore && bytes < GOOD_ANSWER_BYTES / 4;
    if (isSmall && this.#window < MAX_WINDOW) this.#window *= 2n;
    if (bytes > GOOD_ANSWER_BYTES) this.#limit = Math.ceil(this.#limit / 2);
    else if (hasMore) this.#limit = Math.min(MAX_COMMITS, 2 * this.#limit);
  }
}

/** What is told when a compare does not hold any more that never may cease to. */
export function logDiverged({ layout, lastId }: AppliedLog): LogLostError {
  return new LogLostError(
    `The log under ${layout.prefix} is not the one that was read up to the pet ${lastId}: it was ` +
      'deleted, or an older state was restored. Start the service again to work with what is there',
  );
}
