/**
 * The etcd store in a simulation: two processes on one simulated etcd live through the scripts of
 * test/simulation/callers.ts again and again, and at each call in turn another failure begins.
 *
 * The model of test/simulation/model.ts judges each response and each read, of either process and
 * at the end of a third one. A read that begins after a response must show its pet.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../../../src/model/pet-store.ts';
import type { EtcdCalls, FailureKind } from '../../../src/stores/etcd/calls.ts';
import { openEtcdStore, type EtcdStore } from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { ReadBarrier } from '../../../src/stores/etcd/read-barrier.ts';
import { KeyTable } from '../../../src/stores/idempotency/key-table.ts';
import {
  Callers,
  liveInDoubt,
  liveShortly,
  liveTogether,
  type Script,
  type Site,
} from '../../simulation/callers.ts';
import { Model } from '../../simulation/model.ts';
import { isWhole, SEED } from '../../support/extent.ts';
import { simulated } from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd, type Fate } from '../../support/etcd/simulated-etcd.ts';
import { VirtualClock } from '../../support/etcd/virtual-clock.ts';
import { createRandom, type Random } from '../../support/random.ts';
import { runBeforeTests } from '../../support/run-before-tests.ts';
import { withMethod } from '../../support/replaced-method.ts';

/** What goes wrong, and for how many calls from the chosen one on. */
interface Fault {
  readonly atCall: number;
  readonly calls: number;
  readonly fate: Fate;
}

/** A deliberate break: what the store sends, or what it makes of the result. */
type CallBreak = (txn: EtcdCalls['txn']) => EtcdCalls['txn'];

const READ_FATES: readonly Fate[] = ['not done, cut', 'unsent', 'refused', 'too long'];
const FATES: readonly Fate[] = [
  ...READ_FATES,
  ...(['done, cut', 'done later, cut', 'done, no space', 'not done, no space'] as const),
];

const ALL = { limit: 1000 };

/** Without --all, one case in this many is tried. */
const SAMPLE = 20;

/** Two processes; a restart ends both and starts two others. */
class Cluster implements Site {
  readonly clock: VirtualClock = new VirtualClock();
  readonly callers: Callers;
  readonly startDecides = false;
  readonly tries = 50;
  stores: readonly EtcdStore[] = [];
  /** How many calls there were, without those of starts. */
  calls = 0;
  readonly #etcd: SimulatedEtcd = new SimulatedEtcd();
  readonly #random: Random;
  readonly #fault: Fault | undefined;
  readonly #break: CallBreak;
  readonly #ended: Promise<void>[] = [];
  /** Changes when the processes are killed. */
  #generation = 0;

  constructor(seed: number, fault: Fault | undefined, callBreak: CallBreak = (txn) => txn) {
    this.#random = createRandom(seed);
    this.#fault = fault;
    this.#break = callBreak;
    this.callers = new Callers(this, new Model(undefined, false));
  }

