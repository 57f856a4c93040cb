/**
 * The data files of the bench, in the service's own layout: 68 bytes a pet at one million.
 *
 * A file of each size is made once, and each contender gets its own copy. One pet in 500 is sold;
 * the others are available and pending by turns.
 */

import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { writeSync } from 'node:fs';
import { join } from 'node:path';

function statusOf(id) {
  if (id % 500 === 0) return 'sold';
  return id % 2 === 0 ? 'pending' : 'available';
}

export function petText(id) {
  return `{"id":${id},"name":"Pet ${id}","categoryId":${id % 100},"status":"${statusOf(id)}"}`;
}

/** Returns the path of a file with this many pets in the folder. Makes it if it is missing. */
export function dataFile(folder, pets) {
  const path = join(folder, `pets-${pets}.json`);
  if (existsSync(path)) return path;
  const file = openSync(`${path}.tmp`, 'w');
  let text = '[\n';
  for (let id = 1; id <= pets; id += 1) {
    text += petText(id) + (id < pets ? ',\n' : '\n]\n');
    if (text.length < 1 << 20 && id < pets) continue;
    writeSync(file, text);
    text = '';
  }
  closeSync(file);
  renameSync(`${path}.tmp`, path);
  return path;
}

/** Returns the path of a contender's own data file: a copy with this many pets, or no file. */
export function freshData(folder, name, pets) {
  const path = join(folder, `${name}.json`);
  for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
  if (pets > 0) copySynced(dataFile(folder, pets), path);
  return path;
}

/** The names of files that a store, or a database, keeps next to its data file. */
const SUFFIXES = ['', '.journal', '.keys', '.lock', '.db', '.db-wal', '.db-shm'];

/** Makes a copy and syncs it, so that no other sync has to wait for it. */
export function copySynced(from, to) {
  copyFileSync(from, to);
  const file = openSync(to, 'r+');
  fsyncSync(file);
  closeSync(file);
}
