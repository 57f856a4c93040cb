/**
 * The client: transactions to a cluster of members, one after the other where one fails.
 *
 * A member is asked for its cluster before it is first used, and again after each failure, since a
 * second cluster among the endpoints would take pets that nobody finds again. That the cluster was
 * not set back is no matter of the client: each transaction of the store compares that. Where
 * etcd's auth is on, it logs in, and again when the token has expired.
 */

import { readFile } from 'node:fs/promises';
import { messageOf, silent, type Log } from '../../base/log.ts';
import { CallCounts, type CallKind, type CallResult, type EtcdCalls } from './calls.ts';
import type { FailedCall } from './calls.ts';
import { Endpoints } from './endpoints.ts';
import { systemClock, type EtcdClock } from './etcd-clock.ts';
import { decodeError, decodeToken, decodeTxnAnswer } from './etcd-json.ts';
import { DEFAULT_PREFIX, type EtcdOptions } from './etcd-options.ts';
import { Member, type MemberResponse } from './member.ts';
import { layoutOf } from './slots.ts';

/** A member that takes longer is left for another one. */
const CALL_MS = 2_000;
const CHECK_MS = 1_000;
/** How often all members are checked, and their round trips measured. */
const LOOK_AROUND_MS = 15_000;

/** What gRPC says in its codes. */
const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const DATA_LOSS = 15;
const UNAUTHENTICATED = 16;
/**
 * After these a request is not done. The members find most of them before they propose it to each
 * other; data loss, which is the alarm CORRUPT, is how all of them end a write while it is raised.
 */
const REFUSALS: readonly number[] = [
  INVALID_ARGUMENT,
  PERMISSION_DENIED,
  DATA_LOSS,
  UNAUTHENTICATED,
];

/** What a member answered for when it was asked for its cluster. */
export type ClusterResponse =
  { readonly clusterId: string; readonly roundTripMs: number } | { readonly failure: FailedCall };

export interface EtcdClientDeps {
  readonly counts?: CallCounts | undefined;
  readonly clock?: EtcdClock | undefined;
  readonly tell?: Log | undefined;
}

export class EtcdClient implements EtcdCalls {
  readonly #members: readonly Member[];
  readonly #endpoints: Endpoints;
  readonly #options: EtcdOptions;
  readonly #counts: CallCounts;
  readonly #clock: EtcdClock;
  readonly #checked: Set<Member> = new Set();
  readonly #stopLooking: () => void;
  #clusterId: string | undefined;
  #token: string | undefined;
  /** Log-ins in progress. Each member is asked itself, since another one may be down. */
  readonly #logIns: Map<Member, Promise<FailedCall | undefined>> = new Map();
  #isClosed = false;

  constructor(options: EtcdOptions, deps: EtcdClientDeps = {}) {
    const { counts = new CallCounts(), clock = systemClock, tell = silent } = deps;
    this.#options = options;
    this.#counts = counts;
    this.#clock = clock;
    this.#members = options.endpoints.map((endpoint) => new Member(endpoint, options));
    this.#endpoints = new Endpoints(options.endpoints, () => clock.now(), tell);
    this.#stopLooking = clock.every(LOOK_AROUND_MS, () => void this.#lookAround());
  }

