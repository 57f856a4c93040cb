/**
 * The kit as a test file, with base URL and API key from the environment (settings.ts):
 *
 *     CONFORMANCE_URL=https://host/v1 CONFORMANCE_API_KEY=K node --test dist/kit/suite.js
 *
 * The exit code 2 (nothing was checked, or the service stopped responding) requires that this file
 * runs without --test, as in the command: --test turns it into 1.
 */

import { testConformance } from './conformance.ts';
import { obstacleTo } from './run-check.ts';
import { readSettings, type Settings } from './settings.ts';

const options = await readOptions();
testConformance({ ...options, onGone: () => endWith(2) });

async function readOptions(): Promise<Settings> {
  try {
    const settings = readSettings(process.env);
    const obstacle = await obstacleTo(settings, settings.waitMs);
    if (obstacle === undefined) return settings;
    throw new Error(obstacle);
  } catch (error) {
    process.stderr.write(`conformance: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

/** Sets the code at the very end, since the test runner sets its own before. */
function endWith(code: number): void {
  process.stderr.write('conformance: the service no longer responds\n');
  process.on('exit', () => (process.exitCode = code));
}
