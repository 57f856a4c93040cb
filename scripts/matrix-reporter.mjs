/** A reporter for Node's test runner: at the end one line of JSON with the counts and failures. */

import { causeOf, readResult } from './test-result.mjs';

export default async function* report(events) {
  const totals = { version: process.versions.node, passed: 0, failed: 0, skipped: 0, failures: [] };
  for await (const event of events) {
    const result = readResult(event);
    if (result === undefined) continue;
    totals[result.outcome] += 1;
    if (result.outcome !== 'failed') continue;
    totals.failures.push({ name: result.name, file: result.file, cause: causeOf(result) });
  }
  yield `${JSON.stringify(totals)}\n`;
}
