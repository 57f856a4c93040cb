/**
 * Deliberate breaks of the etcd store, each a small slip, with the check that notices it. They test
 * the checks: these prove nothing if they miss one of them. All run on the simulated etcd.
 *
 * A check is the simulation with one kind of failure, a case of a script, or the comparison of a
 * near process with a far one. Without a break it passes: simulation.test.ts and simulated.test.ts.
 */

import crypto from 'node:crypto';
import zlib from 'node:zlib';
import type {
  CallKind,
  CallResult,
  EtcdCalls,
  FailureKind,
} from '../../../src/extras/etcd/calls.ts';
import { decodeValue, encodeValue } from '../../../src/extras/etcd/slots.ts';
import {
  put,
  type KeyValue,
  type RangeResponse,
  type Txn,
} from '../../../src/extras/etcd/etcd-json.ts';
import { EtcdStore } from '../../../src/extras/etcd/etcd-store.ts';
import { Proposer } from '../../../src/extras/etcd/proposer.ts';
import { ReadBarrier } from '../../../src/extras/etcd/read-barrier.ts';
import { CommitQueue } from '../../../src/core/store/commit-queue.ts';
import { KeyedCreates } from '../../../src/core/store/keyed-creates.ts';
import { IdempotencyKeys } from '../../../src/core/store/idempotency-keys.ts';
import { complaintsOfCase } from '../../support/etcd/etcd-script.ts';
import { complaintsOfTheFar } from '../../support/etcd/fairness.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';
import { failEverywhere, SILENT } from '../../support/etcd/simulation.ts';
import { inClass, type Change } from '../../support/replaced-method.ts';
import { TestsOfCases } from '../../support/run-before-tests.ts';

/** Changes by what notices them. */
type Breaks<Check> = readonly (readonly [
  check: Check,
  changes: Readonly<Record<string, Change>>,
])[];

/** Replaces the calls to etcd: what is sent, or what is made of the result. */
const inCalls = (replace: (txn: EtcdCalls['txn']) => EtcdCalls['txn']): Change =>
  inClass(SimulatedEtcd, 'calls', (calls) => (fateOf) => {
    const original = calls(fateOf);
    return { ...original, txn: replace(original.txn) };
  });

/** A result of this kind counts as one of another kind. */
const take = (kind: FailureKind, as: FailureKind): Change =>
  inCalls((txn) => async (...call) => {
    const result = await txn(...call);
    return result.kind === kind && call[1] !== 'start' ? { ...result, kind: as } : result;
  });

/** Sends something else, but not in a start. */
const send = (change: (txn: Txn, kind: CallKind) => Txn): Change =>
  inCalls((txn) => (sent, kind) => txn(kind === 'start' ? sent : change(sent, kind), kind));

/** Leaves out the compares whose text matches. */
const withoutCompare = (pattern: RegExp): Change =>
  send(({ compare = [], ...rest }) => {
    return { ...rest, compare: compare.filter((one) => !pattern.test(JSON.stringify(one))) };
  });

/** Reads something else in the responses to these calls. */
const receive = (change: (ranges: readonly RangeResponse[]) => readonly RangeResponse[]): Change =>
  inCalls((txn) => async (...call): Promise<CallResult> => {
    const result = await txn(...call);
    return result.kind === 'answered' ? { ...result, ranges: change(result.ranges) } : result;
  });

const withoutEnd = inClass(Proposer, 'propose', (propose) => (commit) => {
  return propose(commit, () => false);
});

const withNewNonces = send((txn, kind) => {
  const [request] = (txn.success ?? []) as readonly { readonly request_put?: KeyValue }[];
  if (kind !== 'create' || request?.request_put === undefined) return txn;
  const [key, value] = [request.request_put.key, request.request_put.value].map((text) =>
    Buffer.from(String(text), 'base64'),
  );
  const { previous, text } = decodeValue('', value!);
  return { ...txn, success: [put(String(key), encodeValue(previous, String(text)))] };
});

