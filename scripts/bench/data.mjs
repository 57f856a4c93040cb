/**
 * The data files of the bench, as the service writes them (src/core/store/format.ts): 68 bytes a
 * pet at one million, and 33 more for each commit.
 *
 * One pet in 500 is sold; the others are available and pending by turns.
 */

import fs from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/** @param {number} id */
export function petOf(id) {
  const status = id % 500 === 0 ? 'sold' : id % 2 === 0 ? 'pending' : 'available';
  return { id, name: `Pet ${id}`, categoryId: id % 100, status };
}

/**
 * Returns the path of a data file in a folder of its own: with this many pets, of which so many are
 * in a commit, or no file.
 * @param {string} folder
 * @param {number} pets
 */
export function freshData(folder, pets, petsPerCommit = 1024) {
  const path = join(fs.mkdtempSync(join(folder, 'own-')), 'pets.json');
  if (pets === 0) return path;
  const source = join(folder, `pets-${pets}-${petsPerCommit}.json`);
  if (!fs.existsSync(source)) writeData(source, pets, petsPerCommit);
  copySynced(source, path);
  return path;
}

/**
 * @param {string} path
 * @param {number} pets
 * @param {number} petsPerCommit
 */
function writeData(path, pets, petsPerCommit) {
  const parts = [`[${blanksOf(crc32('clean'))}\n`];
  let crc = 0;
  for (let id = 1; id <= pets; id += petsPerCommit) {
    const ids = Array.from({ length: Math.min(petsPerCommit, pets - id + 1) }, (_, i) => id + i);
    const lines = ids.map((one) => JSON.stringify(petOf(one))).join('\n,');
    const text = id === 1 ? lines : `,${lines}`;
    crc = crc32(text, crc);
    const mark = `${blanksOf(crc)}\n`;
    crc = crc32(mark, crc);
    parts.push(text, mark);
  }
  fs.writeFileSync(path, `${parts.join('')}]\n`);
}

/**
 * 32 bits as blanks, the highest first: a tab for 1.
 * @param {number} bits
 */
function blanksOf(bits) {
  return bits.toString(2).padStart(32, '0').replaceAll('0', ' ').replaceAll('1', '\t');
}

/**
 * Makes a copy and syncs it, so that no other sync has to wait for it.
 * @param {string} from
 * @param {string} to
 */
export function copySynced(from, to) {
  fs.copyFileSync(from, to);
  const file = fs.openSync(to, 'r+');
  fs.fsyncSync(file);
  fs.closeSync(file);
}
