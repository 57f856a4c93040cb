/**
 * Writing commits: puts a batch of creates into the next free slot, and decides what is answered.
 *
 *     what is known                                          answered           the slot
 *     the read barrier finds no cluster at present           503                nothing is sent
 *     it succeeded, or the slot has our whole value          stored             used
 *     the slot has another value                             next slot, or 503  ours is dead
 *     nothing reached a connected socket                     again, or 503      free
 *     each attempt was refused, and so not done              503                free
 *     each attempt found no space, and the slot is empty     503                free
 *     any other attempt                                      the same bytes     not free for this
 *                                                            again              batch
 *     that, for 15 seconds or when stopping                  unknown            open
 *     a compare failed, and the slot is empty                503 or unknown     the log is lost
 *
 * All attempts of a transaction count, not only the last: an empty slot proves nothing as long as
 * one of them is unanswered. Sending the same bytes again is safe, to any member: they can be put
 * only into their own slot, once, however late. A batch that lost its slot to another process looks
 * up all its idempotency keys again, since the winner may have stored one of them.
 */

import { INT64_MAX } from '../../base/int64.ts';
import type { StoredPet } from '../../model/pet.ts';
import { NO_ID_LEFT, OutcomeUnknownError, StoreUnavailableError } from '../../model/pet-store.ts';
import { storedPetOf } from '../../model/stored-pet.ts';
import { createCommit, encodeCommit, type Commit, type PendingPet } from '../commits/commit.ts';
import { KeyAlreadyStoredError } from '../commit-log.ts';
import type { Outcome } from '../commits/commit-queue.ts';
import { KEY_LIFETIME_MS } from '../idempotency/key-table.ts';
import type { AppliedLog } from './applied-log.ts';
import type { EtcdCalls } from './calls.ts';
import { logDiverged, type CatchUp } from './catch-up.ts';
import type { CreateFailures } from './create-failures.ts';
import { retried, type EtcdClock } from './etcd-clock.ts';
import { encodeTxn, ifAbsent, put, range, type RangeResponse } from './etcd-json.ts';
import { LogLostError } from './log-lost-error.ts';
import { applyFailed } from './read-barrier.ts';
import { encodeValue, slotBound } from './slots.ts';

/** After this a create is refused, where it is certain that nothing of it is stored. */
export const CREATE_MS = 5_000;
/** After this nobody can tell. */
const DOUBT_MS = 15_000;
/** So much less time there is once the store is closing. */
const CLOSING_MS = 3_000;

/** A loser is given so many commits; it reads the rest by catching up. */
const CONFLICT_COMMITS = 8;
const CONFLICT_WINDOW = 4096n;

/** Others are at work as long as one of the last so many commits was theirs. */
const COMMITS_TOGETHER = 16;

export interface CommitWriterDeps {
  readonly calls: EtcdCalls;
  readonly log: AppliedLog;
  readonly catchUp: CatchUp;
  readonly clock: EtcdClock;
  readonly failures: CreateFailures;
  /** From 0 up to 1. */
  random(): number;
  /** Why a proposal would have no answer at present; undefined if the cluster answers reads. */
  noCluster(): string | undefined;
  /**
   * Called for creates whose outcome is unknown behind the id `after`, before they are answered.
   */
  onUnknown(creates: readonly PendingPet[], after: bigint, message: string): void;
  onLost(error: LogLostError): void;
}

/** What became of a proposal: one batch for one slot. */
type ProposalResult =
  | { readonly kind: 'stored' | 'lost' }
  | { readonly kind: 'refused' | 'unknown'; readonly cause: string };

interface Proposal {
  readonly commit: Commit;
  readonly value: Buffer;
  readonly slot: string;
  /** The transaction, as it is sent. */
  readonly text: string;
}

export class CommitWriter {
  conflicts = 0;
  readonly #deps: CommitWriterDeps;
  #hasWon = false;
  /** How many creates the last commit had. */
  #lastCount = 0;
  #roundTripMs = 0;
  /** Why nothing is proposed any more. */
  #ended: string | undefined;
  #closingAt: number | undefined;

  constructor(deps: CommitWriterDeps) {
    this.#deps = deps;
  }

  /** Proposes nothing more; what is in doubt is tried on for its time. */
  end(reason: string): void {
    this.#ended ??= reason;
  }

