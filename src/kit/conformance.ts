/**
 * The kit as a library: declares its checks as node:test tests in any project.
 *
 *     import { testConformance } from 'petstore/conformance';
 *
 *     const server = await startMyService();
 *     testConformance({ baseUrl: `${server.url}/v1`, key: 'my-key' });
 */

import { describe, test } from 'node:test';
import type { Check, Level } from './check.ts';
import { checksOf } from './checks.ts';
import { testResultOf } from './report.ts';
import { Run, type RunOptions } from './run.ts';

export type { Level } from './check.ts';
export type { HeaderFields, Target } from './test-client.ts';

export interface ConformanceOptions extends RunOptions {
  /** `interface` by default; each level includes those before it. */
  readonly level?: Level | undefined;
  /** Ids of checks, or their parts before the slash. All checks by default. */
  readonly only?: readonly string[] | undefined;
}

/** Declares the suite. Each check is a test, whose name is the id and the sentence. */
export function testConformance(options: ConformanceOptions): void {
  const { level = 'interface', only } = options;
  declareTests(new Run(options), checksOf(level, only));
}

export function declareTests(run: Run, checks: readonly Check[]): void {
  describe(run.title, () => {
    for (const check of checks) {
      test(`${check.id} ${check.sentence}`, async (t) => {
        const { error, skip } = testResultOf(await run.outcomeOf(check));
        if (error !== undefined) throw error;
        if (skip !== undefined) t.skip(skip);
      });
    }
  });
}
