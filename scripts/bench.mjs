/**
 * The bench: the service side by side with floors of bare Node, as ratios of one run.
 *
 * Every round starts fresh processes, and within a round the contenders take turns, so that
 * whatever else the machine does falls on all alike. A figure is the median of the rounds, with the
 * least and the greatest behind it. Its options are in USAGE, below.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, isBuilt } from './build.mjs';
import { measureCreates } from './bench/creates.mjs';
import { measureGrowth } from './bench/growth.mjs';
import { measureKeys } from './bench/keys.mjs';
import { measureLarge } from './bench/large.mjs';
import { measurePressure } from './bench/pressure.mjs';
import { measureMetrics, measureReads } from './bench/reads.mjs';
import { measureSlowDisk } from './bench/slow-disk.mjs';
import { measureStart } from './bench/start.mjs';
import { printTable } from './bench/table.mjs';

const PARTS = {
  reads: measureReads,
  creates: measureCreates,
  keys: measureKeys,
  growth: measureGrowth,
  start: measureStart,
  'slow-disk': measureSlowDisk,
  pressure: measurePressure,
  metrics: measureMetrics,
  large: measureLarge,
};

const USAGE = `Measures the service against floors of bare Node, and prints ratios.

Usage: node scripts/bench.mjs [options]

  --part PARTS         some of ${Object.keys(PARTS).join(',')}
  --rounds N           5 by default: rounds of fresh processes; a figure is their median
  --seconds N          2 by default: how long each contender is loaded in a round
  --node PATH          the Node that all servers run on
  --contenders FOLDER  where fastify, express or json-server is installed: they join the reads
  --wrk                let wrk make the load of the reads
  --keep FOLDER        where the data files are made, and kept for the next run
`;

const { values } = parseArgs({
  options: {
    part: { type: 'string', default: Object.keys(PARTS).join(',') },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    node: { type: 'string', default: process.execPath },
    contenders: { type: 'string' },
    keep: { type: 'string' },
    wrk: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit();
}

if (!isBuilt()) build('tsconfig.json', 'dist');
const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'petstore-bench-'));
mkdirSync(folder, { recursive: true });
const bench = {
  folder,
  node: values.node,
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  contenders: values.contenders,
  wrk: values.wrk,
  progress(text) {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
    else if (text !== '') process.stderr.write(`${text}\n`);
  },
};
const version = execFileSync(values.node, ['--version']).toString().trim();
console.log(`Node ${version}, ${new Date().toISOString().slice(0, 10)}, ${values.rounds} rounds`);
try {
  for (const name of values.part.split(',')) {
    if (PARTS[name] === undefined) throw new Error(`There is no part ${name}`);
    const tables = await PARTS[name](bench);
    bench.progress('');
    for (const table of tables) printTable(table);
  }
} finally {
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
}
