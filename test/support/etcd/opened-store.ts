/** Etcd stores for tests: on a log that is made first, on a simulated etcd, with a test's clock. */

import type { TestContext } from 'node:test';
import { etcdClock, type EtcdClock } from '../../../src/extras/etcd/calls.ts';
import type { ClusterOptions } from '../../../src/extras/etcd/etcd-options.ts';
import { openEtcdStore, type EtcdStore } from '../../../src/extras/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/extras/etcd/open-log.ts';
import { createCommit, encodeCommit, fittingCreate } from '../../../src/extras/etcd/commit.ts';
import { decodeMeta, digestOf, encodeValue, Layout } from '../../../src/extras/etcd/slots.ts';
import { SERVER_JS } from '../process/process.ts';
import { run } from '../process/program.ts';
import { TestClock } from '../test-clock.ts';
import { until } from '../until.ts';
import { SimulatedEtcd } from './simulated-etcd.ts';
import { VirtualClock } from './virtual-clock.ts';

export const rex = { name: 'Rex', categoryId: 1n } as const;
/** The error of a call that certainly stored nothing. */
export const REFUSED = { name: 'StoreUnavailableError' } as const;

/**
 * A clock for stores on real members, on which time passes only if the test says so: no call takes
 * too long because the machine is slow. Pauses between attempts are real.
 */
export function standingClock(time = new TestClock()): EtcdClock {
  return { ...etcdClock, ...time.options, sleep: etcdClock.sleep };
}

/** The same for a process that is sent SIGTERM: a module that Node runs before the service. */
export const STANDING_CLOCK = `
  const now = performance.now();
  performance.now = () => now;
  process.once('SIGTERM', () => delete performance.now);
`;

/** Runs the service's program so to its end; returns its exit code and all that it wrote. */
export function runStanding(args: readonly string[], env: Record<string, string> = {}): string {
  const hook = `data:text/javascript,${encodeURIComponent(STANDING_CLOCK)}`;
  const { status, text } = run(process.execPath, ['--import', hook, SERVER_JS, ...args], env);
  return `${status} ${text}`;
}

/** A clock on which only pauses take time, and no real time: ten seconds are about 25 attempts. */
export function jumpingClock(): EtcdClock {
  return { ...etcdClock, ...new TestClock().options };
}

/** A test, or another run that ends what was opened for it. */
type Context = Pick<TestContext, 'after'>;

/** Opens the store, with a standing clock if none is given; it closes with the test. */
export async function openStore(t: Context, options: ClusterOptions): Promise<EtcdStore> {
  const store = await openEtcdStore({ clock: standingClock(), ...options });
  t.after(() => store.close());
  return store;
}

/** Makes the log as the command `init-etcd` does. */
export function init(options: ClusterOptions): Promise<'made' | 'found'> {
  return initEtcd({ clock: standingClock(), ...options });
}

/** Resolves when a store with this clock waits for no response: its own timers are three. */
export function idle(time: TestClock): Promise<void> {
  return until(() => time.timers === 3);
}

/** Options for a store on a simulated etcd, with a clock of its own if none is given. */
export function simulated(etcd: SimulatedEtcd, more: Partial<ClusterOptions> = {}): ClusterOptions {
  const endpoints = ['http://127.0.0.1:2379'];
  return { endpoints, calls: etcd.calls(), clock: new VirtualClock(), ...more };
}

/** Opens a store on a simulated etcd, with a log that is made first. */
export async function openSimulated(t: Context) {
  const etcd = new SimulatedEtcd();
  const options = simulated(etcd);
  await init(options);
  return { etcd, store: await openStore(t, options) };
}

/** Yields the slots and values of commits of one pet each, for a log with this meta. */
export function* commitsOfOne(prefix: string, meta: Buffer): Generator<readonly [string, Buffer]> {
  let previous = digestOf(decodeMeta('', meta).logId);
  const layout = new Layout(prefix);
  for (let after = 0n; ; after += 1n) {
    const value = encodeValue(previous, encodeCommit(createCommit(after, [fittingCreate(rex)], 0)));
    previous = digestOf(value);
    yield [layout.slot(after), value];
  }
}
