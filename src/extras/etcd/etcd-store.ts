/**
 * The etcd store: a PetStore that several processes share, in a cluster that survives the loss of a
 * machine. Each process holds all pets in memory. The README of the folder has the drawing.
 *
 *     list, get ─▶ read barrier: apply what others have stored (read-barrier.ts) ─▶ memory ─▶ 200
 *     create ─▶ queue ─▶ turn ─▶ ids ─▶ the next slot (proposer.ts) ─▶ memory ─▶ 201
 *                                 ▲ another process took it: apply its pets, look up the keys again
 *
 * A create has one of three outcomes: stored; refused, and nothing of it will ever appear; or
 * unknown, after a commit that may be in its slot or not. That is the *doubt*, until the slot has a
 * commit, this one or another.
 *
 *     state         creates get          reads get           leaves it
 *     working       201                  200                 a call of a catch-up fails: failing
 *     failing       201, if their calls  200, if a later     a catch-up ends: working
 *                   succeed              call succeeds
 *     out of reach  503 at once; 500 if  503 after 5 s       a catch-up ends: working
 *                   the key is in doubt
 *     ended         503; 500 if the key  503                 never
 *                   is in doubt
 *
 * A read that has waited for five seconds makes the store out of reach, also without a failed call.
 * A close ends the store. So does a log in etcd that is not the one that was applied, or cannot be
 * applied: then `lost` resolves, and only a new process may use the log.
 * There is a read at least once a second, so that an idle store notices an outage, and its end.
 *
 * The limits of time: a create is refused five seconds after it came, or after its commit began, if
 * it is certain that nothing of it is stored. In doubt, it ends after 15 seconds. After the store
 * began to close, a create ends within three seconds, or within five if it has to catch up.
 */

import { row, type Measurement } from '../../core/base/measurement.ts';
import { messageOf, safeLogger, silentLogger, type Logger } from '../../core/base/logger.ts';
import type { NewPet, StoredPet } from '../../core/pets/pet.ts';
import {
  CLOSED,
  NO_ID_LEFT,
  OutcomeUnknownError,
  StoreUnavailableError,
  type CreateOnceResult,
  type PageQuery,
  type PetCount,
  type PetStore,
  type StoredPage,
} from '../../core/pets/pet-store.ts';
import { CommitQueue, type Outcome, type QueuedCreate } from '../../core/store/commit-queue.ts';
import { CreateFigures } from '../../core/store/create-figures.ts';
import { FailureReport } from '../../core/base/failure-report.ts';
import { KeyedCreates } from '../../core/store/keyed-creates.ts';
import { KEY_LIFETIME_MS, type KeyHash } from '../../core/store/idempotency-keys.ts';
import type { AppliedLog } from './applied-log.ts';
import { etcdClock, type StartDeps } from './calls.ts';
import {
  bytesInCommit,
  createCommit,
  fittingCreate,
  FULL_COMMIT_BYTES,
  type Commit,
} from './commit.ts';
import { DEFAULT_PREFIX, type ClusterOptions } from './etcd-options.ts';
import { joinCluster } from './join-cluster.ts';
import { openLog, readLog } from './open-log.ts';
import { CREATE_MS, Proposer, type IsOver, type LogDeps } from './proposer.ts';
import { ReadBarrier } from './read-barrier.ts';
import { LogLostError } from './slots.ts';

/** A commit whose outcome is unknown. Once the slot behind `after` is taken, it is known. */
interface Doubt {
  readonly after: bigint;
  readonly keys: ReadonlySet<KeyHash>;
  readonly message: string;
}

/** `cause` is for clients, and `details` are for the log: etcd's texts name endpoints and files. */
type State = { readonly doubt: Doubt | undefined } & (
  | { readonly name: 'working' }
  | {
      readonly name: 'failing' | 'out of reach' | 'ended';
      readonly cause: string;
      readonly details?: { readonly cause: string };
    }
);

/** A create in the queue. */
interface Waiting extends QueuedCreate {
  readonly since: number;
  readonly refuse: (error: StoreUnavailableError) => void;
}

type Outcomes = readonly Outcome[];

/** A read that waits longer is refused. */
const READ_MS = 5_000;
/** How long a create is still tried after the store begins to close. */
const CLOSING_MS = 3_000;
const TICK_MS = 250;
/** How often an idle store catches up, for its counts and its readiness. */
const BEAT_MS = 1_000;
/** How often a long start logs what it does. */
const START_REPORT_MS = 3_000;

