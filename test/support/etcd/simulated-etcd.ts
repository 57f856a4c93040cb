/**
 * A simulated etcd, with its keys in memory, and calls to it, each of which may end in any way that
 * a real call can. real.test.ts sends the same transactions to it and a real one, and compares the
 * responses. It has only what the store uses: compares, put and range.
 */

import type {
  CallKind,
  CallResult,
  EtcdCalls,
  FailureKind,
} from '../../../src/extras/etcd/calls.ts';
import type { RangeResponse, Txn, TxnResponse } from '../../../src/extras/etcd/etcd-json.ts';

/** How a call without a response ends, and what the store learns of it. */
const FAILURES = {
  /** It is done, and its response is lost. */
  'done, cut': 'in doubt',
  /** It is not done, and has no response. */
  'not done, cut': 'in doubt',
  /** It is done when the test calls `late`. */
  'done later, cut': 'in doubt',
  unsent: 'unsent',
  /** Most members belong to another cluster. */
  'another cluster': 'unsent',
  refused: 'refused',
  /** It is done, and the response is "no space". */
  'done, no space': 'no space',
  'not done, no space': 'no space',
  'too long': 'too long',
} as const satisfies Record<string, FailureKind>;

export type Fate = 'answered' | keyof typeof FAILURES;

/** Decides how a call ends, when it is sent; `limit` is that of its first range, or NaN. */
type FateOf = (kind: CallKind, limit: number) => Fate | Promise<Fate>;

interface Range {
  readonly key: string;
  readonly range_end?: string;
}

interface Compare extends Range {
  readonly target: 'CREATE' | 'VALUE';
  readonly result: 'EQUAL' | 'GREATER' | 'LESS';
  readonly create_revision?: string;
  readonly value?: string;
}

interface Request {
  readonly request_put?: { readonly key: string; readonly value: string };
  readonly request_range?: Range & { readonly limit?: string };
}

interface TxnJson {
  readonly compare?: readonly Compare[];
  readonly success?: readonly Request[];
  readonly failure?: readonly Request[];
}

const HEADER = { kind: 'answered', clusterId: '1', memberId: '1', token: undefined } as const;

export class SimulatedEtcd {
  readonly entries: Map<string, Buffer> = new Map();
  /** Each does a transaction that was sent and has not arrived yet. */
  readonly late: (() => void)[] = [];

  /** Does a transaction. */
  txn(txn: Txn): TxnResponse {
    const { compare = [], success = [], failure = [] } = txn as TxnJson;
    const succeeded = compare.every((one) => this.#holds(one));
    const ranges = (succeeded ? success : failure).flatMap((request) => this.#do(request));
    return { ...HEADER, succeeded, ranges };
  }

  /** Returns calls to it. `fateOf` decides how each of them ends, and may wait. */
  calls(fateOf: FateOf = () => 'answered'): EtcdCalls {
    return {
      txn: async (txn, kind): Promise<CallResult> => {
        const [first] = [...((txn as TxnJson).success ?? []), ...((txn as TxnJson).failure ?? [])];
        const fate = await fateOf(kind, Number(first?.request_range?.limit));
        if (fate === 'answered') return this.txn(txn);
        if (fate === 'done later, cut') this.late.push(() => void this.txn(txn));
        else if (fate.startsWith('done')) this.txn(txn);
        const result = { kind: FAILURES[fate], cause: 'simulated' };
        return fate === 'another cluster' ? { ...result, isOtherCluster: true } : result;
      },
      counts: [],
      close: () => undefined,
    };
  }

  #holds({ target, result, create_revision: revision, value, ...range }: Compare): boolean {
    const entries = this.visit(range);
    if (target === 'CREATE' && revision === '0') return entries.length === 0;
    if (target !== 'VALUE') throw new Error('A compare that is not simulated');
    const order = { EQUAL: 0, GREATER: 1, LESS: -1 }[result];
    const bytes = Buffer.from(value ?? '', 'base64');
    return entries.length > 0 && entries.every(([, found]) => found.compare(bytes) === order);
  }

  #do({ request_put: put, request_range: range }: Request): readonly RangeResponse[] {
    if (put !== undefined) this.entries.set(decode(put.key), Buffer.from(put.value, 'base64'));
    if (range === undefined) return [];
    const found = this.visit(range);
    const some = found.slice(0, Number(range.limit ?? Infinity));
    return [{ keyValues: some.map(([key, value]) => ({ key, value })), count: found.length }];
  }

  /** Returns the entries in a range, in the order of their keys: etcd visits each of them. */
  visit({ key, range_end: end }: Range): readonly (readonly [string, Buffer])[] {
    const first = decode(key);
    if (end === undefined) {
      const value = this.entries.get(first);
      return value === undefined ? [] : [[first, value]];
    }
    const last = decode(end);
    return [...this.entries]
      .filter(([name]) => name >= first && name < last)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** Keys are base64 in JSON only. */
function decode(key: string): string {
  return Buffer.from(key, 'base64').toString('latin1');
}
