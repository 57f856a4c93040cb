/**
 * The floor of a durable create: append a line and fdatasync, one after the other.
 *
 * It has no HTTP and no pets to keep: no service that syncs each create by itself can be faster. It
 * runs for so many seconds, and prints how many lines it wrote in one.
 */

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { petText } from './data.mjs';

const { path, seconds } = JSON.parse(process.argv[2]);
const file = openSync(path, 'a');
const startedAt = performance.now();
const endAt = startedAt + 1000 * seconds;
let count = 0;
while (performance.now() < endAt) {
  count += 1;
  writeSync(file, `${petText(count)}\n`);
  fdatasyncSync(file);
}
const rate = count / ((performance.now() - startedAt) / 1000);
closeSync(file);
process.stdout.write(`${JSON.stringify({ rate })}\n`);