  async txn(text: string, kind: CallKind): Promise<CallResult> {
    const index = this.#endpoints.current;
    const member = this.#members[index];
    if (member === undefined || this.#isClosed) return { kind: 'unsent', cause: 'closed' };
    const outcome = await this.#txnTo(member, text);
    this.#counts.count(kind, outcome.kind, member.endpoint);
    if (outcome.kind === 'answered') this.#endpoints.answered();
    const isMembersFault = outcome.kind === 'unsent' || outcome.kind === 'in doubt';
    if (!isMembersFault || this.#isClosed) return outcome;
    this.#endpoints.failed(index, outcome.cause);
    return this.#endpoints.isOtherCluster ? { ...outcome, isOtherCluster: true } : outcome;
  }

  /** Asks every member for its cluster, at the same time. */
  clusters(): Promise<readonly ClusterResponse[]> {
    return Promise.all(this.#members.map((member) => this.#clusterOf(member)));
  }

  /**
   * From now on only members of this cluster are used, the nearest of them by these answers first.
   */
  join(clusterId: string, answers: readonly ClusterResponse[]): void {
    this.#clusterId = clusterId;
    this.#note(answers);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopLooking();
    for (const member of this.#members) member.close();
  }

  async #txnTo(member: Member, text: string): Promise<CallResult> {
    if (!this.#checked.has(member)) {
      const failure = await this.#check(member);
      if (failure !== undefined) return failure;
    }
    const reply = await this.#post(member, '/v3/kv/txn', text, CALL_MS);
    if ('failure' in reply) {
      this.#checked.delete(member);
      return reply.failure;
    }
    const answer = decodeTxnAnswer(reply.text);
    if (answer === undefined) {
      this.#checked.delete(member);
      return { kind: 'in doubt', cause: noEtcd(member) };
    }
    if (answer.clusterId === this.#clusterId) return { kind: 'answered', answer };
    return { kind: 'in doubt', cause: this.#noteStrange(member) };
  }

  /** Checks that a member belongs to the cluster, and notes the answer; undefined if it does. */
  async #check(member: Member): Promise<FailedCall | undefined> {
    const answer = await this.#clusterOf(member);
    if ('failure' in answer) return answer.failure;
    return this.#checkCluster(member, answer.clusterId);
  }

  #checkCluster(member: Member, clusterId: string): FailedCall | undefined {
    this.#clusterId ??= clusterId;
    if (clusterId !== this.#clusterId) return { kind: 'unsent', cause: this.#noteStrange(member) };
    this.#checked.add(member);
    this.#endpoints.works(this.#members.indexOf(member));
    return undefined;
  }

  #noteStrange(member: Member): string {
    this.#checked.delete(member);
    const cause = `${member.endpoint} belongs to another cluster than before`;
    this.#endpoints.strange(this.#members.indexOf(member), cause);
    return cause;
  }

  /**
   * Asks a member for its cluster; what it answers from may lag, so it answers without a leader.
   */
  async #clusterOf(member: Member): Promise<ClusterResponse> {
    const { meta } = layoutOf(this.#options.prefix ?? DEFAULT_PREFIX);
    // The user may read this key.
    const key = Buffer.from(meta).toString('base64');
    const text = `{"key":"${key}","serializable":true,"count_only":true}`;
    const startedAt = this.#clock.now();
    const reply = await this.#post(member, '/v3/kv/range', text, CHECK_MS);
    // Nothing of a transaction was sent.
    if ('failure' in reply) {
      const { kind, cause } = reply.failure;
      return { failure: { kind: kind === 'refused' ? 'refused' : 'unsent', cause } };
    }
    const clusterId = decodeTxnAnswer(reply.text)?.clusterId;
    if (clusterId === undefined) return { failure: { kind: 'unsent', cause: noEtcd(member) } };
    return { clusterId, roundTripMs: this.#clock.now() - startedAt };
  }

  /** Notices a lost member that is not the one in use, and finds the nearest one. */
  async #lookAround(): Promise<void> {
    if (this.#clusterId === undefined) return;
    await this.clusters();
    // The first ones may have made a connection.
    const answers = await this.clusters();
    if (!this.#isClosed) this.#note(answers);
  }

  #note(answers: readonly ClusterResponse[]): void {
    for (const [index, answer] of answers.entries()) {
      const member = this.#members[index];
      if (member === undefined) continue;
      if ('clusterId' in answer) this.#checkCluster(member, answer.clusterId);
      else if (answer.failure.kind === 'unsent')
        this.#endpoints.failed(index, answer.failure.cause);
    }
    const roundTripsMs = answers.map((answer) =>
      'clusterId' in answer ? answer.roundTripMs : undefined,
    );
    this.#endpoints.chooseNearest(roundTripsMs);
  }

  /** The text of an answer with 200; where the token was refused, after one more log-in. */
  async #post(
    member: Member,
    path: string,
    body: string,
    timeoutMs: number,
  ): Promise<{ readonly text: string } | { readonly failure: FailedCall }> {
    for (let attempt = 0; ; attempt += 1) {
      if (this.#options.user !== undefined && this.#token === undefined) {
        const logIn = this.#logIns.get(member) ?? this.#logIn(member);
        this.#logIns.set(member, logIn);
        const failure = await logIn;
        if (failure !== undefined) return { failure };
      }
      const token = this.#token;
      const reply = await member.post({ path, body, token, timeoutMs });
      if (reply.kind === 'answered' && reply.status === 200) return { text: reply.text };
      if (token === undefined || attempt > 0 || !isStaleToken(reply)) {
        return { failure: failureOf(member, reply) };
      }
      if (this.#token === token) this.#token = undefined;
    }
  }

  /** Gets a token; undefined when that went well. */
  async #logIn(member: Member): Promise<FailedCall | undefined> {
    try {
      const { user = '', passwordFile = '' } = this.#options;
      const password = (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '');
      // Only ASCII may go out: JSON can spell everything in it.
      const body = asciiJson({ name: user, password });
      const path = '/v3/auth/authenticate';
      const reply = await member.post({ path, body, timeoutMs: CALL_MS });
      const isAnswer = reply.kind === 'answered' && reply.status === 200;
      const token = isAnswer ? decodeToken(reply.text) : undefined;
      if (token !== undefined) {
        this.#token = token;
        this.#counts.count('log in', 'answered', member.endpoint);
        return undefined;
      }
      const { kind, cause } = failureOf(member, reply);
      const outcome = kind === 'refused' ? 'refused' : 'unsent';
      this.#counts.count('log in', outcome, member.endpoint);
      return { kind: outcome, cause: `Cannot log in: ${cause}` };
    } catch (error) {
      return { kind: 'refused', cause: `Cannot log in: ${messageOf(error)}` };
    } finally {
      this.#logIns.delete(member);
    }
  }
}

function noEtcd({ endpoint }: Member): string {
  return `${endpoint}: the answer is not from etcd`;
}

/** What is known after a reply that is no answer with 200. */
function failureOf(member: Member, reply: MemberResponse): FailedCall {
  if (reply.kind === 'cut') return { kind: 'in doubt', cause: reply.cause };
  if (reply.kind !== 'answered') return { kind: reply.kind, cause: reply.cause };
  const error = decodeError(reply.text);
  if (error === undefined) {
    return { kind: 'in doubt', cause: `${member.endpoint}: HTTP status ${reply.status}` };
  }
  const cause = `${member.endpoint}: ${error.message}`;
  if (error.code === RESOURCE_EXHAUSTED) return { kind: 'no space', cause };
  return { kind: REFUSALS.includes(error.code) ? 'refused' : 'in doubt', cause };
}

/** Newer releases tell an old token with code 3 in place of 16. */
function isStaleToken(reply: MemberResponse): boolean {
  if (reply.kind !== 'answered') return false;
  const error = decodeError(reply.text);
  if (error?.code === UNAUTHENTICATED) return true;
  return error?.code === INVALID_ARGUMENT && /revision.* is old/.test(error.message);
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
