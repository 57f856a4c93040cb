/**
 * Starting with a million pets: time, and the peak and resident memory.
 *
 * A start is measured against JSON.parse of the same file, which is how most small services start;
 * their pets are then objects, not the bytes that are sent. Each pet may be a commit of its own, or
 * 1,024 of them may be one, as in a file that was written from memory. Another build starts from a
 * file that it has written itself.
 */

import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copySynced, freshData, petOf } from './data.mjs';
import { compare } from './paired.mjs';
import { memoryOf, startServer } from './processes.mjs';
import { importService } from './servers.mjs';
import { figure } from './table.mjs';

/**
 * @import { Bench, Contender, Figures, Opponents } from './paired.mjs'
 * @import { ServerOptions } from './processes.mjs'
 * @import { Kind } from './servers.mjs'
 */

const PETS = 1_000_000;
const FIGURES = ['openMs', 'peakMb'];

/** @param {Bench} options */
export async function measure(options) {
  // A burst is a whole process here.
  const bench = { ...options, turns: 1, warmUps: 1 };
  const { folder, dist, against } = bench;
  /** @type {(burst: () => Promise<Figures>) => Contender} */
  const contenderOf = (burst) => async () => ({ burst });
  const rows = [];
  /** @type {[string, number][]} */
  const files = [
    ['1M pets, in commits of 1,024', 1024],
    ['1M pets, a commit each', 1],
  ];
  for (const [what, petsPerCommit] of files) {
    const file = { pets: PETS, petsPerCommit };
    const ours = () => start(bench, 'service', { dist, ...file });
    const parse = () => start(bench, 'parse', file);
    /** @type {Opponents} */
    const opponents = { 'JSON.parse': [contenderOf(parse), '≤ 0.50', '≤ 0.60'] };
    if (against !== undefined && petsPerCommit > 1) {
      const source = join(folder, 'other.json');
      const lines = Array.from({ length: PETS }, (_, i) => JSON.stringify(petOf(i + 1)));
      writeFileSync(source, `[\n${lines.join(',\n')}\n]\n`);
      // It takes over an array of pets, and writes its own file.
      const { openApp } = await importService(against);
      await (await openApp({ dataFile: source, apiKeys: ['bench'] })).close();
      const other = async () => {
        const path = freshData(folder, 0);
        copySynced(source, path);
        const figures = await start(bench, 'service', { dist: against, path });
        rmSync(dirname(path), { recursive: true });
        return figures;
      };
      opponents['other build'] = [contenderOf(other)];
    }
    rows.push(await compare(bench, what, contenderOf(ours), opponents, FIGURES));
  }
  /** @type {number[]} */
  const bytes = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    const [small, large] = [
      await start(bench, 'service', { dist, pets: 1000 }),
      await start(bench, 'service', { dist, pets: PETS }),
    ];
    bytes.push((1e6 * (large.residentMb - small.residentMb)) / (PETS - 1000));
  }
  return [...rows, { What: 'resident bytes a pet', ours: figure(bytes, '≤ 110', 1) }];
}

/**
 * @param {Bench} bench
 * @param {Kind} kind
 * @param {ServerOptions} options
 */
async function start(bench, kind, options) {
  const { pid, openMs, stop } = await startServer(bench, kind, options);
  const figures = { openMs, ...memoryOf(pid) };
  await stop();
  return figures;
}
