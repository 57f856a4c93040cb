/** Pets for the bench, in the service's own layout: 68 bytes each at one million. */

import { closeSync, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** One pet in a thousand is sold; the others alternate. */
export function statusOf(id) {
  if (id % 1000 === 0) return 'sold';
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