  async start(): Promise<void> {
    this.stores = [await this.#open(), await this.#open()];
  }

  async stop(): Promise<void> {
    await this.#end();
  }

  kill(): void {
    this.#generation += 1;
    this.#ended.push(this.#end());
  }

  pass(ms: number): Promise<void> {
    return this.clock.sleep(ms);
  }

  async readAll(store: PetStore): Promise<readonly string[] | undefined> {
    try {
      const { text, pets } = await store.list(ALL);
      const last = pets.at(-1);
      const alone = last && (await store.get(last.id));
      assert.equal(alone?.text, last?.text, 'get and list differ');
      return text === '[]' ? [] : text.slice(1, -1).split(',\n');
    } catch (error) {
      const isKnown =
        error instanceof StoreUnavailableError || error instanceof OutcomeUnknownError;
      if (!isKnown) this.callers.complaints.push(`A read fails with ${String(error)}`);
      return undefined;
    }
  }

  /** Ends the script: all transactions arrive, and every process shows what a new one shows. */
  async finish(): Promise<void> {
    try {
      for (const arrive of this.#etcd.late) arrive();
      const { callers } = this;
      const fresh = await this.#open();
      this.stores = [...this.stores, fresh];
      const pets = await this.readAll(fresh);
      callers.check(() => callers.model.reopened(pets ?? []));
      for (const store of this.stores) await callers.read(store);
      const unanswered = callers.model.clients.filter(({ id }) => id === undefined).length;
      if (unanswered > 0) callers.complaints.push(`${unanswered} clients got no response`);
    } finally {
      this.#ended.push(this.#end());
      await Promise.all(this.#ended);
    }
  }

  async #end(): Promise<void> {
    const { stores } = this;
    this.stores = [];
    await Promise.all(stores.map((store) => store.close()));
  }

  async #open(): Promise<EtcdStore> {
    const generation = this.#generation;
    const calls = this.#etcd.calls(async (kind) => {
      await this.clock.sleep(1 + this.#random.below(5));
      // A killed process sends nothing.
      if (generation !== this.#generation) return 'unsent';
      if (this.#random.oneIn(3)) this.#etcd.late.shift()?.();
      return kind === 'start' ? 'answered' : this.#fateOf(kind === 'create');
    });
    const txn = this.#break(calls.txn);
    this.clock.random = () => this.#random.below(1000) / 1000;
    const options = simulated(this.#etcd, { calls: { ...calls, txn }, clock: this.clock });
    await initEtcd(options);
    return openEtcdStore(options);
  }

  #fateOf(isCreate: boolean): Fate {
    this.calls += 1;
    const { atCall = Infinity, calls = 0, fate = 'answered' } = this.#fault ?? {};
    if (this.calls < atCall || this.calls >= atCall + calls) return 'answered';
    return isCreate || READ_FATES.includes(fate) ? fate : 'answered';
  }
}

async function live(script: Script, seed: number, fault?: Fault, broken?: CallBreak) {
  const cluster = new Cluster(seed, fault, broken);
  await script(cluster.callers);
  const { calls } = cluster;
  await cluster.finish();
  return { calls, complaints: cluster.callers.complaints };
}

const SCRIPTS: readonly Script[] = [liveTogether, liveShortly, liveInDoubt];

/**
 * Lets the failure begin at each call of each script, lasting for one call and for long. Yields the
 * complaints of each case.
 */
async function* failEverywhere(
  seed: number,
  fate: Fate,
  broken?: CallBreak,
): AsyncGenerator<readonly string[]> {
  const random = createRandom(seed);
  for (const script of SCRIPTS) {
    const { calls: last } = await live(script, seed);
    for (const calls of [1, 40]) {
      for (let atCall = 1; atCall <= last; atCall += 1) {
        if (broken === undefined && !isWhole && !random.oneIn(SAMPLE)) continue;
        const fault = { atCall, calls, fate };
        const { complaints } = await live(script, seed, fault, broken);
        yield complaints.map((complaint) => `${JSON.stringify(fault)}, seed ${seed}: ${complaint}`);
      }
    }
  }
}

/** Resolves with the complaints of all cases. */
async function tryAll(seed: number, fate: Fate) {
  const cases: (readonly string[])[] = [];
  for await (const complaints of failEverywhere(seed, fate)) cases.push(complaints);
  return cases;
}

// Deliberate breaks

/** The compare that the slot of a commit is free. */
const SLOT_IS_FREE = /,?\{"target":"CREATE","result":"EQUAL","key":"[^"]*","create_revision":"0"\}/;

/** A result of this kind counts as a refusal. */
const refuse =
  (kind: FailureKind): CallBreak =>
  (txn) =>
  async (...call) => {
    const result = await txn(...call);
    return result.kind === kind ? { ...result, kind: 'refused' } : result;
  };

const overwrite: CallBreak = (txn) => (text, kind) =>
  txn(kind === 'create' ? text.replace(SLOT_IS_FREE, '') : text, kind);

const CALL_BREAKS: readonly (readonly [what: string, fate: Fate, broken: CallBreak])[] = [
  ['takes a lost response for a failure', 'done, cut', refuse('in doubt')],
  ['takes a late transaction for a failure', 'done later, cut', refuse('in doubt')],
  ['takes "no space" for a failure', 'done, no space', refuse('no space')],
  ['overwrites a slot', 'answered', overwrite],
];

async function firstComplaint(fate: Fate, broken: CallBreak = (txn) => txn) {
  for await (const [complaint] of failEverywhere(1, fate, broken)) {
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

const skipBarrier = (): (() => Promise<void>) => () => Promise.resolve();
const findNothing = (): (() => undefined) => () => undefined;

const BREAKS: readonly (readonly [what: string, run: () => Promise<string | undefined>])[] = [
  ...CALL_BREAKS.map(([what, fate, broken]) => [what, () => firstComplaint(fate, broken)] as const),
  [
    'reads without the barrier',
    () => withMethod(ReadBarrier, 'wait', skipBarrier, () => firstComplaint('answered')),
  ],
  [
    'finds no keys',
    () => withMethod(KeyTable, 'find', findNothing, () => firstComplaint('unsent')),
  ],
];

const tried = new Map<string, () => readonly (readonly string[])[]>();
for (const seed of new Set([1, SEED])) {
  for (const fate of FATES) {
    const name = `No pet is lost if a call ends with "${fate}", once and for long (seed ${seed})`;
    tried.set(name, await runBeforeTests(() => tryAll(seed, fate)));
  }
}
const catches = new Map<string, () => string | undefined>();
for (const [what, run] of BREAKS) catches.set(what, await runBeforeTests(run));

for (const [name, casesOf] of tried) {
  test(name, (t) => {
    const cases = casesOf();
    t.diagnostic(`${cases.length} cases`);
    const complaints = cases.flat();
    assert.deepEqual(complaints.slice(0, 5), [], `${complaints.length} complaints`);
    assert.notEqual(cases.length, 0);
  });
}

for (const [what, complaint] of catches) {
  test(`The simulation catches a store that ${what}`, (t) => {
    const first = complaint();
    assert.ok(first !== undefined);
    t.diagnostic(first);
  });
}
