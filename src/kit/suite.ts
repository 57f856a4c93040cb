/**
 * The kit as a test file, with base URL and API key from the environment (settings.ts):
 *
 *     CONFORMANCE_URL=https://host/v1 CONFORMANCE_API_KEY=K node --test dist/kit/suite.js
 *
 * Exit code 2, if nothing was checked or the service went away, is seen only if this file is run
 * without --test, as the command does: --test turns it into 1.
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

/** At the end: the test runner has an exit code of its own. */
function endWith(code: number): void {
  process.stderr.write('conformance: the service does not respond any more\n');
  process.on('exit', () => (process.exitCode = code));
}
