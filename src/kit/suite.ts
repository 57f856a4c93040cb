/**
 * The kit as a test file, with base address and key from the environment (settings.ts):
 *
 *     CONFORMANCE_URL=https://host/v1 CONFORMANCE_API_KEY=K node --test dist/kit/suite.js
 *
 * Exit code 2, where nothing was checked or the service went away, is seen where this file is run
 * without --test, as the command does: --test makes a 1 of it.
 */

import { testConformance, type ConformanceOptions } from './conformance.ts';
import { obstacleTo } from './run-check.ts';
import { readSettings } from './settings.ts';

const options = await readOptions();
testConformance({ ...options, onGone: () => endWith(2) });

async function readOptions(): Promise<ConformanceOptions> {
  try {
    const settings = readSettings(process.env);
    const obstacle = await obstacleTo(settings);
    if (obstacle === undefined) return settings;
    throw new Error(obstacle);
  } catch (error) {
    process.stderr.write(`conformance: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

/** At the end: the test runner has an exit code of its own. */
function endWith(code: number): void {
  process.stderr.write('conformance: the service does not answer any more\n');
  process.on('exit', () => (process.exitCode = code));
}
