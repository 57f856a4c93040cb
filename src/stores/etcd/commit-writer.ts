/**
 * The commit writer puts a batch of creates into the next free slot, and decides their outcomes.
 *
 *     what is known                                      outcome            the slot
 *     the read barrier finds no cluster at present       refused            nothing is sent
 *     an attempt succeeded, or the slot has the whole    stored             has the batch
 *     value that was sent
 *     the slot has another value                         the next slot;     another process's
 *                                                        refused after 5 s
 *     no part of the request reached a connected         sent again;        free
 *     socket                                             refused after 5 s
 *     each attempt was refused, and so has no effect     refused            free
 *     each attempt found no space, and the slot is       refused            free
 *     empty
 *     any other attempt                                  sent again         kept for this batch
 *     any other attempt, after 15 s, or 3 s after the    unknown            open
 *     store began to close
 *     a compare failed, and the slot is empty            refused, or        the log is lost
 *                                                        unknown
 *
 * A free slot is for the next batch. An open slot, too: the next batch that is sent to it takes it,
 * or finds what took it, perhaps the batch in doubt.
 *
 * All attempts of a transaction count, not only the last one: an empty slot proves nothing while an
 * attempt is unanswered. Sending the same bytes again is safe, to any member: they can be put only
 * into their own slot, once, however late they arrive. After a conflict (another process took the
 * slot) all idempotency keys of the batch are looked up again, since that process may have stored
 * one of them.
 */

import { INT64_MAX } from '../../base/int64.ts';
import type { Log } from '../../base/log.ts';
import type { StoredPet } from '../../model/pet.ts';
import { NO_ID_LEFT, OutcomeUnknownError, StoreUnavailableError } from '../../model/pet-store.ts';
import { storedPetOf } from '../../model/stored-pet.ts';
import { createCommit, encodeCommit, type Commit, type PendingPet } from '../commits/commit.ts';
import type { Outcome } from '../commits/commit-queue.ts';
import { KEY_LIFETIME_MS, type KeyHash } from '../idempotency/key-table.ts';
import type { AppliedLog } from './applied-log.ts';
import type { EtcdCalls } from './calls.ts';
import { logDiverged, type CatchUp } from './catch-up.ts';
import { retried, type EtcdClock } from './etcd-clock.ts';
import { encodeTxn, ifAbsent, put, range } from './etcd-json.ts';
import type { KeyValue, RangeResponse, Txn } from './etcd-json.ts';
import { FailureReport } from './failure-report.ts';
import { encodeValue, slotBound } from './slots.ts';

/** After this time a create is refused, if it is certain that nothing of it is stored. */
export const CREATE_MS = 5_000;
/** After this time the outcome of a create in doubt is unknown. */
const DOUBT_MS = 15_000;
/** How long a proposal in doubt is still retried after the store begins to close. */
const CLOSING_MS = 3_000;

/** After a conflict this many commits are read with the response, and the rest by catching up. */
const CONFLICT_COMMITS = 8;
const CONFLICT_WINDOW = 4096n;

/** After this many own commits in a row, this process counts as the only one that writes. */
const COMMITS_IN_ROW = 16;

/** What the etcd log and its writer work with. */
export interface SharedDeps {
  readonly calls: EtcdCalls;
  readonly log: AppliedLog;
  readonly catchUp: CatchUp;
  readonly clock: EtcdClock;
  readonly tell: Log;
}

export interface CommitWriterDeps extends SharedDeps {
  /** Returns why nothing may be proposed at present, or undefined if the cluster serves reads. */
  whyNot(): string | undefined;
  /** Called if this process cannot continue with the log; returns the message. */
  onLost(error: unknown): string;
}

/** What became of a proposal. */
type ProposalResult =
  | { readonly kind: 'stored' | 'conflict' }
  | { readonly kind: 'refused' | 'unknown'; readonly cause: string };

/** One batch for one slot. */
interface Proposal {
  readonly commit: Commit;
  /** The slot, and its value if the proposal takes it. */
  readonly keyValue: KeyValue;
  readonly txn: Txn;
}

export class CommitWriter {
  /** How often another process took the slot first; the metric calls them lost rounds. */
  conflicts = 0;
  readonly failures: FailureReport;
  readonly #deps: CommitWriterDeps;
  /** Why it is unknown whether a key is stored, for creates proposed after the id `#doubtAfter`. */
  readonly #keysInDoubt: Map<KeyHash, string> = new Map();
  #doubtAfter: bigint | undefined;
  /** The last id of this process's last commit, and how many such commits were in a row. */
  #ownLastId: bigint;
  #commitsInRow = Infinity;
  #roundTripMs = 0;
  #closingAt: number | undefined;

