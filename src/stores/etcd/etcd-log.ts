/**
 * The CommitLog in the slots of a cluster: it puts a batch of creates into the next free slot, and
 * decides their outcomes.
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
 * their own slot, once, however late they arrive. After a conflict all idempotency keys of the
 * batch are looked up again, since the other process may have stored one of them.
 *
 *     what is known                                      outcome            the slot
 *     the read barrier finds no cluster at present, or   refused            nothing is sent
 *     the store began to close 3 s ago
 *     an attempt succeeded, or the slot has the whole    stored             has the batch
 *     value that was sent
 *     the slot has another value                         the next slot;     another process's
 *                                                        refused after 5 s
 *     the same, and this process is far behind           as the read        another process's
 *                                                        barrier: refused
 *                                                        after 5 s
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

import { INT64_MAX } from '../../base/int64.ts';
import { messageOf } from '../../base/logger.ts';
import type { StoredPet } from '../../model/pet.ts';
import {
  CLOSED,
  NO_ID_LEFT,
  OutcomeUnknownError,
  StoreUnavailableError,
  type StoreStats,
} from '../../model/pet-store.ts';
import { TextPet } from '../../model/pet-text.ts';
import type { CommitLimits, CommitLog, RefuseWaiting } from '../commit-log.ts';
import { createCommit, encodeCommit, type Commit, type PendingPet } from '../commit.ts';
import type { Outcome } from '../commit-queue.ts';
import { FailureReport } from '../failure-report.ts';
import { KEY_LIFETIME_MS, type KeyHash } from '../table/idempotency-keys.ts';
import { logDiverged } from './applied-log.ts';
import { retried, type CallKind, type CallResult } from './calls.ts';
import { ifAbsent, put, range, type KeyValue, type Txn, type TxnResponse } from './etcd-json.ts';
import { LOST_EACH_SLOT, ReadBarrier, type BarrierDeps } from './read-barrier.ts';
import { encodeValue, LIMITS, type LogLostError } from './slots.ts';

/** After this time a create is refused, if it is certain that nothing of it is stored. */
const CREATE_MS = 5_000;
/** After this time the outcome of a create in doubt is unknown. */
const DOUBT_MS = 15_000;
/** How long a proposal in doubt is still retried after the store begins to close. */
const CLOSING_MS = 3_000;

/** The longest round trip for which a pause waits. */
const MAX_ROUND_TRIP_MS = 500;

/** After a conflict this many commits are read with the response, and the rest by catching up. */
const CONFLICT_COMMITS = 8;
const CONFLICT_WINDOW = 4096n;

/** After this many own commits in a row, this process counts as the only one that writes. */
const COMMITS_IN_ROW = 16;

const TICK_MS = 250;
/** How often an idle store catches up, for its counts and its readiness. */
const BEAT_MS = 1_000;

type Outcomes = readonly Outcome<StoredPet>[];

/** What became of a proposal. */
type ProposalResult =
  | { readonly kind: 'stored' | 'conflict' }
  | { readonly kind: 'refused' | 'unknown'; readonly cause: string };

export class EtcdLog implements CommitLog {
  readonly limits: CommitLimits = LIMITS;
  readonly #deps: BarrierDeps;
  readonly #barrier: ReadBarrier;
  readonly #failures: FailureReport;
  readonly #outage: FailureReport;
  readonly #damage: FailureReport;
  readonly #timers: readonly (() => void)[];
  /** How often another process took the slot first. */
  #conflicts = 0;
  /** Why it is unknown whether a key is stored, for creates proposed after the id `#doubtAfter`. */
  readonly #keysInDoubt: Map<KeyHash, string> = new Map();
  #refuseWaiting: RefuseWaiting = () => undefined;
  #doubtAfter: bigint | undefined;
  /** The last id of this process's last commit, and how many such commits were in a row. */
  #ownLastId: bigint;
  #commitsInRow = Infinity;
  #roundTripMs = 0;
  /** When the store began to close. */
  #closingAt = Infinity;
  /** When the creates of the last commit were taken. */
  #startedAt = -Infinity;
  /** Ends the wait for the call in progress. */
  #giveUp: (() => void) | undefined;

  constructor(deps: BarrierDeps) {
    this.#deps = deps;
    this.#ownLastId = deps.log.lastId;
    const { logger, clock } = deps;
    this.#barrier = new ReadBarrier(deps);
    const report = (began: string, ended: string): FailureReport =>
      new FailureReport(logger, clock, began, ended);
    this.#failures = report('Creates fail', 'Creates are stored again');
    this.#outage = report('The etcd cluster is out of reach', 'The etcd cluster answers again');
    this.#damage = report('The log in etcd is damaged', 'The log in etcd is whole again');
    this.#timers = [
      clock.every(TICK_MS, () => this.#tick()),
      clock.every(BEAT_MS, () => void this.catchUp().catch(() => undefined)),
    ];
  }

