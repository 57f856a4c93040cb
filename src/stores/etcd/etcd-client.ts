/**
 * The client: sends transactions to one etcd member, and after a failure to the next one.
 *
 * A member is checked before its first use, and again after each failure: a linearizable read,
 * which a majority of the members confirms, tells its cluster. If one of the endpoints belonged to
 * a second cluster, it would take pets that no process finds again. And a member that is cut off
 * from the others costs a short check, not a transaction. The client does not notice if the cluster
 * was restored to an older state; each transaction of the store compares that. If etcd's auth is
 * on, the client logs in, and again when the token expires. After a refused password it pauses,
 * since a member takes long to check one.
 */

import { readFile } from 'node:fs/promises';
import { messageOf, safeLog, silent } from '../../base/log.ts';
import { etcdClock, type EtcdClock } from './calls.ts';
import type { CallCount, CallKind, CallResult, EtcdCalls, FailedCall } from './calls.ts';
import { Endpoints } from './endpoints.ts';
import { decodeError, decodeToken, decodeTxnResponse, type TxnResponse } from './etcd-json.ts';
import { DEFAULT_PREFIX, type ClusterOptions } from './etcd-options.ts';
import { Member, type MemberResponse } from './member.ts';
import { layoutOf } from './slots.ts';

/** If a member takes longer, the next one is used. */
const CALL_MS = 2_000;
const CHECK_MS = 1_000;
/** How often all members are checked. */
const CHECK_ALL_MS = 15_000;

/** Status codes of gRPC. */
const INVALID_ARGUMENT = 3;
const RESOURCE_EXHAUSTED = 8;
const UNAUTHENTICATED = 16;
/**
 * With these codes a request has no effect: a member returns most of them before it replicates the
 * request. 7 is "permission denied". 15, "data loss", is the alarm CORRUPT: while it is raised,
 * each write is refused.
 */
const REFUSALS: readonly number[] = [INVALID_ARGUMENT, 7, 15, UNAUTHENTICATED];

/** The pause after etcd has refused the password. */
const LOG_IN_PAUSE_MS = 10_000;

/** A member's response to a check. */
export type ClusterResponse = Pick<TxnResponse, 'clusterId' | 'memberId'> | FailedCall;

export class EtcdClient implements EtcdCalls {
  readonly #counts: Map<string, CallCount> = new Map();
  readonly #members: readonly Member[];
  readonly #endpoints: Endpoints;
  readonly #options: ClusterOptions;
  readonly #clock: EtcdClock;
  /** The members that are known to belong to the cluster. */
  readonly #checked: Set<Member> = new Set();
  readonly #stopChecking: () => void;
  #clusterId: string | undefined;
  #token: string | undefined;
  #refusedLogIn: { readonly failure: FailedCall; readonly until: number } | undefined;
  #isClosed = false;

  constructor(options: ClusterOptions) {
    const { endpoints, clock = etcdClock, log = silent } = options;
    this.#options = options;
    this.#clock = clock;
    this.#members = endpoints.map((endpoint) => new Member(endpoint, options));
    this.#endpoints = new Endpoints(this.#members, () => clock.now(), safeLog(log));
    this.#stopChecking = clock.every(CHECK_ALL_MS, () => void this.#checkAll());
  }