  /** Shortens the time that a proposal in doubt is tried on for. */
  shortenDeadline(): void {
    this.#closingAt ??= this.#deps.clock.now();
  }

  /**
   * Waits until it is time for the next commit. Who has won a round lets others have the next,
   * while there are others: else the one that is nearest to the leader would win them all. A round
   * trip is enough for a loser, who tries at once.
   */
  async waitForFairness(): Promise<void> {
    const { clock, log, random } = this.#deps;
    // Callers who were just answered, and create again at once, are to share one commit.
    if (this.#lastCount > 1) await clock.yieldToEventLoop();
    if (!this.#hasWon || log.commitsSinceOtherWriter >= COMMITS_TOGETHER) return;
    await clock.sleep((0.5 + random()) * this.#roundTripMs);
  }

  /** Stores the pets together, and tells how each came out. */
  async commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]> {
    const startedAt = this.#deps.clock.now();
    this.#lastCount = creates.length;
    const outcomes = new Map<PendingPet, Outcome<StoredPet>>();
    let rest = creates;
    while (rest.length > 0) {
      rest = this.#withoutFoundKeys(rest, outcomes);
      if (rest.length === 0) break;
      const settled = await this.#round(rest, startedAt, outcomes);
      if (settled === 'settled') break;
    }
    const missing = { error: new Error('A create was left without an outcome') };
    return creates.map((create) => outcomes.get(create) ?? missing);
  }

  /** One proposal for the creates; all of them are settled, or the slot was lost. */
  async #round(
    creates: readonly PendingPet[],
    startedAt: number,
    outcomes: Map<PendingPet, Outcome<StoredPet>>,
  ): Promise<'settled' | 'lost'> {
    const { clock, log, failures } = this.#deps;
    const refuse = (cause: string): 'settled' => {
      failures.record(cause);
      const error = new StoreUnavailableError(`Pets cannot be stored: ${cause}`);
      for (const create of this.#withoutFoundKeys(creates, outcomes))
        outcomes.set(create, { error });
      return 'settled';
    };
    const ended = this.#ended ?? this.#deps.noCluster();
    if (ended !== undefined) return refuse(ended);
    if (log.lastId + BigInt(creates.length) > INT64_MAX) return refuse(NO_ID_LEFT);
    const proposal = this.#propose(creates);
    const settled = await this.#settle(proposal, startedAt);
    this.#hasWon = settled.kind === 'stored';
    switch (settled.kind) {
      case 'stored':
        failures.clear();
        for (const [index, { id, text }] of proposal.commit.pets.entries()) {
          const create = creates[index];
          if (create !== undefined) outcomes.set(create, { result: storedPetOf(id, text) });
        }
        return 'settled';
      case 'lost':
        this.conflicts += 1;
        if (clock.now() - startedAt < CREATE_MS) return 'lost';
        return refuse(tooSlow(clock.now() - startedAt));
      case 'refused':
        return refuse(settled.cause);
      case 'unknown': {
        failures.record(settled.cause);
        const message = `It is not known whether the pet was stored: ${settled.cause}`;
        this.#deps.onUnknown(creates, proposal.commit.after, message);
        const error = new OutcomeUnknownError(message);
        for (const create of creates) outcomes.set(create, { error });
        return 'settled';
      }
    }
  }

  /** Those whose keys were not stored meanwhile, by another process. */
  #withoutFoundKeys(
    creates: readonly PendingPet[],
    outcomes: Map<PendingPet, Outcome<StoredPet>>,
  ): readonly PendingPet[] {
    return creates.filter((create) => {
      if (create.key === undefined || this.#deps.log.keys.find(create.key) === undefined)
        return true;
      outcomes.set(create, { error: new KeyAlreadyStoredError('The key was found in the log') });
      return false;
    });
  }

  #propose(creates: readonly PendingPet[]): Proposal {
    const { log, clock } = this.#deps;
    const commit = createCommit(log.lastId, creates, clock.timeOfDay() + KEY_LIFETIME_MS);
    const value = encodeValue(log.digest, encodeCommit(commit));
    log.propose(value);
    const slot = log.nextSlot;
    const rangeEnd = slotBound(log.layout, log.lastId + CONFLICT_WINDOW);
    const text = encodeTxn({
      compare: [...log.compares, ifAbsent(slot)],
      success: [put(slot, value)],
      failure: [range({ key: slot, rangeEnd, limit: CONFLICT_COMMITS })],
    });
    return { commit, value, slot, text };
  }

  /** Sends a proposal until it is known what became of it, or time is up. */
  async #settle(proposal: Proposal, startedAt: number): Promise<ProposalResult> {
    const { calls, clock } = this.#deps;
    const proposedAt = clock.now();
    let isInDoubt = false;
    return retried(clock, async () => {
      const sentAt = clock.now();
      const outcome = await calls.txn(proposal.text, 'create');
      if (outcome.kind === 'answered') {
        this.#roundTripMs = clock.now() - sentAt;
        const { succeeded, ranges } = outcome.answer;
        if (succeeded) return this.#applyOwn(proposal);
        return this.#readSlot(proposal, ranges[0], isInDoubt);
      }
      const { cause } = outcome;
      switch (outcome.kind) {
        case 'refused':
          if (!isInDoubt) return { kind: 'refused', cause };
          break;
        case 'no space': {
          const look = await this.#look(proposal);
          if (look.kind !== 'open') return look;
          // As long as nobody could look, it is not known.
          if (look.isEmpty && !isInDoubt) return { kind: 'refused', cause };
          if (!look.isEmpty && this.#isOver(proposedAt, DOUBT_MS))
            return { kind: 'unknown', cause };
          break;
        }
        case 'in doubt':
        case 'too long':
          isInDoubt = true;
          break;
        case 'unsent':
          break;
      }
      if (isInDoubt && this.#isOver(proposedAt, DOUBT_MS)) return { kind: 'unknown', cause };
      const isLate = !isInDoubt && outcome.kind === 'unsent' && this.#isOver(startedAt, CREATE_MS);
      return isLate ? { kind: 'refused', cause } : undefined;
    });
  }

  #isOver(since: number, ms: number): boolean {
    const now = this.#deps.clock.now();
    const isHurried = this.#closingAt !== undefined && now - this.#closingAt >= CLOSING_MS;
    return isHurried || now - since >= ms;
  }

  /** After "no space": catches up, since the put may have reached the slot all the same. */
  async #look(
    proposal: Proposal,
  ): Promise<ProposalResult | { readonly kind: 'open'; readonly isEmpty: boolean }> {
    const { catchUp, log } = this.#deps;
    try {
      const outcome = await catchUp.run('look');
      if (outcome.kind !== 'caught up') return { kind: 'open', isEmpty: false };
    } catch (error) {
      return this.#lose(error, 'unknown');
    }
    if (log.nextSlot === proposal.slot) return { kind: 'open', isEmpty: true };
    return { kind: log.isProposedApplied ? 'stored' : 'lost' };
  }

