/**
 * The proposer puts a commit into the next free slot of the log, and finds out whether it is there.
 *
 * For example, the last pet has the id 90, and the processes A and B each have a create. Both send
 * "if the slot 90 does not exist, put my commit; otherwise return what exists". The commit of B is
 * put. A gets it back, a *conflict*: it applies the pet 91, and sends its create for the slot 91,
 * with the id 92. Now the connection breaks, and A cannot know whether its commit was put: it is
 * *in doubt*. A sends the same bytes again, to any member, until the slot 91 has something. If that
 * is what A has sent, its create is stored; otherwise it is another conflict.
 *
 * The rule: all attempts of a proposal count, not only the last one. An empty slot proves nothing
 * while an attempt is unanswered. Sending the same bytes again is safe: they can be put only into
 * their own slot, once, however late they arrive.
 *
 *     what is known                                      result             the slot
 *     an attempt succeeded, or the slot has the whole    stored             has the batch
 *     value that was sent
 *     the slot has another value                         conflict           another process's
 *     the end of the request reached no connected        sent again;        free
 *     socket                                             refused after 5 s
 *     each attempt was refused, and so has no effect     refused            free
 *     each attempt found no space, and the slot is       refused            free
 *     empty
 *     any other attempt                                  sent again         kept for this batch
 *     any other attempt, or one without its whole        unknown            open
 *     response, after 15 s, or 3 s after the store
 *     began to close
 *     a compare failed, and the slot is empty            refused, or        the log is lost
 *                                                        unknown
 *
 * A free slot is for the next batch. An open slot, too: the next batch that is sent to it takes it,
 * or finds what took it, perhaps the batch in doubt.
 */

import { logDiverged, type AppliedLog } from './applied-log.ts';
import { retried, type CallKind, type CallResult, type StartDeps } from './calls.ts';
import { encodeCommit, type Commit } from './commit.ts';
import { ifAbsent, put, range, type KeyValue, type Txn, type TxnResponse } from './etcd-json.ts';
import { encodeValue } from './slots.ts';

/** After this time a create is refused, if it is certain that nothing of it is stored. */
export const CREATE_MS = 5_000;
/** After this time the outcome of a create in doubt is unknown. */
const DOUBT_MS = 15_000;

/** The longest round trip for which a pause waits. */
const MAX_ROUND_TRIP_MS = 500;

/** After a conflict this many commits are read with the response, and the rest by catching up. */
const CONFLICT_COMMITS = 8;
const CONFLICT_WINDOW = 4096n;

/** After this many own commits in a row, this process counts as the only one that writes. */
const COMMITS_IN_ROW = 16;

/** How often a call looks whether the time of its proposal is over. */
const LOOK_MS = 250;
const NO_RESPONSE: CallResult = { kind: 'in doubt', cause: 'no whole response yet' };

/** Returns whether so many milliseconds are over for a batch, or the store closes. */
export type IsOver = (ms: number) => boolean;

/** What became of a proposal. */
export type ProposalResult =
  /** Far behind after a conflict: the log has more commits than the response. */
  | { readonly kind: 'stored' | 'conflict' | 'far behind' }
  | { readonly kind: 'refused' | 'unknown'; readonly cause: string };

export interface LogDeps extends StartDeps {
  readonly log: AppliedLog;
}

export class Proposer {
  /** How often another process took the slot first. */
  conflicts = 0;
  readonly #deps: LogDeps;
  readonly #lose: (error: unknown) => string;
  /** The last id of this process's last commit, and how many such commits were in a row. */
  #ownLastId: bigint;
  #commitsInRow = Infinity;
  #roundTripMs = 0;

  /** `lose` stops using the log permanently, and returns the message for clients. */
  constructor(deps: LogDeps, lose: (error: unknown) => string) {
    this.#deps = deps;
    this.#lose = lose;
    this.#ownLastId = deps.log.lastId;
  }