  async txn(text: string, kind: CallKind): Promise<CallResult> {
    if (this.#isClosed) return { kind: 'unsent', cause: 'closed' };
    const member = this.#endpoints.current;
    const result = await this.#txnTo(member, text);
    this.#count(kind, result.kind, member);
    const isMembersFault = result.kind === 'unsent' || result.kind === 'in doubt';
    if (!isMembersFault || this.#isClosed) return result;
    this.#endpoints.failed(member, result.cause);
    return this.#endpoints.isOtherCluster ? { ...result, isOtherCluster: true } : result;
  }

  get counts(): readonly CallCount[] {
    return [...this.#counts.values()];
  }

  /** Asks every member for its cluster, at the same time. */
  clusters(): Promise<readonly ClusterResponse[]> {
    return Promise.all(this.#members.map((member) => this.#clusterOf(member)));
  }

  /** From now on uses only members of this cluster. */
  join(clusterId: string, responses: readonly ClusterResponse[]): void {
    this.#clusterId = clusterId;
    this.#record(responses);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopChecking();
    for (const member of this.#members) member.close();
  }

  #count(call: CallCount['call'], outcome: CallResult['kind'], { url: endpoint }: Member): void {
    const name = `${call}/${outcome}/${endpoint}`;
    const { value } = this.#counts.get(name) ?? { value: 0 };
    this.#counts.set(name, { call, outcome, endpoint, value: value + 1 });
  }

  async #txnTo(member: Member, text: string): Promise<CallResult> {
    if (!this.#checked.has(member)) {
      const response = await this.#clusterOf(member);
      if ('cause' in response) return response;
      const cause = this.#recordCluster(member, response.clusterId);
      if (cause !== undefined) return { kind: 'unsent', cause };
    }
    const answer = await this.#post(member, '/v3/kv/txn', text, CALL_MS);
    if ('cause' in answer) {
      this.#checked.delete(member);
      return answer;
    }
    if (answer.clusterId === this.#clusterId) return { kind: 'answered', answer };
    return { kind: 'in doubt', cause: this.#recordStrange(member) };
  }

  /** Records the response to a check. Returns what is wrong if it is for another cluster. */
  #recordCluster(member: Member, clusterId: string): string | undefined {
    this.#clusterId ??= clusterId;
    if (clusterId !== this.#clusterId) return this.#recordStrange(member);
    this.#checked.add(member);
    this.#endpoints.works(member);
    return undefined;
  }

  #recordStrange(member: Member): string {
    this.#checked.delete(member);
    const cause = `${member.url} belongs to another cluster than before`;
    this.#endpoints.strange(member, cause);
    return cause;
  }

  /** Checks a member. */
  async #clusterOf(member: Member): Promise<ClusterResponse> {
    const { meta } = layoutOf(this.#options.prefix ?? DEFAULT_PREFIX);
    // The user has the right to read this etcd key.
    const text = `{"key":"${Buffer.from(meta).toString('base64')}","count_only":true}`;
    const response = await this.#post(member, '/v3/kv/range', text, CHECK_MS);
    return 'cause' in response ? withoutEffect(response) : response;
  }

  /** Notices a member that is lost, or works again, and is not in use. */
  async #checkAll(): Promise<void> {
    if (this.#clusterId === undefined) return;
    const responses = await this.clusters();
    if (!this.#isClosed) this.#record(responses);
  }

  #record(responses: readonly ClusterResponse[]): void {
    for (const [index, response] of responses.entries()) {
      const member = this.#members[index]!;
      if ('clusterId' in response) this.#recordCluster(member, response.clusterId);
      else if (response.kind === 'unsent') this.#endpoints.failed(member, response.cause);
    }
  }

  /** Sends a request; if the member refuses the token, logs in and sends it once more. */
  async #post(
    member: Member,
    path: string,
    body: string,
    timeoutMs: number,
  ): Promise<TxnResponse | FailedCall> {
    for (let isRetry = false; ; isRetry = true) {
      if (this.#options.user !== undefined && this.#token === undefined) {
        const failure = await this.#logIn(member);
        if (failure !== undefined) return failure;
      }
      const token = this.#token;
      const response = await member.post(path, body, timeoutMs, token);
      if (response.kind === 'answered' && response.status === 200) {
        const cause = `${member.url}: the response is not from etcd`;
        return decodeTxnResponse(response.text) ?? { kind: 'in doubt', cause };
      }
      if (token === undefined || isRetry || !isStaleToken(response)) {
        return failureOf(member, response);
      }
      if (this.#token === token) this.#token = undefined;
    }
  }

  /** Gets a token from this member, since another one may be down. */
  async #logIn(member: Member): Promise<FailedCall | undefined> {
    try {
      const { user = '', passwordFile = '' } = this.#options;
      const refused = this.#refusedLogIn;
      if (refused !== undefined && this.#clock.now() < refused.until) return refused.failure;
      const password = (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '');
      const body = JSON.stringify({ name: user, password });
      const response = await member.post('/v3/auth/authenticate', body, CALL_MS);
      const token = response.kind === 'answered' ? decodeToken(response.text) : undefined;
      const { kind, cause } = withoutEffect(failureOf(member, response));
      this.#count('log in', token === undefined ? kind : 'answered', member);
      this.#token = token ?? this.#token;
      if (token !== undefined) return undefined;
      const failure: FailedCall = { kind, cause: `Cannot log in: ${cause}` };
      const until = this.#clock.now() + LOG_IN_PAUSE_MS;
      if (kind === 'refused') this.#refusedLogIn = { failure, until };
      return failure;
    } catch (error) {
      return { kind: 'refused', cause: `Cannot log in: ${messageOf(error)}` };
    }
  }
}

/** Returns what is known after any response except one with status 200. */
function failureOf(member: Member, response: MemberResponse): FailedCall {
  if (response.kind !== 'answered') return response;
  const error = decodeError(response.text);
  if (error === undefined) {
    return { kind: 'in doubt', cause: `${member.url}: HTTP status ${response.status}` };
  }
  const cause = `${member.url}: ${error.message}`;
  if (error.code === RESOURCE_EXHAUSTED) return { kind: 'no space', cause };
  return { kind: REFUSALS.includes(error.code) ? 'refused' : 'in doubt', cause };
}

/** Returns the failure of a request that changes nothing: no transaction was sent. */
function withoutEffect({ kind, cause }: FailedCall): FailedCall {
  return { kind: kind === 'refused' ? 'refused' : 'unsent', cause };
}

/** True if the token has expired. Newer releases of etcd report that with code 3, not 16. */
function isStaleToken(response: MemberResponse): boolean {
  if (response.kind !== 'answered') return false;
  const error = decodeError(response.text);
  if (error?.code === UNAUTHENTICATED) return true;
  return error?.code === INVALID_ARGUMENT && /revision.* is old/.test(error.message);
}
