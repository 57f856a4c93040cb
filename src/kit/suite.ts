/**
 * The kit as a test file, with base URL and API key from the environment (command.ts):
 *
 *     CONFORMANCE_URL=https://host/v1 CONFORMANCE_API_KEY=K node --test dist/kit/suite.js
 *
 * The exit code 2 (nothing was checked, or the service stopped responding) requires that this file
 * runs without --test, as in the command: --test turns it into 1.
 */

import { after } from 'node:test';
import { readSuiteSettings } from './command.ts';
import { declareTests } from './conformance.ts';
import { reportOf } from './report.ts';
import { openRun } from './run.ts';

try {
  const settings = readSuiteSettings(process.env);
  const run = await openRun(settings);
  declareTests(run, settings.checks);
  after(() => {
    if (settings.output !== '') process.stdout.write(`${run.title}\n${reportOf(run.outcomes)}`);
  });
  // At the very end, since the test runner sets its own code before.
  process.on('exit', () => {
    if (run.isGone) fail(new Error('the service no longer responds'));
  });
} catch (error) {
  fail(error as Error);
}

function fail({ message }: Error): void {
  process.stderr.write(`petstore: ${message}\n`);
  process.exitCode = 2;
}
