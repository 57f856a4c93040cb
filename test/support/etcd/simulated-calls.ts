/** Calls to a simulated etcd. Each may end in any way that a real call can. */

import type { CallKind, CallResult, EtcdCalls } from '../../../src/stores/etcd/calls.ts';
import { decodeTxnResponse } from '../../../src/stores/etcd/etcd-json.ts';
import type { SimulatedEtcd } from './simulated-etcd.ts';

/** How a call ends. */
export type Fate =
  | 'answered'
  /** It is done, and its response is lost. */
  | 'done, cut'
  /** It is not done, and has no response. */
  | 'not done, cut'
  /** It is done when the test calls `late`. */
  | 'done later, cut'
  | 'unsent'
  | 'refused'
  /** It is done, and the response is "no space". */
  | 'done, no space'
  | 'not done, no space'
  | 'too long';

export interface SimulatedCalls extends EtcdCalls {
  /** Each does a transaction that was sent and has not arrived yet. */
  readonly late: (() => void)[];
}

/** `fateOf` decides how each call ends, and may wait. */
export function simulatedCalls(
  etcd: SimulatedEtcd,
  fateOf: (kind: CallKind, text: string) => Fate | Promise<Fate> = () => 'answered',
): SimulatedCalls {
  const late: (() => void)[] = [];
  return {
    late,
    async txn(text, kind): Promise<CallResult> {
      const fate = await fateOf(kind, text);
      switch (fate) {
        case 'answered': {
          const answer = decodeTxnResponse(etcd.txn(text));
          if (answer === undefined) throw new Error('A simulated answer cannot be read');
          return { kind: 'answered', answer };
        }
        case 'done, cut':
          etcd.txn(text);
          return { kind: 'in doubt', cause: 'simulated' };
        case 'not done, cut':
          return { kind: 'in doubt', cause: 'simulated' };
        case 'done later, cut':
          late.push(() => void etcd.txn(text));
          return { kind: 'in doubt', cause: 'simulated' };
        case 'unsent':
          return { kind: 'unsent', cause: 'simulated' };
        case 'refused':
          return { kind: 'refused', cause: 'simulated' };
        case 'done, no space':
          etcd.txn(text);
          return { kind: 'no space', cause: 'simulated' };
        case 'not done, no space':
          return { kind: 'no space', cause: 'simulated' };
        case 'too long':
          return { kind: 'too long', cause: 'simulated' };
      }
    },
    close: () => undefined,
  };
}
