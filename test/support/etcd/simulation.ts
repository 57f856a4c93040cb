/**
 * The etcd store in a simulation: two processes on one simulated etcd live through the scripts of
 * test/simulation/callers.ts again and again, and at each call in turn another failure begins.
 *
 * The model of test/simulation/model.ts judges each response and each read.
 */

import { systemMemory } from '../../../src/core/base/system.ts';
import type { CallKind } from '../../../src/extras/etcd/calls.ts';
import { openEtcdStore } from '../../../src/extras/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/extras/etcd/open-log.ts';
import { liveInDoubt, liveShortly, liveTogether, type Script } from '../../simulation/callers.ts';
import { caseOf, isChosen, isInSample } from '../extent.ts';
import { createRandom } from '../random.ts';
import { simulated } from './opened-store.ts';
import { Processes } from './processes.ts';
import { SimulatedEtcd, type Fate } from './simulated-etcd.ts';
import { VirtualClock } from './virtual-clock.ts';

/** What goes wrong, and for how many calls from the chosen one on. */
interface Fault {
  readonly atCall: number;
  readonly calls: number;
  readonly fate: Fate | typeof SILENT;
}

/** The call ends after thirty seconds, without a response. */
export const SILENT = 'no end for 30 s';

const READ_FATES: readonly Fate[] = ['not done, cut', 'unsent', 'refused', 'too long'];
export const FATES: readonly Fault['fate'][] = [
  ...READ_FATES,
  SILENT,
  ...(['done, cut', 'done later, cut', 'done, no space', 'not done, no space'] as const),
];

/** Without --all, one case in this many is tried. */
const SAMPLE = 80;

// More than all pets of a life have: to allocate the usual chunks took a third of the time.
const { bytes } = systemMemory;
systemMemory.bytes = (length) => bytes(Math.min(length, 1 << 16));

/**
 * Lets two processes live through a script. A restart ends both and starts two others. Resolves
 * with the number of calls, without those of starts, and with the complaints.
 */
async function live(script: Script, seed: number, fault?: Fault) {
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
    const options = simulated(etcd, { calls, clock });
    if (etcd.entries.size === 0) await initEtcd(options);
    return { store: await openEtcdStore(options), cutOff: () => void (isCutOff = true) };
  };
  const pass = (ms: number): Promise<void> => clock.sleep(ms);
  const processes = new Processes({ count: 2, open, pass });
  await script(processes.callers);
  const calls = count;
  for (const arrive of etcd.late) arrive();
  return { calls, complaints: await processes.finish() };
}

const SCRIPTS: readonly Script[] = [liveTogether, liveShortly, liveInDoubt];

/**
 * Lets the failure begin at each call of each script, lasting for one call and for long. Resolves
 * with the number of cases and their complaints. A search for a break tries all of them, and ends
 * at the first complaint.
 */
export async function failEverywhere(seed: number, fate: Fault['fate'], isSearch = false) {
  const found: string[] = [];
  let cases = 0;
  for (const script of SCRIPTS) {
    const { calls: last } = await live(script, seed);
    for (const calls of [1, fate === SILENT ? 3 : 40]) {
      for (let atCall = 1; atCall <= last; atCall += 1) {
        const name = `${script.name}, ${calls} from call ${atCall}`;
        const isTried = isSearch || isInSample(`${seed} ${fate} ${name}`, SAMPLE);
        if (!isTried || !isChosen(name)) continue;
        const fault = { atCall, calls, fate };
        const { complaints } = await live(script, seed, fault);
        cases += 1;
        found.push(...complaints.map((one) => `${one} (${caseOf(name)})`));
        if (isSearch && found.length > 0) return { cases, complaints: found };
      }
    }
  }
  return { cases, complaints: found };
}
