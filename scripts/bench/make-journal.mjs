/**
 * Makes a journal with a commit for each pet, as the store itself writes it: creates one after the
 * other, on a disk that does not sync. Then the process ends as one that was killed.
 */

import { openFileStore } from '../../dist/index.js';
import { petText } from './data.mjs';
import { diskWithSync, lookOnceDisk, noSync } from './disks.mjs';

const { path, pets } = JSON.parse(process.argv[2]);
const disk = diskWithSync(noSync, lookOnceDisk());
const store = await openFileStore({ path, disk });
for (let id = 1; id <= pets; id += 1) {
  const { name, categoryId, status } = JSON.parse(petText(id));
  await store.create({ name, categoryId: BigInt(categoryId), status });
}
process.stdout.write(`${JSON.stringify({ pets })}\n`, () => process.exit());
