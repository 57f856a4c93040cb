/**
 * A data file that JSON.parse cannot read, since a string is shorter than 512 MiB.
 *
 * The service never holds its file as one string, so it has no such bound. There is nothing to set
 * it against: the figures are seconds and megabytes, not ratios.
 */

import { rmSync } from 'node:fs';
import { dataFile } from './data.mjs';
import { startServer } from './processes.mjs';
import { figure } from './table.mjs';

const PETS = 8_500_000;

export async function measureLarge(bench) {
  bench.progress(`large: making ${PETS} pets`);
  const path = dataFile(bench.folder, PETS);
  const seconds = [];
  const peaks = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.progress(`large: round ${round + 1}`);
    const server = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path });
    seconds.push(server.loadMs / 1000);
    peaks.push(server.memory().peak / 1e6);
    await server.stop();
  }
  rmSync(path);
  const rows = [
    { what: 'loaded after, in seconds', figure: figure(seconds, 1) },
    { what: 'peak memory in MB', figure: figure(peaks, 0) },
  ];
  return [{ title: `A file of ${PETS} pets, 617 MB`, rows }];
}
