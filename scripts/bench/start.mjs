/**
 * Starting with a million pets: time, and the peak and resident memory.
 *
 * A start from the data file is measured against JSON.parse of the same file, which is how most
 * small services start; their pets are then objects, not the bytes that are sent. A start from a
 * journal with a commit for each pet, and the next start, are measured against one from the
 * data file.
 *
 * As a program, this file makes that journal.
 */

import fs, { rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { isMain } from '../build.mjs';
import { copySynced, freshData, petOf } from './data.mjs';
import { compare } from './paired.mjs';
import { memoryOf, runScript, startServer } from './processes.mjs';
import { figure } from './table.mjs';

/**
 * @import { Bench, Contender, Figures, Opponents } from './paired.mjs'
 * @import { ServerOptions } from './processes.mjs'
 * @import { Kind } from './servers.mjs'
 */

const PETS = 1_000_000;

/** @param {Bench} options */
export async function measure(options) {
  // A burst is a whole process here.
  const bench = { ...options, turns: 1, warmUps: 1 };
  const { folder, dist, against } = bench;
  const source = join(folder, 'journaled.json');
  bench.progress('start: making a journal');
  await runScript('start.mjs', { path: source, dist });

  const dataFile = () => start(bench, 'service', { dist, pets: PETS });
  const journal = async () => {
    const path = freshData(folder, 0);
    for (const suffix of ['', '.journal']) copySynced(source + suffix, path + suffix);
    const first = await start(bench, 'service', { dist, path });
    const next = await start(bench, 'service', { dist, path });
    rmSync(dirname(path), { recursive: true });
    return { ...first, nextMs: next.openMs };
  };
  const parse = () => start(bench, 'parse', { pets: PETS });
  /** @type {(burst: () => Promise<Figures>) => Contender} */
  const contenderOf = (burst) => async () => ({ burst });
  /** @type {Opponents} */
  const opponents = { 'JSON.parse': [contenderOf(parse), '≤ 0.30', '≤ 0.50'] };
  if (against !== undefined) {
    const other = () => start(bench, 'service', { dist: against, pets: PETS });
    opponents['other build'] = [contenderOf(other)];
  }
  /** @type {Opponents} */
  const fromDataFile = { 'from the data file': [contenderOf(dataFile), '≤ 4.00', '≤ 1.50'] };
  /** @type {number[]} */
  const bytes = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    const small = await start(bench, 'service', { dist, pets: 1000 });
    bytes.push((1e6 * ((await dataFile()).residentMb - small.residentMb)) / (PETS - 1000));
  }
  const what = '1M pets, from the data file';
  const journaled = '1M pets, a commit each';
  return [
    await compare(bench, what, contenderOf(dataFile), opponents, ['openMs', 'peakMb']),
    await compare(bench, journaled, contenderOf(journal), fromDataFile, ['openMs', 'nextMs']),
    { What: 'resident bytes a pet', ours: figure(bytes, '≤ 85', 1) },
  ];
}

/**
 * @param {Bench} bench
 * @param {Kind} kind
 * @param {ServerOptions} options
 */
async function start(bench, kind, options) {
  const { pid, openMs, stop } = await startServer(bench, kind, options);
  const figures = { openMs, nextMs: openMs, ...memoryOf(pid) };
  await stop();
  return figures;
}

/**
 * Creates one pet after the other without a sync, and ends without a checkpoint.
 * @param {{ path: string, dist: string }} options
 */
async function makeJournal({ path, dist }) {
  /** @type {(file: number, callback: import('node:fs').NoParamCallback) => void} */
  const unsynced = (_file, callback) => void setImmediate(callback, null);
  Object.assign(fs, { fdatasync: unsynced });
  syncBuiltinESMExports();
  const { openApp } = await import(join(dist, 'index.js'));
  const app = await openApp({ dataFile: path, apiKeys: ['bench'] });
  for (let id = 1; id <= PETS; id += 1) {
    const { name, categoryId, status } = petOf(id);
    await app.pets.create({ name, categoryId: BigInt(categoryId), status });
  }
  process.stdout.write('{}\n', () => process.exit());
}

if (isMain(import.meta.url)) await makeJournal(JSON.parse(process.argv[2] ?? ''));
