/** A data file that JSON.parse cannot read: a string is shorter than 512 MiB. */

import { rmSync } from 'node:fs';
import { dataFile } from './data.mjs';
import { startServer } from './processes.mjs';
import { summary } from './table.mjs';

const PETS = 8_500_000;

export async function measureLarge(bench) {
  bench.progress(`large: making ${PETS} pets`);
  const path = dataFile(bench.folder, PETS);
  const times = [];
  const peaks = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`large: round ${round + 1}`);
    const startedAt = performance.now();
    const server = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path });
    times.push((performance.now() - startedAt) / 1000);
    peaks.push(server.memory().peak / 1e6);
    await server.stop();
  }
  rmSync(path);
  const shown = (values, digits) => {
    const { median, min, max } = summary(values);
    return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
  };
  bench.progress('');
  console.log(
    `\nA file of ${PETS} pets: served after ${shown(times, 1)} s, peak ${shown(peaks, 0)} MB`,
  );
  return [];
}
