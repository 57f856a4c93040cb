/**
 * The kit as a library: declares its checks as node:test tests in any project.
 *
 *     import { testConformance } from 'petstore/conformance';
 *
 *     const server = await startMyService();
 *     testConformance({ baseUrl: `${server.url}/v1`, key: 'my-key' });
 *
 * A test fails only if the run must fail, so that every reporter of Node agrees with the exit code.
 * A difference from a decision, an expected failure, and a check that was not observed are skipped
 * tests, each with its reason.
 */

import { describe, test } from 'node:test';
import type { Check, Level } from './check.ts';
import { checksOf } from './checks.ts';
import { reasonOf, textOf } from './report.ts';
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
        const outcome = await run.outcomeOf(check);
        if (outcome.kind === 'fail') {
          // No stack, since a position in the kit does not help.
          const report = textOf(outcome);
          throw Object.assign(new Error(report), { stack: report });
        }
        if (outcome.kind !== 'hold') t.skip(`${outcome.kind}: ${reasonOf(outcome)}`);
      });
    }
  });
}
