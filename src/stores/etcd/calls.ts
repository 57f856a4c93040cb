/**
 * A call: a transaction sent once to one member, and what is known afterwards.
 *
 * This is all that the store asks of etcd, so that its tests can put a simulated one in the place.
 * A call never rejects: what becomes of a transaction that failed depends on how it failed.
 */

import type { TxnResponse } from './etcd-json.ts';

export type CallResult =
  | { readonly kind: 'answered'; readonly answer: TxnResponse }
  /** The member refused it, before it was proposed to the others or as damaged: it is not done. */
  | { readonly kind: 'refused'; readonly cause: string }
  /** The member says that its quota is used up. A put may have taken effect all the same. */
  | { readonly kind: 'no space'; readonly cause: string }
  /** Nothing of it reached a connected socket: it is not done. */
  | { readonly kind: 'unsent'; readonly cause: string; readonly isOtherCluster?: true }
  /** It may be done, or may still come to be done. */
  | { readonly kind: 'in doubt'; readonly cause: string; readonly isOtherCluster?: true }
  /** The answer was longer than any that is taken. A put may have taken effect. */
  | { readonly kind: 'too long'; readonly cause: string };

/*
 * `isOtherCluster`: most endpoints have answered for another cluster for ten seconds. The cluster
 * with the log that this process knows is gone.
 */

export type FailedCall = Exclude<CallResult, { readonly kind: 'answered' }>;

/** What a call is for, as the metrics have it. */
export type CallKind = 'start' | 'read' | 'create' | 'look' | 'import';

export interface EtcdCalls {
  txn(text: string, kind: CallKind): Promise<CallResult>;
  /** Breaks off what is under way. */
  close(): void;
}

/** How many calls of each kind ended in each way, for each endpoint. */
export class CallCounts {
  readonly #counts: Map<string, CallCount> = new Map();

  count(call: CallKind | 'log in', outcome: CallResult['kind'], endpoint: string): void {
    const name = `${call}/${outcome}/${endpoint}`;
    const { value } = this.#counts.get(name) ?? { value: 0 };
    this.#counts.set(name, { call, outcome, endpoint, value: value + 1 });
  }

  entries(): readonly CallCount[] {
    return [...this.#counts.values()];
  }
}

export interface CallCount {
  readonly call: string;
  readonly outcome: string;
  readonly endpoint: string;
  readonly value: number;
}
