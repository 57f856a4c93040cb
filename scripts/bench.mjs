/**
 * The bench: the service side by side with floors of bare Node, as ratios of one run.
 *
 * Machines are noisy, so nothing here is a test, and only ratios of neighbouring bursts count
 * (bench/paired.mjs). What was measured, and what it means, is in bench/README.md, whose tables are
 * what this prints.
 *
 *     node scripts/bench.mjs [options]
 *
 *     --part PARTS         some of the parts, such as way,reads
 *     --rounds N           5 by default: rounds of fresh processes, four pairs of bursts in each
 *     --seconds N          0.5 by default: how long a burst is
 *     --against DIST       another build of the service, such as the dist/ of an earlier commit
 *     --only TEXT          only rows of way, and floods, whose names contain it
 *     --contenders FOLDER  where fastify is installed: it joins the reads
 */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, DIST, fail, isBuilt, readArguments, root } from './build.mjs';
import { startScript } from './bench/processes.mjs';
import { printTable } from './bench/table.mjs';
import { progress } from './progress.mjs';
import { withTemporaryFolder } from './temporary-folder.mjs';

/** Each is a file of bench/. */
const PARTS = ['way', 'reads', 'creates', 'growth', 'start', 'floods', 'bounds', 'cluster'];

const { values } = readArguments({
  options: {
    part: { type: 'string', default: PARTS.join(',') },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '0.5' },
    against: { type: 'string' },
    only: { type: 'string', default: '' },
    contenders: { type: 'string' },
  },
});
const parts = values.part.split(',');
const unknown = parts.filter((part) => !PARTS.includes(part));
if (unknown.length > 0) fail(`--part must be of ${PARTS.join(', ')}, not ${unknown.join(', ')}`, 2);
const against = values.against && resolve(values.against);
if (against && !existsSync(join(against, 'index.js'))) {
  fail(`--against must be the dist/ of a build: there is no index.js in ${against}`, 2);
}
if (!isBuilt(DIST)) build(DIST);
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const date = new Date().toISOString().slice(0, 10);
console.log(`${date}, Node ${process.versions.node}: ${rounds} rounds, bursts of ${seconds} s`);
await withTemporaryFolder('bench', undefined, async (folder) => {
  const load = startScript('load.mjs');
  const bench = {
    ...{ rounds, seconds, turns: 4, warmUps: 4, folder, load },
    progress: (/** @type {string} */ text) => progress(text, 0),
    dist: join(root, 'dist'),
    only: values.only,
    against,
    contenders: values.contenders,
  };
  try {
    for (const part of parts) {
      const { measure } = await import(`./bench/${part}.mjs`);
      const rows = await measure(bench);
      progress('');
      if (rows.length > 0) printTable(rows);
    }
  } finally {
    await load.stop();
  }
});
