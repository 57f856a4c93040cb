/** Starting with a million pets: time, peak and resident memory. */

import { dataFile } from './data.mjs';
import { runScript, startServer } from './processes.mjs';
import { summary, ratio } from './table.mjs';

const PETS = 1_000_000;

export async function measureStart(bench) {
  const large = dataFile(bench.folder, PETS);
  const small = dataFile(bench.folder, 1000);
  const figures = { load: [], parse: [], peak: [], parsePeak: [], perPet: [], one: [] };
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`start: round ${round + 1}`);
    const ours = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path: large });
    const base = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path: small });
    const parse = await runScript(bench.node, 'parse-file.mjs', { path: large });
    const { resident, peak } = ours.memory();
    figures.load.push(ours.loadMs);
    figures.parse.push(parse.loadMs);
    figures.peak.push(peak);
    figures.parsePeak.push(parse.peak);
    figures.perPet.push((resident - base.memory().resident) / PETS);
    figures.one.push(1);
    await ours.stop();
    await base.stop();
  }
  const megabytes = (values) => `${Math.round(summary(values).median / 1e6)} MB`;
  const rows = [
    {
      what: 'time to load',
      against: 'JSON.parse(readFileSync)',
      goal: '≤ 0.25',
      ratio: ratio(figures.load, figures.parse),
      ours: `${Math.round(summary(figures.load).median)} ms`,
    },
    {
      what: 'peak memory',
      against: 'JSON.parse(readFileSync)',
      goal: '≤ 0.50',
      ratio: ratio(figures.peak, figures.parsePeak),
      ours: megabytes(figures.peak),
    },
    {
      what: 'resident bytes a pet',
      against: 'one byte',
      goal: '≤ 85',
      ratio: ratio(figures.perPet, figures.one),
    },
  ];
  return [{ title: 'Start with 1M pets', rows }];
}