/** The messages for clients after a failed call, and when the log cannot be used any further. */
const IN_LOG = 'the log shows the cause';
const UNUSABLE = 'The etcd cluster cannot be used: ';
const LOST = 'This process cannot continue with the log in etcd';
const SLOW =
  'catching up takes more than 5 seconds: other processes write faster than this one reads, or a ' +
  'member responds slowly';
const OTHER_CLUSTER =
  'Most endpoints have answered for another etcd cluster for ten seconds: a backup was restored, ' +
  'or the cluster was recreated. Restart the service to use that cluster. The last call: ';

/**
 * Opens the store. Rejects if the cluster does not respond, or has no log under the prefix that
 * this release can read: `initEtcd` makes one.
 */
export async function openEtcdStore(options: ClusterOptions): Promise<EtcdStore> {
  const { prefix = DEFAULT_PREFIX, clock = etcdClock } = options;
  const logger = safeLogger(options.log ?? silentLogger);
  let log: AppliedLog | undefined;
  const stopReporting = clock.every(START_REPORT_MS, () => {
    if (log === undefined) logger('info', 'The start waits for the etcd cluster');
    else logger('info', 'The start reads the pets from etcd', { pets: log.pets.length });
  });
  let start: StartDeps | undefined;
  try {
    start = await joinCluster(options);
    log = await openLog(start, prefix);
    await readLog(start, log);
    return new EtcdStore({ ...start, log }, logger);
  } catch (error) {
    start?.calls.close();
    throw error;
  } finally {
    stopReporting();
  }
}

export class EtcdStore implements PetStore {
  readonly lost: Promise<Error>;
  readonly #deps: LogDeps;
  readonly #logger: Logger;
  readonly #barrier: ReadBarrier;
  readonly #proposer: Proposer;
  readonly #queue: CommitQueue<Waiting>;
  readonly #keyed: KeyedCreates;
  /** The creates that no commit has taken, in their order. */
  readonly #waiting: Set<Waiting> = new Set();
  readonly #figures: CreateFigures = new CreateFigures();
  readonly #failures: FailureReport;
  readonly #outage: FailureReport;
  readonly #damage: FailureReport;
  readonly #timers: readonly (() => void)[];
  #state: State = { name: 'working', doubt: undefined };
  /** When the store began to close. */
  #closingAt = Infinity;
  #closing: Promise<void> | undefined;
  #resolveLost: (error: Error) => void = () => undefined;

