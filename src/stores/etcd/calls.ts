/**
 * A call: a transaction sent once to one etcd member, and what is known afterwards.
 *
 * This is all that the store asks of etcd, so that its tests can replace it by a simulation. A call
 * never rejects: whether a failed transaction took effect depends on how it failed.
 */

import type { StoreStats } from '../../model/pet-store.ts';
import type { TxnResponse } from './etcd-json.ts';

export type CallCount = NonNullable<StoreStats['calls']>[number];

export type CallResult = { readonly kind: 'answered'; readonly answer: TxnResponse } | FailedCall;

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
  /** No part of it reached a connected socket: it has no effect. */
  | 'unsent'
  /** It may have taken effect, or may still do so. */
  | 'in doubt'
  /** The response exceeds the limit. A put may have taken effect. */
  | 'too long';

/** The purpose of a call, as in the metrics. `look` reads a slot after a create got `no space`. */
export type CallKind = 'start' | 'read' | 'create' | 'look';

export interface EtcdCalls {
  txn(text: string, kind: CallKind): Promise<CallResult>;
  /** How many calls there were of each kind and result, for each endpoint. */
  readonly counts: readonly CallCount[];
  /** Aborts the calls in progress. */
  close(): void;
}