  constructor(deps: CommitWriterDeps) {
    this.#deps = deps;
    this.#ownLastId = deps.log.lastId;
    const { tell, clock } = deps;
    this.failures = new FailureReport(tell, clock, 'Creates fail', 'Creates are stored again');
  }

  /** Returns why it is unknown whether a key is stored. Once its slot is taken, it is known. */
  doubtOf(key: KeyHash): string | undefined {
    const isOpen = this.#doubtAfter === this.#deps.log.lastId;
    return isOpen ? this.#keysInDoubt.get(key) : undefined;
  }

  /** Shortens the time for which a proposal in doubt is retried. */
  shortenDeadline(): void {
    this.#closingAt ??= this.#deps.clock.now();
  }

  /**
   * Waits until it is time for the next commit. As long as other processes are also writing, a
   * process pauses for about one round trip before each commit. Without the pause, the process
   * nearest to the leader would win every slot. One round trip is enough between processes at a
   * similar distance, because a process that lost a slot retries immediately. A process that is
   * much farther away still loses each slot (README).
   */
  async waitForFairness(): Promise<void> {
    const { clock, log } = this.#deps;
    // Callers that were just served, and create again immediately, are to share one commit.
    await clock.yieldToEventLoop();
    const isAlone = log.lastId === this.#ownLastId && this.#commitsInRow >= COMMITS_IN_ROW;
    if (!isAlone) await clock.sleep((0.5 + clock.random()) * this.#roundTripMs);
  }

  /** Stores the pets together. Resolves with the outcome of each. */
  async commit(creates: readonly PendingPet[]): Promise<readonly Outcome<StoredPet>[]> {
    const startedAt = this.#deps.clock.now();
    let rest = creates;
    let outcomes: readonly Outcome<StoredPet>[] | undefined;
    while (outcomes === undefined) {
      rest = rest.filter((create) => !this.#isKeyStored(create));
      outcomes = rest.length === 0 ? [] : await this.#commitOnce(rest, startedAt);
    }
    const outcomeOf = new Map(rest.map((create, index) => [create, outcomes[index]]));
    // The store looks up the key of a refused create again.
    const stored = { error: new StoreUnavailableError('Another process has stored the key') };
    return creates.map((create) => outcomeOf.get(create) ?? stored);
  }

  /** Proposes the creates once. Resolves with their outcomes, or undefined after a conflict. */
  async #commitOnce(
    creates: readonly PendingPet[],
    startedAt: number,
  ): Promise<readonly Outcome<StoredPet>[] | undefined> {
    const { clock, log, whyNot } = this.#deps;
    const refuse = (cause: string): readonly Outcome<StoredPet>[] => {
      this.failures.record(cause);
      const error = new StoreUnavailableError(`Pets cannot be stored: ${cause}`);
      return creates.map(() => ({ error }));
    };
    const cause = whyNot();
    if (cause !== undefined) return refuse(cause);
    if (log.lastId + BigInt(creates.length) > INT64_MAX) return refuse(NO_ID_LEFT);
    const proposal = this.#propose(creates);
    const { commit } = proposal;
    const result = await this.#runProposal(proposal, startedAt);
    switch (result.kind) {
      case 'stored':
        this.failures.record();
        this.#commitsInRow = commit.after === this.#ownLastId ? this.#commitsInRow + 1 : 1;
        this.#ownLastId = commit.pets.at(-1)?.id ?? commit.after;
        return commit.pets.map(({ id, text }) => ({ result: storedPetOf(id, text) }));
      case 'conflict': {
        this.conflicts += 1;
        const elapsedMs = clock.now() - startedAt;
        if (elapsedMs < CREATE_MS) return undefined;
        const seconds = Math.round(elapsedMs / 1000);
        const taken = 'other processes took each slot that was tried';
        return refuse(`${taken}, and ${seconds} seconds have passed`);
      }
      case 'refused':
        return refuse(result.cause);
      case 'unknown':
        return this.#leaveUnknown(creates, proposal, result.cause);
    }
  }

  #leaveUnknown(
    creates: readonly PendingPet[],
    { commit, keyValue }: Proposal,
    cause: string,
  ): readonly Outcome<StoredPet>[] {
    this.failures.record(cause);
    const message = `It is not known whether the pet was stored: ${cause}`;
    if (this.#doubtAfter !== commit.after) this.#keysInDoubt.clear();
    this.#doubtAfter = commit.after;
    for (const { key } of commit.keys) this.#keysInDoubt.set(key, message);
    this.#deps.tell('error', 'It is not known whether pets were stored', {
      pets: creates.length,
      slot: keyValue.key,
    });
    return creates.map(() => ({ error: new OutcomeUnknownError(message) }));
  }

  /** True if another process has stored the create's idempotency key. */
  #isKeyStored({ key }: PendingPet): boolean {
    return key !== undefined && this.#deps.log.keys.find(key) !== undefined;
  }

  #propose(creates: readonly PendingPet[]): Proposal {
    const { log, clock } = this.#deps;
    const commit = createCommit(log.lastId, creates, clock.timeOfDay() + KEY_LIFETIME_MS);
    const value = encodeValue(log.digest, encodeCommit(commit));
    const slot = log.nextSlot;
    const rangeEnd = slotBound(log.layout, log.lastId + CONFLICT_WINDOW);
    const compare = [...log.compares, ifAbsent(slot)];
    const failure = [range(slot, rangeEnd, CONFLICT_COMMITS)];
    const txn = { compare, success: [put(slot, value)], failure };
    return { commit, keyValue: { key: slot, value }, txn };
  }

  /** Sends a proposal until its outcome is known, or its time is over. */
  async #runProposal(proposal: Proposal, startedAt: number): Promise<ProposalResult> {
    const { calls, clock } = this.#deps;
    const text = encodeTxn(proposal.txn);
    const proposedAt = clock.now();
    let isInDoubt = false;
    /** True if etcd reported no space, and the slot could not be read after that. */
    let isUnread = false;
    return retried(clock, async () => {
      const sentAt = clock.now();
      const result = await calls.txn(text, 'create');
      if (result.kind === 'answered') {
        this.#roundTripMs = clock.now() - sentAt;
        const { succeeded, ranges } = result.answer;
        const found = succeeded ? { keyValues: [proposal.keyValue], hasMore: false } : ranges[0];
        return this.#applySlot(proposal, found, isInDoubt || isUnread);
      }
      const { kind, cause } = result;
      if (kind === 'no space') {
        // The put may have reached the slot nevertheless.
        const look = await calls.txn(encodeTxn({ ...proposal.txn, success: [] }), 'look');
        isUnread = look.kind !== 'answered';
        if (look.kind === 'answered' && !look.answer.succeeded) {
          return this.#applySlot(proposal, look.answer.ranges[0], true);
        }
      }
      if (kind === 'in doubt' || kind === 'too long') isInDoubt = true;
      if (isInDoubt || isUnread) {
        return this.#isOver(proposedAt, DOUBT_MS) ? { kind: 'unknown', cause } : undefined;
      }
      const isRetried = kind === 'unsent' && !this.#isOver(startedAt, CREATE_MS);
      return isRetried ? undefined : { kind: 'refused', cause };
    });
  }

  #isOver(since: number, ms: number): boolean {
    const now = this.#deps.clock.now();
    const isClosing = this.#closingAt !== undefined && now - this.#closingAt >= CLOSING_MS;
    return isClosing || now - since >= ms;
  }

  /** Applies what the slot has, perhaps the proposal. If it has nothing, the log is lost. */
  async #applySlot(
    { keyValue }: Proposal,
    found: RangeResponse | undefined,
    isInDoubt: boolean,
  ): Promise<ProposalResult> {
    const { log, catchUp, onLost } = this.#deps;
    const [first] = found?.keyValues ?? [];
    if (found === undefined || first?.key !== keyValue.key) {
      return { kind: isInDoubt ? 'unknown' : 'refused', cause: onLost(logDiverged(log)) };
    }
    const isOwn = first.value.equals(keyValue.value);
    try {
      log.apply(found.keyValues);
      // A process that is far behind would only lose the next slot, too.
      if (found.hasMore) await catchUp.run('read');
    } catch (error) {
      const cause = onLost(error);
      if (!isOwn) return { kind: 'refused', cause };
    }
    return { kind: isOwn ? 'stored' : 'conflict' };
  }
}