const repairChecksums = receive((ranges) =>
  ranges.map(({ keyValues, count }) => ({
    keyValues: keyValues.map(({ key, value }) => {
      const rest = value.subarray('1 00000000 '.length);
      const crc = zlib.crc32(rest).toString(16).padStart(8, '0');
      const isCommit = /\/c\/\d{19}$/.test(key) && value.toString().startsWith('1 ');
      return { key, value: isCommit ? Buffer.concat([Buffer.from(`1 ${crc} `), rest]) : value };
    }),
    count,
  })),
);

/** Reads join the catch-up in progress, which may be older than they are. */
const catchUps = new WeakMap<ReadBarrier, Promise<boolean>>();

const joinCatchUp = inClass(ReadBarrier, 'wait', (wait, barrier) => (since) => {
  const joined = catchUps.get(barrier);
  if (joined !== undefined) return joined;
  const waiting = wait(since).finally(() => catchUps.delete(barrier));
  catchUps.set(barrier, waiting);
  return waiting;
});

const missed = new WeakMap<IdempotencyKeys, Set<string>>();

const lookOnce = inClass(IdempotencyKeys, 'find', (find, self) => (key) => {
  const keys = missed.get(self) ?? new Set();
  missed.set(self, keys);
  const id = keys.has(key) ? undefined : find(key);
  if (id === undefined) keys.add(key);
  return id;
});

const createAtOnce = inClass(KeyedCreates, 'createOnce', () => async (...args) => {
  return { pet: await args[2](), isReplayed: false };
});

/** A refused create is refused, whatever became of an earlier one with its key. */
const forgetDoubt = inClass(KeyedCreates, 'createOnce', (createOnce) => async (...args) => {
  const [members, key, create] = args;
  let failure: unknown;
  const failing = (): ReturnType<typeof create> =>
    create().catch((error: unknown) => {
      failure = error;
      throw error;
    });
  return createOnce(members, key, failing).catch((error: unknown) => {
    throw failure ?? error;
  });
});

const keepKeysLonger = inClass(IdempotencyKeys, 'add', (add) => (key, id, endsAt) => {
  add(key, id, endsAt + 3_600_000);
});

/** Takes the refutations of a start for given. */
const expectNoCompares = inCalls((txn) => async (sent, kind) => {
  const { compare = [], success, failure = [] } = sent;
  const isProof = kind === 'start' && compare.length === 1 && success === undefined;
  const result = await txn(isProof ? { success: failure } : sent, kind);
  return isProof && result.kind === 'answered' ? { ...result, succeeded: false } : result;
});

const NO_KEYS: RangeResponse = { keyValues: [], count: 0 };

const withoutKeysBehind = (ranges: readonly RangeResponse[]): readonly RangeResponse[] =>
  ranges.slice(0, 2).concat(ranges.slice(2).map(() => NO_KEYS));

const asIfComplete = ([first, ...others]: readonly RangeResponse[]): readonly RangeResponse[] =>
  first === undefined ? [] : [{ ...first, count: first.keyValues.length }, ...others];

const nothing = (): undefined => undefined;

/** By the kind of failure. */
const IN_SIMULATION: Breaks<Parameters<typeof failEverywhere>[1]> = [
  ['done, cut', { 'takes a lost response for a failure': take('in doubt', 'refused') }],
  ['done later, cut', { 'takes a late transaction for a failure': take('in doubt', 'refused') }],
  ['done, no space', { 'takes "no space" for a failure': take('no space', 'refused') }],
  [
    'answered',
    {
      'overwrites a slot': withoutCompare(/"CREATE"/),
      'reads without the barrier': inClass(ReadBarrier, 'wait', () => async () => true),
    },
  ],
  [
    SILENT,
    {
      'lets a read wait without end': inClass(ReadBarrier, 'giveUp', () => nothing),
      'waits without end for a response to a create': withoutEnd,
      'is ready while it refuses reads': inClass(EtcdStore, 'unreadiness', () => nothing),
    },
  ],
  ['unsent', { 'finds no keys': inClass(IdempotencyKeys, 'find', () => nothing) }],
];

