/**
 * The bench: the service side by side with floors of bare Node, as ratios of one run.
 *
 * Machines are noisy, so nothing here is a test, and only ratios of neighbouring bursts count
 * (bench/paired.mjs). What was measured, against which goals and why these, is in bench/README.md;
 * its tables are what --markdown prints. The options are in USAGE, below.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, fail, isBuilt } from './build.mjs';
import { measureCluster } from './bench/cluster.mjs';
import { measureCost, measureCreates, measureSqlite } from './bench/creates.mjs';
import { measureFloods } from './bench/floods.mjs';
import { measureGrowth } from './bench/growth.mjs';
import { measureKeys } from './bench/keys.mjs';
import { measureLarge } from './bench/large.mjs';
import { measureNoise } from './bench/noise.mjs';
import { measurePressure } from './bench/pressure.mjs';
import { startLoad } from './bench/processes.mjs';
import { measureMetrics, measureReads } from './bench/reads.mjs';
import { measureRules } from './bench/rules.mjs';
import { measureSlowDisk } from './bench/slow-disk.mjs';
import { measureStart } from './bench/start.mjs';
import { printTables } from './bench/table.mjs';
import { measureWay } from './bench/way.mjs';

const PARTS = {
  way: measureWay,
  noise: measureNoise,
  reads: measureReads,
  creates: measureCreates,
  cost: measureCost,
  sqlite: measureSqlite,
  keys: measureKeys,
  growth: measureGrowth,
  start: measureStart,
  'slow-disk': measureSlowDisk,
  pressure: measurePressure,
  floods: measureFloods,
  metrics: measureMetrics,
  rules: measureRules,
  large: measureLarge,
  cluster: measureCluster,
};

const USAGE = `Measures the service against floors of bare Node, and prints ratios.

Usage: node scripts/bench.mjs [options]

  --part PARTS         some of ${Object.keys(PARTS).join(',')}
  --rounds N           5 by default: rounds of fresh processes
  --turns N            4 by default: pairs of bursts in a round
  --seconds N          0.5 by default: how long a burst is; with --wrk, whole seconds
  --against DIST       another build of the service, for the part way
  --node PATH          the Node that all servers run on; more than once for a column each
  --contenders FOLDER  where fastify, express or json-server is installed: they join in
  --wrk                let wrk make the load
  --keep FOLDER        where the data files are made, and kept for the next run
  --markdown           print the tables as Markdown
`;

const { values } = parseArgs({
  options: {
    part: { type: 'string', default: Object.keys(PARTS).join(',') },
    rounds: { type: 'string', default: '5' },
    turns: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '0.5' },
    node: { type: 'string', multiple: true, default: [process.execPath] },
    against: { type: 'string' },
    contenders: { type: 'string' },
    keep: { type: 'string' },
    wrk: { type: 'boolean', default: false },
    markdown: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit();
}
const parts = values.part.split(',');
for (const name of parts) if (!Object.hasOwn(PARTS, name)) fail(`There is no part ${name}`);

if (!isBuilt()) build('tsconfig.json', 'dist');
const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'petstore-bench-'));
mkdirSync(folder, { recursive: true });
const load = startLoad();
const nodes = values.node.map((path) => ({
  path,
  version: execFileSync(path, ['--version']).toString().trim().slice(1),
}));
const names = nodes.map(({ version }) => `Node ${version}`);
const { rounds, turns, against, contenders, wrk } = values;
const seconds = wrk ? Math.ceil(Number(values.seconds)) : Number(values.seconds);
const by = wrk ? ', load by wrk' : '';
const date = new Date().toISOString().slice(0, 10);
const bursts = `${rounds} rounds of ${turns} turns, bursts of ${seconds} s${by}`;
console.log(`${names.join(' and ')}, ${date}: ${bursts}.`);
console.log('A figure is the median (least–greatest) of the ratios; ✗ misses its goal.');
try {
  for (const part of parts) {
    const tables = [];
    for (const { path, version } of nodes) {
      const bench = {
        node: path,
        major: Number.parseInt(version, 10),
        rounds: Number(rounds),
        turns: Number(turns),
        warmUps: 4,
        ...{ seconds, folder, load, against, contenders, wrk, progress },
      };
      tables.push(await PARTS[part](bench));
    }
    progress('');
    printTables(names, tables, values.markdown);
  }
} finally {
  await load.stop();
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text !== '') process.stderr.write(`${text}\n`);
}
