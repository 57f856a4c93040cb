/**
 * Opening a log: finds its meta or makes it, and reads everything once.
 *
 * The engine is proved first. To make the meta a second time must fail; where it does not, the
 * compares of a transaction do not reach etcd, and every slot could be overwritten. It has ten
 * seconds without progress: a supervisor starts the service again.
 */

import { StoreUnavailableError } from '../../model/pet-store.ts';
import type { AppliedLog, LogId } from './applied-log.ts';
import type { CallKind, EtcdCalls } from './calls.ts';
import type { CatchUp } from './catch-up.ts';
import { pauseMs, type EtcdClock } from './etcd-clock.ts';
import { encodeTxn, ifAbsent, put, range, type Txn, type TxnAnswer } from './etcd-json.ts';
import { LostLogError } from './lost-log-error.ts';
import { decodeMeta, encodeMeta, layoutOf, newLogId, type Layout, type Meta } from './slots.ts';

const START_MS = 10_000;

/** What a start works with. */
export interface StartPlace {
  readonly calls: EtcdCalls;
  readonly clock: EtcdClock;
  /** Throws where the start is to be given up. */
  guard(): void;
}

/**
 * The log under the prefix, made where there is none. Rejects with LostLogError where it is not for
 * a service to work with, and with StoreUnavailableError where the cluster does not answer.
 */
export async function openLog(place: StartPlace, prefix: string): Promise<LogId> {
  const layout = layoutOf(prefix);
  const found = await findMeta(place, layout);
  const value = found ?? encodeMeta({ logId: newLogId(), state: 'ready' });
  // The first may be done by another process; the second is the proof.
  const first = await makeMeta(place, layout, value);
  const second = await makeMeta(place, layout, first.value);
  if (second.isMade || !second.value.equals(first.value)) {
    throw new LostLogError('The endpoints do not compare before they write: is that etcd?');
  }
  const { logId, state } = readMeta(layout, first.value);
  if (state !== 'ready') {
    throw new LostLogError(
      `Pets are being brought into ${prefix}: wait until that is finished, or take up again what ` +
        'was broken off',
    );
  }
  return { layout, meta: first.value, logId };
}

/** The meta of a log that must be there. */
export function readMeta(layout: Layout, value: Buffer): Meta {
  const meta = decodeMeta(value);
  if (meta !== undefined) return meta;
  throw new LostLogError(
    `${layout.meta} has a format that this release cannot read: a newer one wrote it, perhaps`,
  );
}

export async function findMeta(place: StartPlace, layout: Layout): Promise<Buffer | undefined> {
  const look = { compare: [], success: [range({ key: layout.meta })], failure: [] };
  const { ranges } = await settled(place, look, 'start');
  return ranges[0]?.keyValues[0]?.value;
}

/**
 * Puts a meta under a prefix that has no key, and never had one that is still there; else gives the
 * one that is there. Sent again after a doubt, it finds its own value.
 */
export async function makeMeta(
  place: StartPlace,
  layout: Layout,
  value: Buffer,
): Promise<{ readonly isMade: boolean; readonly value: Buffer }> {
  const { succeeded, ranges } = await settled(
    place,
    {
      compare: [ifAbsent(layout.prefix, layout.end)],
      success: [put(layout.meta, value)],
      failure: [range({ key: layout.meta })],
    },
    'start',
  );
  if (succeeded) return { isMade: true, value };
  const there = ranges[0]?.keyValues[0]?.value;
  if (there !== undefined) return { isMade: false, value: there };
  throw new LostLogError(`There are keys under ${layout.prefix}, and no meta: damage`);
}

/** Applies all commits, and makes sure that there is nothing under the prefix that they miss. */
export async function readLog(
  place: StartPlace,
  log: AppliedLog,
  catchUp: CatchUp,
  kind: CallKind,
): Promise<void> {
  for (;;) {
    await catchUpAtStart(place, log, catchUp, kind);
    const { prefix, meta, slots, slotsEnd, end } = log.layout;
    const count = (key: string, rangeEnd: string) => range({ key, rangeEnd, isCount: true });
    const { succeeded, ranges } = await settled(
      place,
      {
        compare: [...log.compares, ifAbsent(log.nextSlot)],
        success: [
          count(log.nextSlot, slotsEnd),
          count(prefix, slots),
          count(slotsEnd, meta),
          count(`${meta}\0`, end),
        ],
        failure: [],
      },
      kind,
    );
    // Another process has added a commit meanwhile.
    if (!succeeded) continue;
    if (ranges.every((found) => found.count === 0)) return;
    throw new LostLogError(`There are keys under ${prefix} that belong to no log: damage`);
  }
}

async function catchUpAtStart(
  { clock, guard }: StartPlace,
  log: AppliedLog,
  catchUp: CatchUp,
  kind: CallKind,
): Promise<void> {
  let { lastId } = log;
  let progressAt = clock.now();
  for (let failures = 1; ; failures += 1) {
    guard();
    const outcome = await catchUp.run(kind);
    if (outcome.kind === 'caught up') return;
    if (log.lastId > lastId) progressAt = clock.now();
    lastId = log.lastId;
    giveUp(outcome.cause, outcome.isRefused, clock.now() - progressAt);
    await clock.sleep(pauseMs(failures));
  }
}

/** The answer to a transaction that may be sent any number of times. */
export async function settled(
  { calls, clock, guard }: StartPlace,
  txn: Txn,
  kind: CallKind,
): Promise<TxnAnswer> {
  const text = encodeTxn(txn);
  const startedAt = clock.now();
  for (let failures = 1; ; failures += 1) {
    guard();
    const outcome = await calls.txn(text, kind);
    if (outcome.kind === 'answered') return outcome.answer;
    giveUp(outcome.cause, outcome.kind === 'refused', clock.now() - startedAt);
    await clock.sleep(pauseMs(failures));
  }
}

function giveUp(cause: string, isRefused: boolean, elapsedMs: number): void {
  if (isRefused) throw new StoreUnavailableError(`The etcd cluster refuses: ${cause}`);
  if (elapsedMs < START_MS) return;
  throw new StoreUnavailableError(
    `The etcd cluster gives no answer within ${START_MS / 1000} seconds: ${cause}`,
  );
}
