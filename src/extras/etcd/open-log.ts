/**
 * Opening a log: finds its meta key, and reads the whole log once. A service never makes a log: if
 * its log was deleted, it would assign the ids from 1 on again. The command `init-etcd` makes one.
 *
 * Before it reads the log, it tests that the server evaluates compares: each kind that the store
 * uses must fail if it is false. If one succeeds, the server ignores compares, and any slot could
 * be overwritten. The test writes nothing, so a cluster whose quota is used up can be read. If a
 * step makes no progress for ten seconds, the start ends: a supervisor starts the service again.
 */

import { AppliedLog } from './applied-log.ts';
import type { StartDeps } from './calls.ts';
import { ifAbsent, ifValue, put, range } from './etcd-json.ts';
import type { Txn, TxnResponse } from './etcd-json.ts';
import { DEFAULT_PREFIX, type ClusterOptions } from './etcd-options.ts';
import { joinCluster, repeatUntilDone } from './join-cluster.ts';
import { decodeMeta, encodeMeta, Layout, LogLostError, randomHex, type Meta } from './slots.ts';

/**
 * Makes an empty log under the prefix, unless it has a ready log, and resolves with what happened.
 * Rejects if the prefix has other keys; or if an endpoint does not respond within ten seconds or
 * belongs to another cluster: an operator whose cluster is half up would not notice the latter.
 */
export async function initEtcd(options: ClusterOptions): Promise<'made' | 'found'> {
  const deps = await joinCluster(options, 'all');
  const own = { logId: randomHex(), state: 'ready' };
  try {
    const { meta } = await openLog(deps, options.prefix ?? DEFAULT_PREFIX, own);
    return meta.logId === own.logId ? 'made' : 'found';
  } finally {
    deps.calls.close();
  }
}

/**
 * Resolves with the log under the prefix, unread. If there is none, makes one with the meta `own`.
 * Rejects with LogLostError if there is none and no `own`, if the prefix has other keys, or if the
 * log is neither ready nor in the state of `own`; and with StoreUnavailableError if the cluster
 * does not respond.
 */
export async function openLog(deps: StartDeps, prefix: string, own?: Meta): Promise<AppliedLog> {
  const layout = new Layout(prefix);
  // An existing log is found without a put, which etcd would refuse if its quota is used up.
  let meta = await findMeta(deps, layout);
  if (meta === undefined && own !== undefined) {
    await expectNoOuterLog(deps, prefix);
    meta = await putIf(deps, [ifAbsent(prefix, layout.end)], layout.meta, encodeMeta(own));
    if (meta === undefined) throw noMeta(layout, `A key under ${prefix}`);
  }
  if (meta === undefined) {
    throw new LogLostError(
      `There is no log under ${prefix} in etcd. If there never was one, make it with the command ` +
        'petstore init-etcd (node dist/server.js init-etcd), or import pets with petstore ' +
        'copy-pets. If there was one, it was deleted: restore a backup of etcd',
    );
  }
  await expectCompares(deps, layout.meta, meta);
  const found = decodeMeta(layout.meta, meta);
  expectState(prefix, found.state, own?.state ?? 'ready');
  return new AppliedLog(layout, found, deps);
}

function expectState(prefix: string, state: string, expected: string): void {
  if (state === expected || state === 'ready') return;
  let reason = `Another import into ${prefix} has begun: use another prefix`;
  if (expected === 'ready') {
    reason = `An import into ${prefix} is not finished: wait for it, or run the same import again`;
  }
  throw new LogLostError(reason);
}

/** Resolves with the value of the meta key, or undefined if the prefix has no key. */
async function findMeta(deps: StartDeps, layout: Layout): Promise<Buffer | undefined> {
  const found = range(layout.meta);
  // The first key only if there is no meta, since etcd visits all keys in a range.
  const success = [found, range(layout.prefix, layout.end, 1)];
  const compare = [ifAbsent(layout.meta)];
  const { ranges } = await transact(deps, { compare, success, failure: [found] });
  const [meta, first] = ranges.map(({ keyValues }) => keyValues[0]);
  if (meta === undefined && first !== undefined) throw noMeta(layout, first.key);
  return meta?.value;
}

/** Rejects if a log is under a part of the prefix: its services would refuse the new log's keys. */
async function expectNoOuterLog(deps: StartDeps, prefix: string): Promise<void> {
  for (const { index } of [...prefix.matchAll(/\//g)].slice(0, -1)) {
    const outer = new Layout(prefix.slice(0, index + 1));
    const result = await repeatUntilDone(deps, async () => {
      const called = await deps.calls.txn({ success: [range(outer.meta)] }, 'start');
      // The user may have no right to read that key.
      return called.kind === 'refused' ? { ranges: [] } : called;
    });
    if (result.ranges[0]?.count !== 1) continue;
    const why = 'and its services refuse other keys there: use another prefix';
    throw new LogLostError(`A log is under ${outer.prefix}, ${why}`);
  }
}

function noMeta({ meta }: Layout, key: string): LogLostError {
  return new LogLostError(
    `${key} exists, but ${meta} is missing: the log is damaged. Restore it, or use another prefix`,
  );
}

/** Rejects if the server does not evaluate compares. */
async function expectCompares(deps: StartDeps, key: string, meta: Buffer): Promise<void> {
  // A meta begins with a brace, which is between the other two in ASCII. And the range is short,
  // since etcd reads all that a compare is about.
  const compares = [
    ifAbsent(key, `${key}\0`),
    ifAbsent(key),
    ifValue(key, `${meta}x`),
    ifValue(key, '~', 'GREATER'),
    ifValue(key, ' ', 'LESS'),
  ];
  const txns = compares.map((compare) => ({ compare: [compare], failure: [range(key)] }));
  const responses = await Promise.all(txns.map((txn) => transact(deps, txn)));
  const isFalse = ({ succeeded, ranges }: TxnResponse): boolean =>
    !succeeded && ranges[0]?.keyValues[0]?.value.equals(meta) === true;
  if (!responses.every(isFalse)) {
    throw new LogLostError('The endpoints ignore the compares of a transaction: are they etcd?');
  }
}

/** Applies all commits. Rejects if the prefix has a key that is not part of the log. */
export async function readLog(deps: StartDeps, log: AppliedLog): Promise<void> {
  await repeatUntilDone(
    deps,
    async () => (await log.catchUp('start')) ?? log,
    () => log.lastId,
  );
  if (log.damage === undefined) return;
  throw new LogLostError(`${log.damage}. Delete such keys, if you know what they are`);
}

/**
 * Puts a value if the compares are true, and resolves with the value that the key has afterwards.
 * If it is sent again after a doubt, it finds its own value.
 */
export async function putIf(
  deps: StartDeps,
  compare: readonly object[],
  key: string,
  value: Buffer,
): Promise<Buffer | undefined> {
  const txn = { compare, success: [put(key, value)], failure: [range(key)] };
  const { succeeded, ranges } = await transact(deps, txn);
  return succeeded ? value : ranges[0]?.keyValues[0]?.value;
}

/** Resolves with the response to a transaction that may be sent any number of times. */
function transact(deps: StartDeps, txn: Txn): Promise<TxnResponse> {
  return repeatUntilDone(deps, () => deps.calls.txn(txn, 'start'));
}
