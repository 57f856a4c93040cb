/**
 * Starting with a million pets: time, peak and resident memory.
 *
 * A start from the snapshot is measured against JSON.parse of the same file. A start from a journal
 * with one commit per pet is measured against a start from the snapshot with the same pets. A start
 * rewrites the journal, so each start gets a new copy.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { copySynced, dataFile, freshData } from './data.mjs';
import { measurePairs } from './paired.mjs';
import { runScript, startServer } from './processes.mjs';
import { figure, pairsRow, summary } from './table.mjs';

const PETS = 1_000_000;
const TIME = { name: 'time', key: 'loadMs', digits: 0, unit: ' ms' };
const PEAK = { name: 'peak memory', key: 'peakMb', digits: 0, unit: ' MB' };

export async function measureStart(options) {
  // Here a burst is a whole process.
  const bench = { ...options, turns: 1, warmUps: 1 };
  const { folder } = bench;
  const snapshot = started(bench, 'snapshot', () => dataFile(folder, PETS));
  const thousand = started(bench, 'thousand', () => dataFile(folder, 1000));
  const burst = () => runScript(bench.node, 'parse-file.mjs', { path: dataFile(folder, PETS) });
  const parse = { name: 'parse', start: async () => ({ burst, stop: () => undefined }) };
  const parsePairs = await measurePairs(bench, 'start: snapshot', snapshot, parse);
  const sizePairs = await measurePairs(bench, 'start: memory', snapshot, thousand);

  const source = join(folder, `journal-${PETS}.json`);
  if (!existsSync(`${source}.journal`)) {
    bench.progress('start: making a journal');
    await runScript(process.execPath, 'make-journal.mjs', { path: source, pets: PETS });
  }
  const journal = started(bench, 'journal', () => {
    const path = freshData(folder, 'journal', 0);
    for (const suffix of ['', '.journal']) copySynced(`${source}${suffix}`, `${path}${suffix}`);
    return path;
  });
  const journalPairs = await measurePairs(bench, 'start: journal', journal, snapshot);

  const parsed = { against: 'JSON.parse(readFileSync)', pairs: parsePairs };
  const what = 'from the snapshot';
  const perPet = sizePairs.map(
    ([large, small]) => (large.resident - small.resident) / (PETS - 1000),
  );
  const resident = summary(sizePairs.map(([large]) => large.resident)).median;
  const rows = [
    pairsRow({ ...parsed, what, goal: '≤ 0.25', measure: TIME }),
    pairsRow({ ...parsed, what, goal: '≤ 0.50', measure: PEAK }),
    pairsRow({
      what: 'from the journal',
      against: 'the same pets in the snapshot',
      goal: '≤ 3.00',
      pairs: journalPairs,
      measure: TIME,
    }),
    {
      what: 'resident bytes a pet',
      goal: '≤ 85',
      figure: figure(perPet, 1, '≤ 85'),
      absolute: `${(resident / 1e6).toFixed(0)} MB in all`,
    },
  ];
  return [{ title: 'Start with 1M pets', rows }];
}

/** A contender whose burst is one start of the service. */
function started(bench, name, prepare) {
  const burst = async () => {
    const options = { kind: 'file', path: prepare() };
    const server = await startServer(bench.node, 'serve-petstore.mjs', options);
    const { resident, peak } = server.memory();
    await server.stop();
    return { loadMs: server.loadMs, resident, peakMb: peak / 1e6 };
  };
  return { name, start: async () => ({ burst, stop: () => undefined }) };
}