  /**
   * Waits until it is time for the next commit. As long as other processes are also writing, a
   * process pauses for about one round trip before each commit. Without the pause, the process
   * nearest to the leader would win every slot. One round trip is enough between processes at a
   * similar distance, because a process that lost a slot retries immediately. A process that is
   * much farther away still loses each slot (README).
   */
  async waitForTurn(): Promise<void> {
    const { clock, log } = this.#deps;
    // Callers that were just served, and create again immediately, are to share one commit.
    await clock.yieldToEventLoop();
    const isAlone = log.lastId === this.#ownLastId && this.#commitsInRow >= COMMITS_IN_ROW;
    if (!isAlone) await clock.sleep((0.5 + clock.random()) * this.#roundTripMs);
  }

  /**
   * Proposes a commit for the next slot until its outcome is known, or its time is over. Applies
   * what the slot has.
   */
  async propose(commit: Commit, isOver: IsOver): Promise<ProposalResult> {
    const { clock, log } = this.#deps;
    const proposal = { key: log.nextSlot, value: encodeValue(log.digest, encodeCommit(commit)) };
    const { key, value } = proposal;
    const rangeEnd = log.layout.slot(log.lastId + CONFLICT_WINDOW);
    const failure = [range(key, rangeEnd, CONFLICT_COMMITS)];
    const txn = { compare: [...log.compares, ifAbsent(key)], success: [put(key, value)], failure };
    let isInDoubt = false;
    /** True if etcd reported no space, and the slot was not seen to be empty after that. */
    let isUnread = false;
    const result = await retried(clock, async (): Promise<ProposalResult | undefined> => {
      const sentAt = clock.now();
      let response = await this.#call(txn, 'create', isOver);
      if (response.kind === 'no space') {
        // The put may have reached the slot nevertheless.
        const look = await this.#call({ ...txn, success: [] }, 'look', isOver);
        isUnread = look.kind !== 'answered' || !look.succeeded;
        if (look.kind === 'answered' && isUnread) response = look;
      }
      if (response.kind === 'answered') {
        this.#roundTripMs = Math.min(clock.now() - sentAt, MAX_ROUND_TRIP_MS);
        return this.#applySlot(proposal, response, isInDoubt || isUnread);
      }
      const { kind, cause } = response;
      if (kind === 'in doubt' || kind === 'too long') isInDoubt = true;
      if (isInDoubt || isUnread) return isOver(DOUBT_MS) ? { kind: 'unknown', cause } : undefined;
      const isRetried = kind === 'unsent' && !isOver(CREATE_MS);
      return isRetried ? undefined : { kind: 'refused', cause };
    });
    if (result.kind === 'conflict' || result.kind === 'far behind') this.conflicts += 1;
    if (result.kind === 'stored') {
      this.#commitsInRow = commit.after === this.#ownLastId ? this.#commitsInRow + 1 : 1;
      this.#ownLastId = commit.pets.at(-1)!.id;
    }
    return result;
  }

  /** Sends a call, and waits for it no longer than for its proposal. */
  #call(txn: Txn, kind: CallKind, isOver: IsOver): Promise<CallResult> {
    const { calls, clock } = this.#deps;
    return new Promise((resolve) => {
      const stop = clock.every(LOOK_MS, () => {
        if (isOver(DOUBT_MS)) resolve(NO_RESPONSE);
      });
      void calls.txn(txn, kind).then(resolve).finally(stop);
    });
  }

  /** Applies what the slot has, perhaps the proposal. If it has nothing, the log is lost. */
  #applySlot(
    proposal: KeyValue,
    { succeeded, ranges: [found] }: TxnResponse,
    isInDoubt: boolean,
  ): ProposalResult {
    const { log } = this.#deps;
    const keyValues = succeeded ? [proposal] : (found?.keyValues ?? []);
    const [first] = keyValues;
    if (first?.key !== proposal.key) {
      return { kind: isInDoubt ? 'unknown' : 'refused', cause: this.#lose(logDiverged(log)) };
    }
    const isOwn = first.value.equals(proposal.value);
    try {
      log.apply(keyValues);
    } catch (error) {
      const cause = this.#lose(error);
      if (!isOwn) return { kind: 'refused', cause };
    }
    if (isOwn) return { kind: 'stored' };
    const isFarBehind = found !== undefined && found.count > keyValues.length;
    return { kind: isFarBehind ? 'far behind' : 'conflict' };
  }
}
