/**
 * The client: transactions to a cluster of members, one after the other where one fails.
 *
 * A member is asked for its cluster before it is first used, and again after each failure, since a
 * second cluster among the endpoints would take pets that nobody finds again. An answer from before
 * what was seen already is not believed. Where etcd's auth is on, it logs in, and again when the
 * token has expired.
 */

import { readFile } from 'node:fs/promises';
import { messageOf } from '../../base/log.ts';
import { CallCounts, type CallKind, type CallOutcome, type EtcdCalls } from './calls.ts';
import { decodeError, decodeToken, decodeTxnAnswer } from './etcd-json.ts';
import type { EtcdOptions } from './etcd-options.ts';
import { Member, type Reply } from './member.ts';

/** A member that takes longer is left for another one. */
const CALL_MS = 2_000;
const CHECK_MS = 1_000;

/** What gRPC says in its codes. */
const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const UNAUTHENTICATED = 16;
/** They are told before a request is proposed to the other members. */
const REFUSALS: readonly number[] = [INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED];

type Failure = Exclude<CallOutcome, { readonly kind: 'answered' }>;

export class EtcdClient implements EtcdCalls {
  readonly #members: readonly Member[];
  readonly #options: EtcdOptions;
  /** A key that the user may read. */
  readonly #probeKey: string;
  readonly #counts: CallCounts;
  readonly #checked: Set<Member> = new Set();
  #current = 0;
  #clusterId: string | undefined;
  #revision = 0n;
  #token: string | undefined;
  #loggingIn: Promise<Failure | undefined> | undefined;
  #isClosed = false;

  constructor(options: EtcdOptions, probeKey: string, counts: CallCounts) {
    this.#options = options;
    this.#probeKey = probeKey;
    this.#counts = counts;
    this.#members = options.endpoints.map((endpoint) => new Member(endpoint, options));
  }

  async txn(text: string, kind: CallKind): Promise<CallOutcome> {
    const index = this.#current;
    const outcome = await this.#txnTo(index, text);
    this.#counts.count(kind, outcome.kind);
    const isMembersFault = outcome.kind === 'unsent' || outcome.kind === 'in doubt';
    if (isMembersFault && this.#current === index) {
      this.#current = (index + 1) % this.#members.length;
    }
    return outcome;
  }

  /**
   * Asks every member for its cluster, and begins with the first that has answered; a sentence where
   * two of them differ. Those that do not answer are asked when it is their turn.
   */
  async findForeignMember(): Promise<string | undefined> {
    const failures = await Promise.all(this.#members.map((member) => this.#check(member)));
    this.#current = Math.max(
      0,
      failures.findIndex((failure) => failure === undefined),
    );
    return failures.find((failure) => failure !== undefined && 'isForeign' in failure)?.cause;
  }

  close(): void {
    this.#isClosed = true;
    for (const member of this.#members) member.close();
  }

  async #txnTo(index: number, text: string): Promise<CallOutcome> {
    const member = this.#members[index % this.#members.length];
    if (member === undefined || this.#isClosed) return { kind: 'unsent', cause: 'closed' };
    if (!this.#checked.has(member)) {
      const failure = await this.#check(member);
      if (failure !== undefined) return failure;
    }
    const before = this.#revision;
    const reply = await this.#post(member, '/v3/kv/txn', text, CALL_MS);
    if ('failure' in reply) {
      this.#checked.delete(member);
      return reply.failure;
    }
    const answer = decodeTxnAnswer(reply.text);
    if (answer === undefined) {
      this.#checked.delete(member);
      return { kind: 'in doubt', cause: `${member.endpoint}: an answer that is none of etcd's` };
    }
    const foreign =
      answer.clusterId !== this.#clusterId
        ? `${member.endpoint} belongs to another cluster now`
        : answer.revision < before
          ? `${member.endpoint} answers from revision ${answer.revision}, before ${before}`
          : undefined;
    if (foreign !== undefined) {
      this.#checked.delete(member);
      return { kind: 'in doubt', cause: foreign, isForeign: true };
    }
    if (answer.revision > this.#revision) this.#revision = answer.revision;
    return { kind: 'answered', answer };
  }

  /** Asks a member for its cluster; what it answers from may lag, so that it answers always. */
  async #check(member: Member): Promise<Failure | undefined> {
    const key = Buffer.from(this.#probeKey).toString('base64');
    const text = `{"key":"${key}","serializable":true,"count_only":true}`;
    const reply = await this.#post(member, '/v3/kv/range', text, CHECK_MS);
    // Nothing of the transaction itself was sent.
    if ('failure' in reply) {
      const { kind, cause } = reply.failure;
      return { kind: kind === 'refused' ? 'refused' : 'unsent', cause };
    }
    const clusterId = decodeTxnAnswer(reply.text)?.clusterId;
    if (clusterId === undefined) {
      return { kind: 'unsent', cause: `${member.endpoint}: an answer that is none of etcd's` };
    }
    this.#clusterId ??= clusterId;
    if (clusterId !== this.#clusterId) {
      const cause = `${member.endpoint} belongs to another cluster than the first endpoint`;
      return { kind: 'unsent', cause, isForeign: true };
    }
    this.#checked.add(member);
    return undefined;
  }

  /** The text of an answer with 200; where the token was refused, after one more log-in. */
  async #post(
    member: Member,
    path: string,
    body: string,
    timeoutMs: number,
  ): Promise<{ readonly text: string } | { readonly failure: Failure }> {
    for (let attempt = 0; ; attempt += 1) {
      if (this.#options.user !== undefined && this.#token === undefined) {
        const failure = await (this.#loggingIn ??= this.#logIn(member));
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
  async #logIn(member: Member): Promise<Failure | undefined> {
    try {
      const { user = '', passwordFile = '' } = this.#options;
      const password = (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '');
      // Only ASCII may go out: JSON can spell everything in it.
      const body = asciiJson({ name: user, password });
      const path = '/v3/auth/authenticate';
      const reply = await member.post({ path, body, timeoutMs: CALL_MS });
      const isAnswer = reply.kind === 'answered' && reply.status === 200;
      this.#token = isAnswer ? decodeToken(reply.text) : undefined;
      if (this.#token !== undefined) {
        this.#counts.count('log in', 'answered');
        return undefined;
      }
      const { kind, cause } = failureOf(member, reply);
      const outcome = kind === 'refused' ? 'refused' : 'unsent';
      this.#counts.count('log in', outcome);
      return { kind: outcome, cause: `Cannot log in: ${cause}` };
    } catch (error) {
      return { kind: 'refused', cause: `Cannot log in: ${messageOf(error)}` };
    } finally {
      this.#loggingIn = undefined;
    }
  }
}

/** What is known after a reply that is no answer with 200. */
function failureOf(member: Member, reply: Reply): Failure {
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
function isStaleToken(reply: Reply): boolean {
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
