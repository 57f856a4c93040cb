/**
 * The data files of the bench, in the service's own layout: 68 bytes a pet at one million.
 *
 * One pet in 500 is sold; the others are available and pending by turns.
 */

import fs from 'node:fs';
import { join } from 'node:path';

/** @param {number} id */
export function petOf(id) {
  const status = id % 500 === 0 ? 'sold' : id % 2 === 0 ? 'pending' : 'available';
  return { id, name: `Pet ${id}`, categoryId: id % 100, status };
}

/**
 * Returns the path of a data file in a folder of its own: with this many pets, or no file.
 * @param {string} folder
 * @param {number} pets
 */
export function freshData(folder, pets) {
  const path = join(fs.mkdtempSync(join(folder, 'own-')), 'pets.json');
  if (pets === 0) return path;
  const source = join(folder, `pets-${pets}.json`);
  if (!fs.existsSync(source)) {
    const texts = Array.from({ length: pets }, (_, i) => JSON.stringify(petOf(i + 1)));
    fs.writeFileSync(source, `[\n${texts.join(',\n')}\n]\n`);
  }
  copySynced(source, path);
  return path;
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
