/**
 * What the etcd store needs of the world outside: calls to etcd, and a clock. Tests replace both.
 *
 * A call is a transaction that is sent to one etcd member: once, or again if it refused the token.
 * It never rejects: whether a failed transaction took effect depends on how it failed. For example,
 * a create whose connection breaks before the response may be stored or not, and it is `in doubt`;
 * if the connection could not be made, it is `unsent`.
 */

import { systemClock, type Clock } from '../../core/base/system.ts';
import type { Txn, TxnResponse } from './etcd-json.ts';

/** How many calls there were for one purpose, with one result, at one endpoint. */
export interface CallCount {
  readonly call: CallKind | 'log in';
  readonly outcome: CallResult['kind'];
  readonly endpoint: string;
  readonly value: number;
}

export type CallResult = TxnResponse | FailedCall;

export interface FailedCall {
  readonly kind: FailureKind;
  readonly cause: string;
  /** Most endpoints belong to another cluster, the first of them for ten seconds or more. */
  readonly isOtherCluster?: true;
}

export type FailureKind =
  /** The member refused it before replicating it, or has the alarm CORRUPT: it has no effect. */
  | 'refused'
  /** The member's quota is used up. A put may have taken effect nevertheless. */
  | 'no space'
  /** The end of it reached no connected socket: it has no effect. */
  | 'unsent'
  /** It may have taken effect, or may still do so. */
  | 'in doubt'
  /** The response exceeds the limit. A put may have taken effect. */
  | 'too long';

/** The purpose of a call, as in the metrics. `look` reads a slot after a create got `no space`. */
export type CallKind = 'start' | 'read' | 'create' | 'look';

export interface EtcdCalls {
  txn(txn: Txn, kind: CallKind): Promise<CallResult>;
  /** How many calls there were of each kind and result, for each endpoint. */
  readonly counts: readonly CallCount[];
  /** Aborts the calls in progress. */
  close(): void;
}

export interface EtcdClock extends Clock {
  /** Resolves after everything that is ready to run now. */
  yieldToEventLoop(): Promise<void>;
  /** Returns a number from 0 up to 1. */
  random(): number;
}

export const etcdClock: EtcdClock = {
  ...systemClock,
  yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
  random: Math.random,
};

/** What a start works with, and an import or export. */
export interface StartDeps {
  readonly calls: EtcdCalls;
  readonly clock: EtcdClock;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Repeats an attempt until it returns a value. The second attempt follows the first immediately,
 * and each later one after a pause that doubles, up to half a second. Rejects if an attempt throws.
 */
export async function retried<T>(clock: Clock, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let pauseMs = 0; ; pauseMs = Math.min(500, Math.max(25, 2 * pauseMs))) {
    const result = await attempt();
    if (result !== undefined) return result;
    await clock.sleep(pauseMs);
  }
}