/** By the script and the title of the case. */
const IN_CASES: Readonly<Record<string, Breaks<string>>> = {
  'in-doubt': [
    [
      'Done and cut, then always refused',
      { 'lets only the last attempt of a proposal count': take('in doubt', 'unsent') },
    ],
    [
      'Done, and the connection is cut; then answered',
      { 'makes a new nonce for each attempt': withNewNonces },
    ],
    [
      'A read applies all that another process has stored, also if it is too much for one response',
      { 'ends a catch-up after the first response': receive(asIfComplete) },
    ],
    [
      'A read that begins after the request of a catch-up waits for the next one',
      { 'lets a read join a catch-up that has begun': joinCatchUp },
    ],
    [
      'A create whose key another process stores meanwhile is a replay, though that key looks expired',
      { 'does not look up its keys again after a conflict': lookOnce },
    ],
    [
      'Creates with one key at the same time store one pet',
      { 'lets creates with one key be in progress at the same time': createAtOnce },
    ],
    [
      'A key is in doubt until its slot is taken',
      { 'refuses a create whose key is in doubt': forgetDoubt },
    ],
    [
      'A process keeps a key for 24 hours, though another one may keep it longer',
      { 'keeps a key for an hour too long': keepKeysLonger },
    ],
    [
      'A create in doubt when a drain begins',
      {
        'does not shorten the wait of a create in doubt when it stops': inClass(
          EtcdStore,
          'drain',
          () => nothing,
        ),
      },
    ],
    [
      'A create in doubt when the store closes',
      {
        'closes before its creates have ended': inClass(
          CommitQueue,
          'whenIdle',
          () => async () => undefined,
        ),
      },
    ],
  ],
  'lost-log': [
    [
      'The last slot was deleted',
      { 'does not compare the last slot': withoutCompare(/"GREATER"|"LESS"/) },
    ],
    [
      'The meta key is that of another log',
      { 'does not compare the meta key': withoutCompare(/"VALUE","result":"EQUAL"/) },
    ],
    ['A digit of a commit is another', { 'does not compare checksums': repairChecksums }],
    [
      'The next slot has a copy of another commit',
      {
        'does not compare the digest of the commit before': inClass(
          { prototype: crypto },
          'hash',
          () => () => '0'.repeat(64),
        ),
      },
    ],
    [
      'A key behind the meta key',
      { 'looks for no key behind the slots': receive(withoutKeysBehind) },
    ],
  ],
  start: [
    [
      'A start is refused if etcd ignores compares for an equal value',
      { 'does not prove at a start that etcd evaluates compares': expectNoCompares },
    ],
  ],
};

const tests = new TestsOfCases();

async function catchAll(
  name: string,
  changes: Readonly<Record<string, Change>>,
  run: () => Promise<readonly string[]>,
): Promise<void> {
  for (const [what, change] of Object.entries(changes)) {
    await tests.catch(`${what} (${name})`, () => change(run));
  }
}

for (const [fate, changes] of IN_SIMULATION) {
  const run = () => failEverywhere(1, fate, true).then(({ complaints }) => complaints);
  await catchAll(`calls end with "${fate}"`, changes, run);
}
for (const [script, cases] of Object.entries(IN_CASES)) {
  for (const [title, changes] of cases) {
    const run = () => complaintsOfCase(`stores/etcd/${script}.script`, title);
    await catchAll(`${script}: ${title}`, changes, run);
  }
}
const takesNoTurns = inClass(Proposer, 'waitForTurn', () => async () => undefined);
await catchAll(
  'two processes, one of them far',
  { 'does not wait for its turn': takesNoTurns },
  complaintsOfTheFar,
);
tests.report();
