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
import { withMethod } from '../../support/replaced-method.ts';
import { TestsOfCases } from '../../support/run-before-tests.ts';

type Complaints = readonly string[];

interface Check {
  readonly name: string;
  readonly run: () => Promise<Complaints>;
}

/** Runs a check with a break. */
type Change = (run: Check['run']) => Promise<Complaints>;

// Checks

const simulation = (fate: Parameters<typeof failEverywhere>[1]): Check => ({
  name: `calls end with "${fate}"`,
  run: async () => (await failEverywhere(1, fate, true)).complaints,
});

const caseOf = (script: string, title: string): Check => ({
  name: `${script}: ${title}`,
  run: () => complaintsOfCase(`stores/etcd/${script}.script`, title),
});

const fairness: Check = { name: 'two processes, one of them far', run: complaintsOfTheFar };

// Breaks

/** Replaces a method. */
const inClass =
  <Methods, Name extends keyof Methods>(
    owner: { readonly prototype: Methods },
    name: Name,
    replace: (original: Methods[Name]) => Methods[Name],
  ): Change =>
  (run) =>
    withMethod(owner, name, replace, run);

/** Replaces the calls to etcd: what is sent, or what is made of the result. */
const inCalls = (replace: (txn: EtcdCalls['txn']) => EtcdCalls['txn']): Change =>
  inClass(
    SimulatedEtcd,
    'calls',
    (calls) =>
      function (this: SimulatedEtcd, fateOf) {
        const original = calls.call(this, fateOf);
        return { ...original, txn: replace(original.txn) };
      },
  );

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

const withoutEnd = inClass(
  Proposer,
  'propose',
  (propose) =>
    function (this: Proposer, commit) {
      return propose.call(this, commit, () => false);
    },
);

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
const joinCatchUp = inClass(ReadBarrier, 'wait', (wait) => {
  const running = new WeakMap<ReadBarrier, Promise<boolean>>();
  return function (this: ReadBarrier, since) {
    const joined = running.get(this);
    if (joined !== undefined) return joined;
    const waiting = wait.call(this, since).finally(() => running.delete(this));
    running.set(this, waiting);
    return waiting;
  };
});

const lookOnce = inClass(IdempotencyKeys, 'find', (find) => {
  const missed = new WeakMap<IdempotencyKeys, Set<string>>();
  return function (this: IdempotencyKeys, key) {
    const keys = missed.get(this) ?? new Set();
    missed.set(this, keys);
    const id = keys.has(key) ? undefined : find.call(this, key);
    if (id === undefined) keys.add(key);
    return id;
  };
});

const createAtOnce = inClass(
  KeyedCreates,
  'createOnce',
  () => async (_newPet, _key, _bytes, create) => ({
    pet: await create(),
    isReplayed: false,
  }),
);

/** A refused create is refused, whatever became of an earlier one with its key. */
const forgetDoubt = inClass(KeyedCreates, 'createOnce', (createOnce) => {
  return async function (this: KeyedCreates, newPet, key, bytes, create) {
    let failure: unknown;
    const failing = (): ReturnType<typeof create> =>
      create().catch((error: unknown) => {
        failure = error;
        throw error;
      });
    try {
      return await createOnce.call(this, newPet, key, bytes, failing);
    } catch (error) {
      throw failure ?? error;
    }
  };
});

const keepKeysLonger = inClass(
  IdempotencyKeys,
  'add',
  (add) =>
    function (this: IdempotencyKeys, key, id, endsAt) {
      add.call(this, key, id, endsAt + 3_600_000);
    },
);

/** Takes the refutations of a start for given. */
const expectNoCompares = inCalls((txn) => async (sent, kind) => {
  const { compare = [], success, failure = [] } = sent;
  const isProof = kind === 'start' && compare.length === 1 && success === undefined;
  const result = await txn(isProof ? { success: failure } : sent, kind);
  return isProof && result.kind === 'answered' ? { ...result, succeeded: false } : result;
});

const NO_KEYS: RangeResponse = { keyValues: [], count: 0 };

const nothing = (): undefined => undefined;

