/** What loading a data file costs with JSON.parse: time and peak memory. */

import { readFileSync } from 'node:fs';

const { path } = JSON.parse(process.argv[2]);
const startedAt = performance.now();
const pets = JSON.parse(readFileSync(path, 'utf8'));
const loadMs = performance.now() - startedAt;
const peak = 1024 * process.resourceUsage().maxRSS;
process.stdout.write(`${JSON.stringify({ loadMs, peak, pets: pets.length })}\n`);