  /** The compare of a proposal failed: its slot is taken, by itself perhaps, or the log is lost. */
  async #readSlot(
    proposal: Proposal,
    found: RangeResponse | undefined,
    isInDoubt: boolean,
  ): Promise<ProposalResult> {
    const { log, catchUp } = this.#deps;
    if (found?.keyValues[0]?.key !== proposal.slot) {
      return this.#lose(logDiverged(log), isInDoubt ? 'unknown' : 'refused');
    }
    try {
      log.apply(found.keyValues);
      // A loser that is far behind would lose again.
      if (found.hasMore) await catchUp.run('read');
    } catch (error) {
      return this.#lose(error, 'refused');
    }
    return { kind: log.isProposedApplied ? 'stored' : 'lost' };
  }

  /** The log cannot be read on. Ours may have come before what is wrong with it. */
  #lose(error: unknown, kind: 'refused' | 'unknown'): ProposalResult {
    const { log, onLost } = this.#deps;
    const lost = error instanceof LogLostError ? error : applyFailed(error);
    onLost(lost);
    return log.isProposedApplied ? { kind: 'stored' } : { kind, cause: lost.message };
  }

  #applyOwn({ commit, value }: Proposal): ProposalResult {
    try {
      this.#deps.log.applyOwn(commit, value);
    } catch (error) {
      // It is stored, but this process cannot go on.
      this.#deps.onLost(applyFailed(error));
    }
    return { kind: 'stored' };
  }
}

function tooSlow(elapsedMs: number): string {
  const seconds = Math.round(elapsedMs / 1000);
  return `other processes took each slot that was tried, and ${seconds} seconds have passed`;
}