  onRefusal(refuseWaiting: RefuseWaiting): void {
    this.#refuseWaiting = refuseWaiting;
  }

  now(): number {
    return this.#deps.clock.now();
  }

  get lost(): Promise<LogLostError> {
    return this.#barrier.lost;
  }

  catchUp(): Promise<void> {
    return this.#barrier.wait();
  }

  refusal(): StoreUnavailableError | undefined {
    const cause = this.#barrier.refusal;
    return cause === undefined ? undefined : new StoreUnavailableError(cause);
  }

  problem(): string | undefined {
    return this.#failures.recent;
  }

  stats(): Partial<StoreStats> {
    return {
      calls: this.#deps.calls.counts,
      conflicts: this.#conflicts,
      barrierSeconds: this.#barrier.seconds,
    };
  }

  /** Returns why it is unknown whether a key is stored. Once its slot is taken, it is known. */
  doubtOf(key: KeyHash): string | undefined {
    const isOpen = this.#doubtAfter === this.#deps.log.lastId;
    return isOpen ? this.#keysInDoubt.get(key) : undefined;
  }

  /** Shortens the time for which a proposal in doubt is retried. */
  drain(): void {
    this.#closingAt = Math.min(this.#closingAt, this.#deps.clock.now());
  }

  async close(): Promise<void> {
    for (const stop of this.#timers) stop();
    this.#barrier.end(CLOSED);
    this.#deps.calls.close();
  }

  #tick(): void {
    const { clock, log } = this.#deps;
    this.#barrier.expire();
    this.expire();
    const message = 'Pets cannot be stored: earlier creates are waiting for the etcd cluster';
    this.#refuseWaiting(new StoreUnavailableError(message), clock.now() - CREATE_MS);
    this.#outage.record(this.#barrier.problem);
    this.#damage.record(log.damage);
  }

