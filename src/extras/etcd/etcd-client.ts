/**
 * The client: sends transactions to one etcd member, and after a failure to the next one.
 *
 * A member is checked before its first use, and again after each failure: a linearizable read,
 * which a majority of the members confirms, tells its cluster. If one of the endpoints belonged to
 * a second cluster, it would take pets that no process finds again. And a member that is cut off
 * from the others costs a short check, not a transaction. The client does not notice if the cluster
 * was restored to an older state; each transaction of the store compares that. If etcd's auth is
 * on, the client logs in, and again when the token expires. After a refused password it pauses,
 * since a member takes long to check one. While auth is off, calls need no token.
 */

import { readFile } from 'node:fs/promises';
import { messageOf, safeLogger, silentLogger } from '../../core/base/logger.ts';
import { etcdClock, type EtcdClock } from './calls.ts';
import type { CallCount, CallKind, CallResult, EtcdCalls, FailedCall } from './calls.ts';
import { Endpoints } from './endpoints.ts';
import type { Txn } from './etcd-json.ts';
import { DEFAULT_PREFIX, type ClusterOptions } from './etcd-options.ts';
import { Member } from './member.ts';
import { Layout } from './slots.ts';

/** If a member takes longer, the next one is used. */
const CALL_MS = 2_000;
const CHECK_MS = 1_000;
/** How often all members are checked. */
const CHECK_ALL_MS = 15_000;

/** How a member refuses a token that has expired: by code 16, newer releases of etcd by code 3. */
const STALE_TOKEN = /invalid auth token|revision.* is old/;
const AUTH_IS_OFF = 'authentication is not enabled';
/** The pause after etcd has refused the password, or needs none. */
const LOG_IN_PAUSE_MS = 10_000;

export class EtcdClient implements EtcdCalls {
  readonly #counts: Map<string, CallCount> = new Map();
  readonly #members: readonly Member[];
  readonly #endpoints: Endpoints;
  readonly #options: ClusterOptions;
  readonly #clock: EtcdClock;
  readonly #stopChecking: () => void;
  #token: string | undefined;
  /** No failure: no token is needed. */
  #refusedLogIn: { readonly failure: FailedCall | undefined; readonly until: number } | undefined;
  #isClosed = false;

  constructor(options: ClusterOptions) {
    const { endpoints, clock = etcdClock, log = silentLogger } = options;
    this.#options = options;
    this.#clock = clock;
    this.#members = endpoints.map((endpoint) => new Member(endpoint, options));
    this.#endpoints = new Endpoints(this.#members, () => clock.now(), safeLogger(log));
    this.#stopChecking = clock.every(CHECK_ALL_MS, () => void this.#checkAll());
  }

  async txn(txn: Txn, kind: CallKind): Promise<CallResult> {
    if (this.#isClosed) return { kind: 'unsent', cause: 'closed' };
    const member = this.#endpoints.current;
    const result = await this.#txnTo(member, JSON.stringify(txn));
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
  clusters(): Promise<readonly CallResult[]> {
    return Promise.all(this.#members.map((member) => this.#clusterOf(member)));
  }

  /** From now on uses only members of this cluster. */
  join(clusterId: string): void {
    this.#endpoints.clusterId = clusterId;
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
    if (!member.isChecked) {
      const response = this.#endpoints.responded(member, await this.#clusterOf(member));
      if (response.kind !== 'answered') return withoutEffect(response);
    }
    const response = await this.#post(member, '/v3/kv/txn', text, CALL_MS);
    return this.#endpoints.responded(member, response);
  }

  /** Checks a member. */
  async #clusterOf(member: Member): Promise<CallResult> {
    const { meta } = new Layout(this.#options.prefix ?? DEFAULT_PREFIX);
    // The user has the right to read this etcd key.
    const text = `{"key":"${Buffer.from(meta).toString('base64')}","count_only":true}`;
    return withoutEffect(await this.#post(member, '/v3/kv/range', text, CHECK_MS));
  }

  /** Notices a member that is lost, or works again, and is not in use. */
  async #checkAll(): Promise<void> {
    if (this.#endpoints.clusterId === undefined) return;
    const responses = await this.clusters();
    if (this.#isClosed) return;
    for (const [index, response] of responses.entries()) {
      const member = this.#members[index]!;
      this.#endpoints.responded(member, response);
      if (response.kind === 'unsent') this.#endpoints.failed(member, response.cause);
    }
  }

  /** Sends a request; if the member refuses the token, logs in and sends it once more. */
  async #post(member: Member, path: string, body: string, timeoutMs: number): Promise<CallResult> {
    for (let isRetry = false; ; isRetry = true) {
      const failure = await this.#logIn(member);
      if (failure !== undefined) return failure;
      const token = this.#token;
      const result = await member.post(path, body, timeoutMs, token);
      const isStale = result.kind === 'refused' && STALE_TOKEN.test(result.cause);
      if (token === undefined || isRetry || !isStale) return result;
      if (this.#token === token) this.#token = undefined;
    }
  }

  /** Gets a token from this member, since another one may be down. */
  async #logIn(member: Member): Promise<FailedCall | undefined> {
    const { user: name, passwordFile = '' } = this.#options;
    if (name === undefined || this.#token !== undefined) return undefined;
    const refused = this.#refusedLogIn;
    if (refused !== undefined && this.#clock.now() < refused.until) return refused.failure;
    let password: string;
    try {
      password = (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '');
    } catch (error) {
      return { kind: 'refused', cause: `Cannot log in: ${messageOf(error)}` };
    }
    const body = JSON.stringify({ name, password });
    const result = withoutEffect(await member.post('/v3/auth/authenticate', body, CALL_MS));
    this.#count('log in', result.kind, member);
    if (result.kind === 'answered') {
      this.#token = result.token;
      return undefined;
    }
    const isOff = result.cause.endsWith(AUTH_IS_OFF);
    const cause = `Cannot log in: ${result.cause}`;
    const failure: FailedCall | undefined = isOff ? undefined : { kind: result.kind, cause };
    const until = this.#clock.now() + LOG_IN_PAUSE_MS;
    if (isOff || result.kind === 'refused') this.#refusedLogIn = { failure, until };
    return failure;
  }
}

/** Returns the result of a request that changes nothing: if it fails, no transaction was sent. */
function withoutEffect(result: CallResult): CallResult {
  if (result.kind === 'answered' || result.kind === 'refused') return result;
  return { kind: 'unsent', cause: result.cause };
}
