/**
 * Random: a store is started again and again on one disk, on which several operations fail, memory
 * runs out, and another program changes files. Each process ends at any moment: by a stop, a kill,
 * or a power failure of which any part of what was written survives. Then the next one starts on
 * what is left.
 *
 * SIMULATION_SECONDS lets it run for hours, from SIMULATION_SEED. simulation.test.ts shows what the
 * model finds.
 */

import { CASE, rounds, SEED } from '../support/extent.ts';
import { createRandom, type Random } from '../support/random.ts';
import { TestsOfCases } from '../support/run-before-tests.ts';
import type { Callers, Script } from './callers.ts';
import { changeNames, type DiskImage } from './disk-image.ts';
import { DATA_FILE, live } from './life.ts';
import { meddleAtRandom } from './meddling.ts';
import type { Knowledge } from './model.ts';
import { complaintsAbout, complaintsOf, recover } from './simulation.ts';
import type { Fault } from './simulated-disk.ts';
import { randomEnd } from './survival.ts';

const SECONDS: number = Number(process.env['SIMULATION_SECONDS'] ?? 0);
const FIRST: number = Number(CASE ?? 1_000_000 * Number(process.env['SIMULATION_SEED'] ?? SEED));
const CASES: number = CASE === undefined ? rounds(150, 3000) : 1;

const KINDS: readonly Fault['kind'][] = ['EIO', 'EIO', 'ENOSPC', 'EROFS', 'half', 'short', 'late'];

/** A start has about 25 operations, a create 8. */
function randomFaults(random: Random): readonly Fault[] {
  return Array.from({ length: random.below(5) }, () => ({
    at: random.below(120),
    kind: random.pick(KINDS),
    lasts: random.pick(['once', 'once', 'twice', 'for ever', 1 + random.below(40)] as const),
  }));
}

type Step = (callers: Callers, lengths: readonly number[]) => unknown;

const STEPS: readonly Step[] = [
  (callers, lengths) => callers.create(...lengths),
  (callers, lengths) => callers.createOnce(...lengths),
  (callers, lengths) => Promise.all([callers.create(3), callers.createOnce(...lengths)]),
  (callers, lengths) => Promise.all([callers.retry(), callers.create(...lengths)]),
  // Only time passes.
  (callers) => callers.create(),
  (callers) => callers.site.stop().then(() => callers.start()),
  (callers) => {
    callers.site.kill();
    return callers.start();
  },
];

function randomScript(random: Random): Script {
  return async (callers) => {
    await callers.start();
    for (let steps = 1 + random.below(6); steps > 0; steps -= 1) {
      const lengths = Array.from({ length: 1 + random.below(3) }, () => {
        return random.pick([3, 3, 100, 200 + random.below(400)]);
      });
      await random.pick(STEPS)(callers, lengths);
    }
    if (random.oneIn(3)) await callers.site.stop();
  };
}

/** Resolves with what was wrong. */
async function liveRandomly(seed: number): Promise<readonly string[]> {
  const random = createRandom(seed);
  const syncsFolders = !random.oneIn(8);
  const disk = { hasLinks: !random.oneIn(4), syncsFolders };
  const complaints: string[] = [];
  let left: { image?: DiskImage; known?: Knowledge } = {};
  for (let parts = 2 + random.below(4); parts > 0; parts -= 1) {
    const lasts = random.pick(['once', 'for ever'] as const);
    const life = await live(randomScript(random), {
      ...left,
      disk,
      faults: randomFaults(random),
      ...(random.oneIn(4) && { memoryFault: { at: random.below(60), lasts } }),
    });
    complaints.push(...life.complaints);
    const { image, known } = random.oneIn(3) ? life.moments.at(-1)! : random.pick(life.moments);
    const isCut = random.oneIn(2);
    left = { image: takeSaved(isCut ? randomEnd(image, random, !syncsFolders) : image), known };
  }
  const last = await live(recover, { ...left, disk });
  complaints.push(...complaintsOf(last));
  if (random.oneIn(3)) {
    const meddled = random.oneIn(2) ? randomFaults(random) : [];
    complaints.push(...(await meddleAtRandom(left, random, meddled)));
  }
  return complaints;
}

/** Gives a saved file the name of the data file, as the refused start advises. */
function takeSaved(image: DiskImage): DiskImage {
  const saved = [...image.names].filter(([path]) => path.includes('.saved-')).sort();
  const [path, id] = saved.at(-1) ?? [];
  if (path === undefined) return image;
  const gone = saved.map(([path]) => [path, undefined] as const);
  return changeNames(image, [...gone, [DATA_FILE, id]]);
}

const startedAt = performance.now();
let [cases, shownAt] = [0, startedAt];

function isOver(): boolean {
  return SECONDS > 0 && CASE === undefined
    ? performance.now() - startedAt > 1000 * SECONDS
    : cases === CASES;
}

const tests = new TestsOfCases();
await tests.pass('No pet is lost in a random life with several faults', async () => {
  const complaints: string[] = [];
  for (let seed = FIRST; !isOver() && complaints.length < 5; seed += 1, cases += 1) {
    complaints.push(...complaintsAbout(String(seed), await liveRandomly(seed)));
    if (performance.now() - shownAt < 60_000) continue;
    shownAt = performance.now();
    // A sign of life: a file from which nothing comes is ended.
    console.log(`${cases} cases, ${complaints.join('\n')}`);
  }
  return { cases, complaints };
});
tests.report();
