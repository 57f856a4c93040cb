/**
 * Opening a log: finds its meta, and reads everything once. A log that does not exist is not made:
 * a start that did so would begin again with the id 1 after the log was deleted. The command
 * `init-etcd` makes one (new-log.ts).
 *
 * First it tests that the server evaluates compares: each kind that the store uses must fail where
 * it has to. If one succeeds, the server ignores compares, and any slot could be overwritten.
 * Nothing is written, so a cluster whose quota is used up can be read. A step without progress for
 * ten seconds ends the start: a supervisor starts the service again.
 */

import { StoreUnavailableError } from '../../model/pet-store.ts';
import type { AppliedLog, LogId } from './applied-log.ts';
import type { CallKind, EtcdCalls, FailedCall } from './calls.ts';
import type { CatchUp } from './catch-up.ts';
import { retried, type EtcdClock } from './etcd-clock.ts';
import {
  encodeTxn,
  ifAbsent,
  ifValueBegins,
  ifValueIs,
  put,
  range,
  type Txn,
  type TxnResponse,
} from './etcd-json.ts';
import { LogLostError } from './log-lost-error.ts';
import { decodeMeta, layoutOf, type Layout, type Meta } from './slots.ts';

/** How long a step of a start may take without progress. */
export const START_MS = 10_000;

/** What a start works with. */
export interface StartDeps {
  readonly calls: EtcdCalls;
  readonly clock: EtcdClock;
  /** Throws where the start is to be given up. */
  throwIfAborted(): void;
}

/**
 * Returns the log under the prefix. Rejects with LogLostError if there is none, or if a service
 * must not use it, and with StoreUnavailableError if the cluster does not answer.
 */
export async function openLog(deps: StartDeps, prefix: string): Promise<LogId> {
  const layout = layoutOf(prefix);
  const meta = await findMeta(deps, layout);
  if (meta === undefined) {
    throw new LogLostError(
      `There is no log under ${prefix} in etcd. If there never was one, make it with the command ` +
        'petstore init-etcd (node dist/server.js init-etcd), or import pets with petstore ' +
        'copy-pets. If there was one, it was deleted: restore a back-up of etcd',
    );
  }
  return readyLog(deps, layout, meta);
}

/** The log with this meta, after the test of the compares. Rejects if an import is unfinished. */
export async function readyLog(deps: StartDeps, layout: Layout, meta: Buffer): Promise<LogId> {
  await proveCompares(deps, layout, meta);
  const { logId, state } = readMeta(layout, meta);
  if (state === 'ready') return { layout, meta, logId };
  throw new LogLostError(
    `Pets are being brought into ${layout.prefix}: wait until that is finished, or take up again ` +
      'what was broken off',
  );
}

/** The meta of a log that must be there. */
export function readMeta(layout: Layout, value: Buffer): Meta {
  const meta = decodeMeta(value);
  if (meta !== undefined) return meta;
  throw new LogLostError(
    `${layout.meta} has a format that this release cannot read: a newer one wrote it, perhaps`,
  );
}

/** The value of the meta, or undefined if the prefix has no key at all. */
export async function findMeta(deps: StartDeps, layout: Layout): Promise<Buffer | undefined> {
  const first = range({ key: layout.prefix, rangeEnd: layout.end, limit: 1, isKeysOnly: true });
  const look = { compare: [], success: [range({ key: layout.meta }), first], failure: [] };
  const { ranges } = await transact(deps, look, 'start');
  const [meta, any] = ranges.map(({ keyValues }) => keyValues[0]);
  if (meta === undefined && any !== undefined) throw noMeta(layout, any.key);
  return meta?.value;
}

/**
 * Puts a meta under a prefix that has no key, and returns the one that is there afterwards. Sent
 * again after a doubt, it finds its own value.
 */
export async function makeMeta(deps: StartDeps, layout: Layout, value: Buffer): Promise<Buffer> {
  const { succeeded, ranges } = await transact(
    deps,
    {
      compare: [ifAbsent(layout.prefix, layout.end)],
      success: [put(layout.meta, value)],
      failure: [range({ key: layout.meta })],
    },
    'start',
  );
  const there = succeeded ? value : ranges[0]?.keyValues[0]?.value;
  if (there !== undefined) return there;
  throw noMeta(layout, 'a key');
}

function noMeta({ prefix, meta }: Layout, key: string): LogLostError {
  return new LogLostError(
    `There is ${key} under ${prefix}, and no meta: damage. Take another prefix, or restore ${meta}`,
  );
}

/** Rejects if the server does not evaluate compares of each kind that the store uses. */
export async function proveCompares(deps: StartDeps, layout: Layout, meta: Buffer): Promise<void> {
  const key = layout.meta;
  // A meta begins with a brace, which stands between these two in ASCII.
  const [isGreater = ''] = ifValueBegins(key, '~');
  const [, isLess = ''] = ifValueBegins(key, ' ');
  const other = Buffer.concat([meta, Buffer.from('x')]);
  const absent = [ifAbsent(layout.prefix, layout.end), ifAbsent(key)];
  const answers = await Promise.all(
    [...absent, ifValueIs(key, other), isGreater, isLess].map((compare) => {
      const look = [range({ key })];
      return transact(deps, { compare: [compare], success: look, failure: look }, 'start');
    }),
  );
  const isFalse = ({ succeeded, ranges }: TxnResponse): boolean =>
    !succeeded && ranges[0]?.keyValues[0]?.value.equals(meta) === true;
  if (answers.every(isFalse)) return;
  throw new LogLostError('The endpoints do not compare before they write: is that etcd?');
}

/** Applies all commits. Rejects if the prefix has a key that is not part of the log. */
export async function readLog(
  deps: StartDeps,
  log: AppliedLog,
  catchUp: CatchUp,
  kind: CallKind,
): Promise<void> {
  await insisted(
    deps,
    () => catchUp.run(kind),
    () => log.lastId,
  );
  const { strayKey } = catchUp;
  if (strayKey === undefined) return;
  throw new LogLostError(
    `There are keys under ${log.layout.prefix} that belong to no log, ${strayKey} first: delete ` +
      'them if you know what they are',
  );
}

/** The answer to a transaction that may be sent any number of times. */
export async function transact(deps: StartDeps, txn: Txn, kind: CallKind): Promise<TxnResponse> {
  const text = encodeTxn(txn);
  const { answer } = await insisted(deps, () => deps.calls.txn(text, kind));
  return answer;
}

/**
 * Repeats a step until it succeeds; rejects when it is refused, or makes no progress for too long.
 */
async function insisted<Success extends { readonly kind: 'answered' | 'caught up' }>(
  { clock, throwIfAborted }: StartDeps,
  step: () => Promise<Success | FailedCall>,
  progress: () => bigint = () => 0n,
): Promise<Success> {
  let progressAt = clock.now();
  let last = progress();
  return retried(clock, async () => {
    throwIfAborted();
    const outcome = await step();
    if (!('cause' in outcome)) return outcome;
    if (progress() > last) progressAt = clock.now();
    last = progress();
    if (outcome.kind === 'refused') {
      throw new StoreUnavailableError(`The etcd cluster refuses: ${outcome.cause}`);
    }
    if (clock.now() - progressAt >= START_MS) throw noAnswer(outcome.cause);
    return undefined;
  });
}

export function noAnswer(cause: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `The etcd cluster gives no answer within ${START_MS / 1000} seconds: ${cause}`,
  );
}
