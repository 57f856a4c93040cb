/** Runs checks against a service, one after the other, and tells of each what came of it. */

import { CasesError, type Check, type Failure } from './check.ts';
import { createClient, reasonOf, type Target } from './client.ts';

export interface Result {
  readonly check: Check;
  /** 1 where the check is of one case. */
  readonly caseCount: number;
  /** None where the sentence holds. */
  readonly failures: readonly Failure[];
}

export async function runCheck(check: Check, target: Target): Promise<Result> {
  const client = createClient(target);
  try {
    await check.run(client);
    return { check, caseCount: 1, failures: [] };
  } catch (error) {
    if (error instanceof CasesError) {
      return { check, caseCount: error.caseCount, failures: error.failures };
    }
    return { check, caseCount: 1, failures: [{ name: '', error, exchanges: client.exchanges }] };
  }
}

/** The results, each as soon as it is there. */
export async function* runChecks(
  checks: readonly Check[],
  target: Target,
): AsyncGenerator<Result, void, undefined> {
  for (const check of checks) yield await runCheck(check, target);
}

/** Why no check can be run against the service; undefined when they can. */
export async function obstacleTo(target: Target): Promise<string | undefined> {
  const client = createClient(target);
  try {
    const { status } = await client.get('/pets?limit=1');
    if (status !== 401) return undefined;
    return `${target.baseUrl} does not accept the key: GET /pets is answered with 401`;
  } catch (error) {
    return `${target.baseUrl} cannot be reached: ${reasonOf((error as Error).cause)}`;
  }
}
