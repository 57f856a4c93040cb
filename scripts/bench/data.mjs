/**
 * The data files of the bench, in the service's own layout: 68 bytes a pet at one million.
 *
 * A file with so many pets is made once; each contender gets a copy of its own. One pet in 500 is
 * sold, so that a thousand have two of them; the others alternate.
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

/** The path of a file with so many pets in the folder, made where it is missing. */
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

/** The path of a contender's own files: a copy with so many pets, or none of them. */
export function freshData(folder, name, pets) {
  const path = join(folder, `${name}.json`);
  for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
  if (pets > 0) copySynced(dataFile(folder, pets), path);
  return path;
}

/** What a store has beside its data file, and a database beside its own. */
const SUFFIXES = ['', '.journal', '.lock', '.db', '.db-wal', '.db-shm'];

/** A copy that is on the disk, so that nobody else's sync has to wait for it. */
export function copySynced(from, to) {
  copyFileSync(from, to);
  const file = openSync(to, 'r+');
  fsyncSync(file);
  closeSync(file);
}
