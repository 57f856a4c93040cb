/** Runs the checks against the wrong services, and makes the table of the results. */

import type { Check } from '../../src/kit/check.ts';
import { checksOf } from '../../src/kit/checks.ts';
import { runCheck, type CheckResult } from '../../src/kit/run-check.ts';
import { listen } from '../support/http/service.ts';
import { FAULTS, type Fault } from './faults.ts';
import { createPlainServer, type Rules } from './plain-service.ts';

export interface Finding extends Fault {
  /** True if the check that must find the fault fails. */
  readonly isFound: boolean;
}

/** Runs the checks against a plain service with these rules. Resolves with the results by id. */
export async function resultsOf(
  rules: Partial<Rules>,
  checks: readonly Check[],
): Promise<ReadonlyMap<string, CheckResult>> {
  const server = createPlainServer(KEY, rules);
  const target = { baseUrl: `http://127.0.0.1:${await listen(server)}/v1`, key: KEY };
  const results = new Map<string, CheckResult>();
  for (const check of checks) results.set(check.id, await runCheck(check, target));
  server.close().closeAllConnections();
  return results;
}

/** Runs each wrong service with the check that must find its fault. */
export async function findings(): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const fault of FAULTS) {
    const checks = checksOf('interface', [fault.foundBy]);
    const results = await resultsOf(fault.rules, checks);
    found.push({ ...fault, isFound: results.get(fault.foundBy)?.kind === 'fails' });
  }
  return found;
}

export const KEY = 'key-of-the-plain-service';

/** Returns the table in Markdown, with a row for each fault. */
export function faultTable(found: readonly Finding[]): string {
  const rows = found.map(({ what, foundBy, isFound }) => {
    return `| ${what} | ${isFound ? `\`${foundBy}\`` : 'not found'} |`;
  });
  return ['| Planted fault | Found by |', '|---|---|', ...rows, ''].join('\n');
}