const BREAKS: readonly (readonly [what: string, change: Change, check: Check])[] = [
  ['takes a lost response for a failure', take('in doubt', 'refused'), simulation('done, cut')],
  [
    'takes a late transaction for a failure',
    take('in doubt', 'refused'),
    simulation('done later, cut'),
  ],
  ['takes "no space" for a failure', take('no space', 'refused'), simulation('done, no space')],
  [
    'lets only the last attempt of a proposal count',
    take('in doubt', 'unsent'),
    caseOf('in-doubt', 'Done and cut, then always refused'),
  ],
  [
    'makes a new nonce for each attempt',
    withNewNonces,
    caseOf('in-doubt', 'Done, and the connection is cut; then answered'),
  ],
  ['overwrites a slot', withoutCompare(/"CREATE"/), simulation('answered')],
  [
    'does not compare the last slot',
    withoutCompare(/"GREATER"|"LESS"/),
    caseOf('lost-log', 'The last slot was deleted'),
  ],
  [
    'does not compare the meta key',
    withoutCompare(/"VALUE","result":"EQUAL"/),
    caseOf('lost-log', 'The meta key is that of another log'),
  ],
  [
    'does not compare checksums',
    repairChecksums,
    caseOf('lost-log', 'A digit of a commit is another'),
  ],
  [
    'does not compare the digest of the commit before',
    inClass({ prototype: crypto }, 'hash', () => (() => '0'.repeat(64)) as never),
    caseOf('lost-log', 'The next slot has a copy of another commit'),
  ],
  [
    'looks for no key behind the slots',
    receive((ranges) => ranges.slice(0, 2).concat(ranges.slice(2).map(() => NO_KEYS))),
    caseOf('lost-log', 'A key behind the meta key'),
  ],
  [
    'ends a catch-up after the first response',
    receive(([first, ...others]) => {
      return first === undefined ? [] : [{ ...first, count: first.keyValues.length }, ...others];
    }),
    caseOf(
      'in-doubt',
      'A read applies all that another process has stored, also if it is too much for one response',
    ),
  ],
  [
    'does not prove at a start that etcd evaluates compares',
    expectNoCompares,
    caseOf('start', 'A start is refused if etcd ignores compares for an equal value'),
  ],
  [
    'reads without the barrier',
    inClass(ReadBarrier, 'wait', () => () => Promise.resolve(true)),
    simulation('answered'),
  ],
  [
    'lets a read join a catch-up that has begun',
    joinCatchUp,
    caseOf('in-doubt', 'A read that begins after the request of a catch-up waits for the next one'),
  ],
  [
    'lets a read wait without end',
    inClass(ReadBarrier, 'giveUp', () => nothing),
    simulation(SILENT),
  ],
  ['waits without end for a response to a create', withoutEnd, simulation(SILENT)],
  [
    'is ready while it refuses reads',
    inClass(EtcdStore, 'unreadiness', () => nothing),
    simulation(SILENT),
  ],
  ['finds no keys', inClass(IdempotencyKeys, 'find', () => nothing), simulation('unsent')],
  [
    'does not look up its keys again after a conflict',
    lookOnce,
    caseOf(
      'in-doubt',
      'A create whose key another process stores meanwhile is a replay, though that key looks expired',
    ),
  ],
  [
    'lets creates with one key be in progress at the same time',
    createAtOnce,
    caseOf('in-doubt', 'Creates with one key at the same time store one pet'),
  ],
  [
    'refuses a create whose key is in doubt',
    forgetDoubt,
    caseOf('in-doubt', 'A key is in doubt until its slot is taken'),
  ],
  [
    'keeps a key for an hour too long',
    keepKeysLonger,
    caseOf('in-doubt', 'A process keeps a key for 24 hours, though another one may keep it longer'),
  ],
  [
    'does not shorten the wait of a create in doubt when it stops',
    inClass(EtcdStore, 'drain', () => nothing),
    caseOf('in-doubt', 'A create in doubt when a drain begins'),
  ],
  [
    'closes before its creates have ended',
    inClass(CommitQueue, 'whenIdle', () => () => Promise.resolve()),
    caseOf('in-doubt', 'A create in doubt when the store closes'),
  ],
  [
    'does not wait for its turn',
    inClass(Proposer, 'waitForTurn', () => () => Promise.resolve()),
    fairness,
  ],
];

const tests = new TestsOfCases();
for (const [what, change, { name, run }] of BREAKS) {
  await tests.catch(`${what} (${name})`, () => change(run));
}
tests.report();