  /** The log has been read to its end. */
  constructor(deps: LogDeps, logger: Logger) {
    const { clock, log } = deps;
    this.#deps = deps;
    this.#logger = logger;
    this.#barrier = new ReadBarrier(clock, () => this.#catchUp());
    this.#proposer = new Proposer(deps, (error) => this.#lose(error));
    this.#queue = new CommitQueue((take) => this.#commit(take), FULL_COMMIT_BYTES);
    this.#keyed = new KeyedCreates(log, (key) => this.#doubtOf(key), this.#queue);
    const report = (began: string, ended: string): FailureReport =>
      new FailureReport(logger, clock, began, ended);
    this.#failures = report('Creates fail', 'Creates are stored again');
    this.#outage = report('The etcd cluster is out of reach', 'The etcd cluster answers again');
    this.#damage = report('The log in etcd is damaged', 'The log in etcd is whole again');
    this.lost = new Promise((resolve) => (this.#resolveLost = resolve));
    this.#timers = [
      clock.every(TICK_MS, () => this.#tick()),
      clock.every(BEAT_MS, () => void this.#caughtUp().catch(() => undefined)),
    ];
  }

  async list(query: PageQuery): Promise<StoredPage> {
    await this.#caughtUp();
    return this.#deps.log.pets.list(query);
  }

  async get(id: bigint): Promise<StoredPet | undefined> {
    await this.#caughtUp();
    return this.#deps.log.pets.get(id);
  }

  count(): PetCount {
    return this.#deps.log.pets.count();
  }

  async create(newPet: NewPet): Promise<StoredPet> {
    return this.#figures.count(this.#create(fittingCreate(newPet)));
  }

  async createOnce(newPet: NewPet, key: KeyHash): Promise<CreateOnceResult> {
    const queued = fittingCreate(newPet, key);
    const create = (): Promise<StoredPet> => this.#create(queued);
    return this.#figures.count(this.#keyed.createOnce(queued.members, key, create));
  }

  unreadiness(): string | undefined {
    if (this.#closing !== undefined) return CLOSED;
    return this.#whyNot(1) ?? this.#failures.recent;
  }

  measurements(): readonly Measurement[] {
    const { calls, log } = this.#deps;
    const { conflicts } = this.#proposer;
    const { seconds } = this.#barrier;
    const counts = calls.counts.map(({ value, ...labels }) => ({ labels, value }));
    return [
      ...this.#figures.measurements(this.#waiting.size, log.keys),
      row('counter', 'etcd_calls_total', 'Calls to etcd, by purpose, result and endpoint', counts),
      row('counter', 'etcd_conflicts_total', 'Slots that another process took first', conflicts),
      row('histogram', 'etcd_barrier_duration_seconds', 'Wait of reads for etcd', seconds),
    ];
  }

  drain(): void {
    this.#closingAt = Math.min(this.#closingAt, this.#deps.clock.now());
  }

  close(): Promise<void> {
    this.drain();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#queue.whenIdle();
    for (const stop of this.#timers) stop();
    this.#become({ name: 'ended', cause: CLOSED, doubt: this.#state.doubt });
    this.#deps.calls.close();
  }

  /** The only function that changes the state. An ended store can only have another doubt. */
  #become(next: State): void {
    const state = this.#state;
    this.#state = state.name === 'ended' ? { ...state, doubt: next.doubt } : next;
    if (next.name === 'ended') this.#barrier.giveUp(Infinity);
  }

  /** Returns why the store takes no creates, or not so many; undefined if it does. */
  #whyNot(count: number): string | undefined {
    const state = this.#state;
    if (state.name === 'out of reach' || state.name === 'ended') return state.cause;
    return this.#deps.log.pets.hasIdsFor(count) ? undefined : NO_ID_LEFT;
  }

  // Reads

  /** Waits for the read barrier. Rejects with StoreUnavailableError after five seconds. */
  async #caughtUp(): Promise<void> {
    const isCaughtUp = this.#state.name !== 'ended' && (await this.#barrier.wait());
    const state = this.#state;
    if (isCaughtUp && state.name !== 'ended') return;
    const failure = state.name === 'working' ? { ...state, cause: UNUSABLE + SLOW } : state;
    this.#become({ ...failure, name: 'out of reach' });
    throw new StoreUnavailableError(failure.cause);
  }

  /** Catches up, for all reads that wait. Resolves with false if it must be tried again. */
  async #catchUp(): Promise<boolean> {
    const failed = await this.#deps.log.catchUp('read').catch((error: unknown) => {
      this.#lose(error);
      return undefined;
    });
    if (failed?.isOtherCluster) this.#lose(new LogLostError(OTHER_CLUSTER + failed.cause));
    const { name: before, doubt } = this.#state;
    const name = before === 'working' ? 'failing' : before;
    if (failed === undefined) this.#become({ name: 'working', doubt });
    else this.#become({ name, cause: UNUSABLE + IN_LOG, details: { cause: failed.cause }, doubt });
    return failed === undefined || name === 'ended';
  }

  /** Stops using the log permanently. Returns the message for clients. */
  #lose(error: unknown): string {
    if (this.#state.name === 'ended') return LOST;
    // If memory runs out, for example, half of a commit may have been applied.
    const isKnown = error instanceof LogLostError;
    const cause = isKnown ? error.message : `A commit could not be applied: ${messageOf(error)}`;
    const { layout, nextSlot: slot } = this.#deps.log;
    const details = { cause, prefix: layout.prefix, slot };
    this.#logger('error', LOST, details);
    this.#become({ name: 'ended', cause: LOST, doubt: this.#state.doubt });
    this.#resolveLost(new LogLostError(cause));
    return LOST;
  }

  #tick(): void {
    const { clock, log } = this.#deps;
    const state = this.#state;
    this.#barrier.giveUp(clock.now() - READ_MS);
    const cause = 'Pets cannot be stored: earlier creates are waiting for the etcd cluster';
    for (const waiting of this.#waiting) {
      if (clock.now() - waiting.since < CREATE_MS) break;
      this.#waiting.delete(waiting);
      waiting.refuse(new StoreUnavailableError(cause));
    }
    if (state.name === 'out of reach') this.#outage.record(state.cause, state.details);
    else if (state.name === 'working') this.#outage.clear();
    if (log.damage === undefined) this.#damage.clear();
    else this.#damage.record(log.damage);
  }

  // Creates

  async #create(create: QueuedCreate): Promise<StoredPet> {
    const isClosing = this.#closing !== undefined;
    const cause = isClosing ? CLOSED : this.#whyNot(this.#queue.pendingCount + 1);
    if (cause !== undefined) throw new StoreUnavailableError(cause);
    const since = this.#deps.clock.now();
    return new Promise((resolve, reject) => {
      const waiting = { ...create, since, refuse: reject };
      this.#waiting.add(waiting);
      void this.#queue
        .add(waiting, bytesInCommit(waiting))
        .then(resolve, reject)
        .finally(() => this.#waiting.delete(waiting));
    });
  }

  #doubtOf(key: KeyHash): OutcomeUnknownError | undefined {
    const { doubt } = this.#state;
    const isOpen = doubt?.after === this.#deps.log.lastId;
    return isOpen && doubt.keys.has(key) ? new OutcomeUnknownError(doubt.message) : undefined;
  }

  async #commit(take: () => readonly Waiting[]): Promise<Outcomes> {
    await this.#proposer.waitForTurn();
    const taken = take();
    // The others have waited for too long, and were refused.
    const creates = taken.filter((create) => this.#waiting.delete(create));
    const { clock, log } = this.#deps;
    const startedAt = clock.now();
    let rest = creates;
    let outcomes: Outcomes | undefined;
    while (outcomes === undefined) {
      // After each conflict, too: the other process may have stored a key.
      rest = rest.filter(({ key }) => key === undefined || log.keys.find(key) === undefined);
      outcomes = rest.length === 0 ? [] : await this.#tryOnce(rest, startedAt);
    }
    if (creates.length > 0) this.#figures.countCommit(creates.length, clock.now() - startedAt);
    const outcomeOf = new Map(rest.map((create, index) => [create, outcomes[index]]));
    // It is looked up again.
    const stored = new StoreUnavailableError('Another process has stored the key');
    return taken.map((create) => outcomeOf.get(create) ?? stored);
  }

  #isClosingOver(): boolean {
    return this.#deps.clock.now() - this.#closingAt >= CLOSING_MS;
  }

  /** Proposes the creates once. Resolves with their outcomes, or undefined after a conflict. */
  async #tryOnce(creates: readonly Waiting[], startedAt: number): Promise<Outcomes | undefined> {
    const { clock, log } = this.#deps;
    const isOver: IsOver = (ms) => clock.now() - startedAt >= ms || this.#isClosingOver();
    const refuse = (why: string, cause = why): Outcomes => {
      const message = `Pets cannot be stored: ${why}`;
      this.#failures.record(message, { cause });
      const error = new StoreUnavailableError(message);
      return creates.map(() => error);
    };
    // What is not in doubt yet when the store should be closed shall not come into doubt.
    const cause = this.#isClosingOver() ? CLOSED : this.#whyNot(creates.length);
    if (cause !== undefined) return refuse(cause);
    const commit = createCommit(log.lastId, creates, clock.timeOfDay() + KEY_LIFETIME_MS);
    const result = await this.#proposer.propose(commit, isOver);
    switch (result.kind) {
      case 'stored':
        this.#failures.clear();
        return commit.pets;
      case 'conflict':
      case 'far behind': {
        // A process that is far behind would only lose the next slot, too.
        if (result.kind === 'far behind') await this.#barrier.wait(startedAt);
        if (!isOver(CREATE_MS) || this.#isClosingOver()) return undefined;
        const state = this.#state;
        const lostEach = 'other processes took each slot for 5 seconds';
        return refuse('cause' in state ? state.cause : lostEach);
      }
      case 'refused':
        return refuse(IN_LOG, result.cause);
      case 'unknown':
        return this.#leaveUnknown(commit, result.cause);
    }
  }

  #leaveUnknown(commit: Commit, cause: string): Outcomes {
    const message = `It is not known whether the pet was stored: ${IN_LOG}`;
    this.#failures.record(message, { cause });
    const { doubt } = this.#state;
    // An earlier commit for the same slot is in doubt as long as this one.
    const earlier = doubt?.after === commit.after ? doubt.keys : [];
    const keys = new Set([...earlier, ...commit.keys.map(({ key }) => key)]);
    this.#become({ ...this.#state, doubt: { after: commit.after, keys, message } });
    const details = { pets: commit.pets.length, slot: this.#deps.log.layout.slot(commit.after) };
    this.#logger('error', 'It is not known whether pets were stored', details);
    return commit.pets.map(() => new OutcomeUnknownError(message));
  }
}
