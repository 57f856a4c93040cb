/**
 * The etcd store in a simulation: two processes on one simulated etcd live through the scripts of
 * test/simulation/callers.ts again and again, and at each call in turn another failure begins.
 *
 * The model of test/simulation/model.ts judges each response and each read.
 */

import { systemMemory } from '../../../src/base/system.ts';
import type { CallKind, EtcdCalls, FailureKind } from '../../../src/stores/etcd/calls.ts';
import { EtcdLog } from '../../../src/stores/etcd/etcd-log.ts';
import { openEtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/open-log.ts';
import { ReadBarrier } from '../../../src/stores/etcd/read-barrier.ts';
import { IdempotencyKeys } from '../../../src/stores/table/idempotency-keys.ts';
import { liveInDoubt, liveShortly, liveTogether, type Script } from '../../simulation/callers.ts';
import { CASE, caseOf, isChosen, isWhole, SEED } from '../../support/extent.ts';
import { simulated } from '../../support/etcd/opened-store.ts';
import { Processes } from '../../support/etcd/processes.ts';
import { SimulatedEtcd, type Fate } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { createRandom } from '../../support/random.ts';
import { TestsOfCases } from '../../support/run-before-tests.ts';
import { withMethod } from '../../support/replaced-method.ts';

/** What goes wrong, and for how many calls from the chosen one on. */
interface Fault {
  readonly atCall: number;
  readonly calls: number;
  readonly fate: Fate | typeof SILENT;
}

/** The call ends after thirty seconds, without a response. */
const SILENT = 'no end for 30 s';

/** A deliberate break: what the store sends, or what it makes of the result. */
type CallBreak = (txn: EtcdCalls['txn']) => EtcdCalls['txn'];

const unbroken: CallBreak = (txn) => txn;

const READ_FATES: readonly Fate[] = ['not done, cut', 'unsent', 'refused', 'too long'];
const FATES: readonly Fault['fate'][] = [
  ...READ_FATES,
  SILENT,
  ...(['done, cut', 'done later, cut', 'done, no space', 'not done, no space'] as const),
];

/** Without --all, one case in this many is tried. */
const SAMPLE = 40;

// More than all pets of a life have: to allocate the usual chunks took a third of the time.
const { bytes } = systemMemory;
systemMemory.bytes = (length) => bytes(Math.min(length, 1 << 16));

/**
 * Lets two processes live through a script. A restart ends both and starts two others. Resolves
 * with the number of calls, without those of starts, and with the complaints.
 */
async function live(script: Script, seed: number, fault?: Fault, callBreak = unbroken) {
  const [etcd, clock, random] = [new SimulatedEtcd(), new VirtualClock(), createRandom(seed)];
  clock.random = () => random.below(1000) / 1000;
  let count = 0;
  const fateOf = async (kind: CallKind): Promise<Fate> => {
    count += 1;
    const { atCall = Infinity, calls = 0, fate = 'answered' } = fault ?? {};
    if (count < atCall || count >= atCall + calls) return 'answered';
    if (fate === SILENT) {
      await clock.sleep(30_000);
      return 'not done, cut';
    }
    return kind === 'create' || READ_FATES.includes(fate) ? fate : 'answered';
  };
  const open = async () => {
    let isCutOff = false;
    const calls = etcd.calls(async (kind) => {
      await clock.sleep(1 + random.below(5));
      if (isCutOff) return 'unsent';
      if (random.oneIn(3)) etcd.late.shift()?.();
      return kind === 'start' ? 'answered' : fateOf(kind);
    });
    const txn = callBreak(calls.txn);
    const options = simulated(etcd, { calls: { ...calls, txn }, clock });
    if (etcd.entries.size === 0) await initEtcd(options);
    return { store: await openEtcdStore(options), cutOff: () => void (isCutOff = true) };
  };
  const pass = (ms: number): Promise<void> => clock.sleep(ms);
  const processes = new Processes({ count: 2, open, pass, now: () => clock.now(), slack: 1 });
  await script(processes.callers);
  const calls = count;
  for (const arrive of etcd.late) arrive();
  return { calls, complaints: await processes.finish() };
}

const SCRIPTS: readonly Script[] = [liveTogether, liveShortly, liveInDoubt];

/**
 * Lets the failure begin at each call of each script, lasting for one call and for long. Resolves
 * with the number of cases and their complaints; with a break it ends at the first complaint.
 */
async function failEverywhere(seed: number, fate: Fault['fate'], callBreak?: CallBreak) {
  const random = createRandom(seed);
  const found: string[] = [];
  let cases = 0;
  for (const script of SCRIPTS) {
    const { calls: last } = await live(script, seed);
    for (const calls of [1, fate === SILENT ? 3 : 40]) {
      for (let atCall = 1; atCall <= last; atCall += 1) {
        const name = `${script.name}, ${calls} from call ${atCall}`;
        if (!isChosen(name)) continue;
        const isTried = callBreak !== undefined || isWhole || CASE !== undefined;
        if (!isTried && !random.oneIn(SAMPLE)) continue;
        const fault = { atCall, calls, fate };
        const { complaints } = await live(script, seed, fault, callBreak);
        cases += 1;
        found.push(...complaints.map((one) => `${one} (${caseOf(name)})`));
        if (callBreak !== undefined && found.length > 0) return { cases, complaints: found };
      }
    }
  }
  return { cases, complaints: found };
}

// Deliberate breaks

/** A result of this kind counts as a refusal. */
const refuse =
  (kind: FailureKind): CallBreak =>
  (txn) =>
  async (...call) => {
    const result = await txn(...call);
    return result.kind === kind ? { ...result, kind: 'refused' } : result;
  };

/** Leaves out the last compare of a create: that its slot is free. */
const overwrite: CallBreak = (send) => (txn, kind) =>
  send(kind === 'create' ? { ...txn, compare: txn.compare?.slice(0, -1) ?? [] } : txn, kind);

type Result = ReturnType<typeof failEverywhere>;

const catchWith =
  (fate: Fault['fate'], callBreak = unbroken): (() => Result) =>
  () =>
    failEverywhere(1, fate, callBreak);

/** Runs the cases with a method that does nothing, and returns this. */
const without =
  <Class, Name extends keyof Class>(
    owner: { readonly prototype: Class },
    name: Name,
    fate: Fault['fate'],
    returned?: unknown,
  ) =>
  (): Result =>
    withMethod(owner, name, () => (() => returned) as Class[Name], catchWith(fate));

const BREAKS: readonly (readonly [what: string, run: () => Result])[] = [
  ['takes a lost response for a failure', catchWith('done, cut', refuse('in doubt'))],
  ['takes a late transaction for a failure', catchWith('done later, cut', refuse('in doubt'))],
  ['takes "no space" for a failure', catchWith('done, no space', refuse('no space'))],
  ['overwrites a slot', catchWith('answered', overwrite)],
  ['reads without the barrier', without(ReadBarrier, 'wait', 'answered', Promise.resolve())],
  ['waits without end for a response to a create', without(EtcdLog, 'expire', SILENT)],
  ['lets a read wait without end', without(ReadBarrier, 'expire', SILENT)],
  ['is ready while it refuses reads', without(EtcdLog, 'refusal', SILENT)],
  ['finds no keys', without(IdempotencyKeys, 'find', 'unsent')],
];

const tests = new TestsOfCases();
for (const seed of new Set([1, SEED])) {
  for (const fate of FATES) {
    const name = `No pet is lost if a call ends with "${fate}", once and for long (seed ${seed})`;
    await tests.pass(name, () => failEverywhere(seed, fate));
  }
}
for (const [what, run] of BREAKS) await tests.catch(what, async () => (await run()).complaints);
tests.report();
