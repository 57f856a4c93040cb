/**
 * What loading a data file costs with JSON.parse: time and peak memory.
 *
 * That is how most small services start; the pets are then objects, not the bytes that are sent.
 */

import { readFileSync } from 'node:fs';

const { path } = JSON.parse(process.argv[2]);
const startedAt = performance.now();
const pets = JSON.parse(readFileSync(path, 'utf8'));
const loadMs = performance.now() - startedAt;
const peakMb = (1024 * process.resourceUsage().maxRSS) / 1e6;
process.stdout.write(`${JSON.stringify({ loadMs, peakMb, pets: pets.length })}\n`);
