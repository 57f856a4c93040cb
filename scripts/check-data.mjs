/**
 * Checks a data file, with its journal if it has one, and says how many pets it holds or the first
 * thing that is wrong and where. It changes nothing, and may run while the service does.
 *
 *     node scripts/check-data.mjs [data/pets.json]
 *
 * Exit code 0: all well. 1: damaged, or not there. 2: called wrongly.
 */

import { build, isBuilt } from './build.mjs';

const PROGRESS_STEP_BYTES = 16 << 20;

if (process.argv.length > 3 || process.argv[2]?.startsWith('-')) {
  console.error('Usage: node scripts/check-data.mjs [data/pets.json]');
  process.exit(2);
}
if (!isBuilt()) build('tsconfig.json', 'dist');
const { checkData } = await import('../dist/storage/check-data.js');
const { nodeDisk } = await import('../dist/storage/node-disk.js');
const path = process.argv[2] ?? 'data/pets.json';

try {
  const { pets, lastId, journalPets, tornBytes } = await checkData(withProgress(nodeDisk), path);
  clearProgress();
  const inJournal = journalPets === 0 ? '' : `, ${journalPets} of them in the journal only`;
  console.log(`${path}: ${pets} pets, the greatest id is ${lastId}${inJournal}`);
  if (tornBytes > 0) {
    console.log(`${tornBytes} bytes at the journal's end are a commit that is not complete`);
  }
} catch (error) {
  clearProgress();
  console.error(error.message);
  process.exit(1);
}

/** The disk, with what was read of a large file told on a terminal. */
function withProgress(disk) {
  if (!process.stderr.isTTY) return disk;
  return {
    ...disk,
    async open(path, how) {
      const file = await disk.open(path, how);
      const { sizeBytes } = await disk.stat(path);
      let told = 0;
      return {
        ...file,
        async read(bytes, offset, length, position) {
          if (position - told >= PROGRESS_STEP_BYTES) {
            told = position;
            process.stderr.write(`\r${Math.floor((100 * position) / sizeBytes)} % of ${path} `);
          }
          return file.read(bytes, offset, length, position);
        },
      };
    },
  };
}

function clearProgress() {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}