  /** Ends the wait for a call if the time of its proposal is over. To be repeated regularly. */
  expire(): void {
    if (this.#isOver(DOUBT_MS)) this.#giveUp?.();
  }

  /**
   * Waits until it is time for the next commit. As long as other processes are also writing, a
   * process pauses for about one round trip before each commit. Without the pause, the process
   * nearest to the leader would win every slot. One round trip is enough between processes at a
   * similar distance, because a process that lost a slot retries immediately. A process that is
   * much farther away still loses each slot (README).
   */
  async beforeCommit(): Promise<void> {
    const { clock, log } = this.#deps;
    // Callers that were just served, and create again immediately, are to share one commit.
    await clock.yieldToEventLoop();
    const isAlone = log.lastId === this.#ownLastId && this.#commitsInRow >= COMMITS_IN_ROW;
    if (!isAlone) await clock.sleep((0.5 + clock.random()) * this.#roundTripMs);
  }

  /** Stores the pets together. Resolves with the outcome of each. */
  async commit(creates: readonly PendingPet[]): Promise<Outcomes> {
    this.#startedAt = this.now();
    const { keys } = this.#deps.log;
    let rest = creates;
    let outcomes: Outcomes | undefined;
    while (outcomes === undefined) {
      rest = rest.filter(({ key }) => key === undefined || keys.find(key) === undefined);
      outcomes = rest.length === 0 ? [] : await this.#commitOnce(rest);
    }
    const outcomeOf = new Map(rest.map((create, index) => [create, outcomes[index]]));
    // The store looks up the key of a refused create again.
    const stored = { error: new StoreUnavailableError('Another process has stored the key') };
    return creates.map((create) => outcomeOf.get(create) ?? stored);
  }

  /** Proposes the creates once. Resolves with their outcomes, or undefined after a conflict. */
  async #commitOnce(creates: readonly PendingPet[]): Promise<Outcomes | undefined> {
    const { clock, log } = this.#deps;
    const refuse = (cause: string): Outcomes => {
      this.#failures.record(cause);
      const error = new StoreUnavailableError(`Pets cannot be stored: ${cause}`);
      return creates.map(() => ({ error }));
    };
    const isFull = log.lastId + BigInt(creates.length) > INT64_MAX;
    // What is not in doubt yet when the store should be closed shall not come into doubt.
    const isClosed = this.now() - this.#closingAt >= CLOSING_MS;
    const cause = this.#barrier.refusal ?? (isFull ? NO_ID_LEFT : isClosed ? CLOSED : undefined);
    if (cause !== undefined) return refuse(cause);
    const commit = createCommit(log.lastId, creates, clock.timeOfDay() + KEY_LIFETIME_MS);
    const keyValue = { key: log.nextSlot, value: encodeValue(log.digest, encodeCommit(commit)) };
    const result = await this.#runProposal(keyValue);
    switch (result.kind) {
      case 'stored':
        this.#failures.clear();
        this.#commitsInRow = commit.after === this.#ownLastId ? this.#commitsInRow + 1 : 1;
        this.#ownLastId = commit.pets.at(-1)?.id ?? commit.after;
        return commit.pets.map(({ id, text }) => ({ result: new TextPet(id, text) }));
      case 'conflict':
        this.#conflicts += 1;
        if (this.now() - this.#startedAt < CREATE_MS) return undefined;
        return refuse(LOST_EACH_SLOT);
      case 'refused':
        return refuse(result.cause);
      case 'unknown':
        return this.#leaveUnknown(commit, keyValue.key, result.cause);
    }
  }

  #leaveUnknown(commit: Commit, slot: string, cause: string): Outcomes {
    this.#failures.record(cause);
    const message = `It is not known whether the pet was stored: ${cause}`;
    if (this.#doubtAfter !== commit.after) this.#keysInDoubt.clear();
    this.#doubtAfter = commit.after;
    for (const { key } of commit.keys) this.#keysInDoubt.set(key, message);
    const details = { pets: commit.pets.length, slot };
    this.#deps.logger('error', 'It is not known whether pets were stored', details);
    return commit.pets.map(() => ({ error: new OutcomeUnknownError(message) }));
  }

  /** Proposes a value for its slot until its outcome is known, or its time is over. */
  async #runProposal(proposal: KeyValue): Promise<ProposalResult> {
    const { clock, log } = this.#deps;
    const { key, value } = proposal;
    const rangeEnd = log.layout.slot(log.lastId + CONFLICT_WINDOW);
    const failure = [range(key, rangeEnd, CONFLICT_COMMITS)];
    const txn = { compare: [...log.compares, ifAbsent(key)], success: [put(key, value)], failure };
    let isInDoubt = false;
    /** True if etcd reported no space, and the slot was not seen to be empty after that. */
    let isUnread = false;
    return retried(clock, async () => {
      const sentAt = clock.now();
      let result = await this.#call(txn, 'create');
      if (result.kind === 'no space') {
        // The put may have reached the slot nevertheless.
        const look = await this.#call({ ...txn, success: [] }, 'look');
        isUnread = look.kind !== 'answered' || !look.succeeded;
        if (look.kind === 'answered' && isUnread) result = look;
      }
      if (result.kind === 'answered') {
        this.#roundTripMs = Math.min(clock.now() - sentAt, MAX_ROUND_TRIP_MS);
        return this.#applySlot(proposal, result, isInDoubt || isUnread);
      }
      const { kind, cause } = result;
      if (kind === 'in doubt' || kind === 'too long') isInDoubt = true;
      if (isInDoubt || isUnread) {
        return this.#isOver(DOUBT_MS) ? { kind: 'unknown', cause } : undefined;
      }
      const isRetried = kind === 'unsent' && !this.#isOver(CREATE_MS);
      return isRetried ? undefined : { kind: 'refused', cause };
    });
  }

  #isOver(ms: number): boolean {
    const now = this.now();
    return now - this.#startedAt >= ms || now - this.#closingAt >= CLOSING_MS;
  }

  /** Sends a call, and waits for it no longer than for its proposal. */
  async #call(txn: Txn, kind: CallKind): Promise<CallResult> {
    const result = await new Promise<CallResult>((resolve) => {
      this.#giveUp = () => resolve({ kind: 'in doubt', cause: 'no whole response yet' });
      void this.#deps.calls.txn(txn, kind).then(resolve);
    });
    this.#giveUp = undefined;
    return result;
  }

  /** Applies what the slot has, perhaps the proposal. If it has nothing, the log is lost. */
  async #applySlot(
    proposal: KeyValue,
    { succeeded, ranges: [found] }: TxnResponse,
    isInDoubt: boolean,
  ): Promise<ProposalResult> {
    const { log } = this.#deps;
    const keyValues = succeeded ? [proposal] : (found?.keyValues ?? []);
    const [first] = keyValues;
    if (first?.key !== proposal.key) {
      const cause = this.#barrier.lose(logDiverged(log));
      return { kind: isInDoubt ? 'unknown' : 'refused', cause };
    }
    const isOwn = first.value.equals(proposal.value);
    try {
      log.apply(keyValues);
    } catch (error) {
      const cause = this.#barrier.lose(error);
      if (!isOwn) return { kind: 'refused', cause };
    }
    if (isOwn) return { kind: 'stored' };
    // A process that is far behind would only lose the next slot, too.
    if (found === undefined || found.count === keyValues.length) return { kind: 'conflict' };
    const cause = await this.#barrier.wait(this.#startedAt).catch(messageOf);
    return cause === undefined ? { kind: 'conflict' } : { kind: 'refused', cause };
  }
}
